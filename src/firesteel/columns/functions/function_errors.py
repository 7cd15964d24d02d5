"""Errors about function calls, with the wording of Flink's validator."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.errors import FiresteelError

BINARY_OPERATORS = frozenset(["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE"])


class FunctionError(FiresteelError, ValueError):
    """A call with a number or types of arguments that the function does not accept."""


class UnsupportedFunctionError(FunctionError):
    """A Flink function or option that firesteel does not implement."""


def operand_name(data_type: t.DataType) -> str:
    """Return Calcite's name of an operand type in error messages."""
    text = type_text(data_type.nullable()).split(" *")[0]
    names = {"INT": "INTEGER", "STRING": "VARCHAR(2147483647)", "BYTES": "VARBINARY(2147483647)"}
    if isinstance(data_type, t.LocalZonedTimestampType):
        return f"TIMESTAMP_WITH_LOCAL_TIME_ZONE({data_type.precision})"
    return names.get(text, text)


def call_text(name: str, types: Sequence[t.DataType]) -> str:
    """Return a call with its operand types, e.g. `UPPER(<INTEGER>)` or `<INTEGER> + <DATE>`."""
    operands = [f"<{operand_name(data_type)}>" for data_type in types]
    if name in BINARY_OPERATORS and len(operands) == 2:
        return f"{operands[0]} {name} {operands[1]}"
    return f"{name}({', '.join(operands)})"


def cannot_apply(name: str, types: Sequence[t.DataType], *forms: str) -> FunctionError:
    """Return the error for a call with operands of the wrong types.

    Args:
        name: The function.
        types: The types of the operands.
        forms: The supported signatures.
    """
    text = f"Cannot apply '{name}' to arguments of type '{call_text(name, types)}'."
    if forms:
        text += f" Supported form(s): {', '.join(repr(form) for form in forms)}"
    return FunctionError(text)


def wrong_count(name: str, found: int, expected: str) -> FunctionError:
    """Return the error for a call with the wrong number of operands."""
    return FunctionError(
        f"Invalid number of arguments to function '{name}'. Was expecting {expected} arguments, found {found}"
    )
