"""Result types of functions in the Table API, where they differ from those in SQL.

Flink defines these functions twice: in SQL they are operators of Calcite (`FlinkSqlOperatorTable`), in the Table API
built-in functions with type strategies of their own (`BuiltInFunctionDefinitions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import Types
from firesteel.columns.type_families import STRINGS
from firesteel.columns.type_rules import any_nullable, common_type

_Rule = Callable[[Types, t.DataType], t.DataType]


def table_api_type(name: str, types: Sequence[t.DataType], in_sql: t.DataType) -> t.DataType:
    """Return the result type of a call in the Table API.

    Args:
        name: The function.
        types: Types of the operands.
        in_sql: Result type of the same call in SQL.
    """
    rule = _RULES.get(name)
    return in_sql if rule is None else rule(types, in_sql)


def _nullable_as_operands(types: Types, in_sql: t.DataType) -> t.DataType:
    return in_sql.with_nullable(any_nullable(types))


def _nullable(types: Types, in_sql: t.DataType) -> t.DataType:
    return in_sql.nullable()


def _nullable_as_elements(types: Types, in_sql: t.DataType) -> t.DataType:
    """The second operand has the type of the array's elements, with its nullability."""
    array: Any = types[0]
    return in_sql.with_nullable(any_nullable([*types, array.element_type]))


def _concatenated(types: Types, in_sql: t.DataType) -> t.DataType:
    """Flink adds up the lengths of the first two operands only."""
    length = sum(kind.length if isinstance(kind, STRINGS) else t.MAX_LENGTH for kind in types[:2])
    return t.VarCharType(min(length, t.MAX_LENGTH), in_sql.is_nullable)


def _appended(types: Types, in_sql: t.DataType) -> t.DataType:
    """The type of `+` with a text: Flink does not add up the lengths."""
    kind = common_type(types) if all(isinstance(x, STRINGS) for x in types) else None
    return (kind or in_sql).with_nullable(in_sql.is_nullable)


def _row_of_operands(types: Types, in_sql: t.DataType) -> t.DataType:
    return t.RowType([t.RowField(f"f{index}", kind) for index, kind in enumerate(types)], in_sql.is_nullable)


_RULES: dict[str, _Rule] = {
    "SUBSTRING": _nullable_as_operands,
    "LEFT": _nullable_as_operands,
    "RIGHT": _nullable_as_operands,
    "REVERSE": _nullable_as_operands,
    "PARSE_URL": _nullable_as_operands,
    "SPLIT_INDEX": _nullable_as_operands,
    "STR_TO_MAP": _nullable_as_operands,
    "DATE_FORMAT": _nullable_as_operands,
    "FROM_UNIXTIME": _nullable_as_operands,
    "TO_DATE": _nullable_as_operands,
    "TO_TIMESTAMP": _nullable_as_operands,
    "ASCII": lambda types, in_sql: t.TinyIntType(any_nullable(types)),
    "CHR": lambda types, in_sql: t.CharType(1, any_nullable(types)),
    "CONCAT": _concatenated,
    "||": _appended,
    "ELEMENT": _nullable,
    "UNIX_TIMESTAMP": _nullable,
    "ARRAY_APPEND": _nullable_as_elements,
    "ARRAY_PREPEND": _nullable_as_elements,
    "ARRAY_POSITION": _nullable_as_elements,
    "ROW": _row_of_operands,
}
