"""Signatures: the operands that a function accepts, and its result type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns import type_families as families_of
from firesteel.columns import type_rules as rules
from firesteel.columns.functions.function import Operands, Resolved, Types
from firesteel.columns.functions.function_errors import cannot_apply, wrong_count
from firesteel.columns.rex import Literal

STRING = families_of.STRING
INT = t.IntType()
BIGINT = t.BigIntType()
DOUBLE = t.DoubleType()
BOOLEAN = t.BooleanType()
BYTES = t.VarBinaryType(t.MAX_LENGTH)

# Operand families: the accepted types, and the type that an untyped NULL operand is given.
FAMILIES: dict[str, tuple[tuple[type[t.DataType], ...], t.DataType]] = {
    "CHARACTER": (families_of.STRINGS, STRING),
    "BINARY": (families_of.BYTES, BYTES),
    "CHARACTER_OR_BINARY": ((*families_of.STRINGS, *families_of.BYTES), STRING),
    "NUMERIC": ((t.NumericType,), INT),
    "INTEGER": ((t.IntegralType,), INT),
    "INT": ((t.TinyIntType, t.SmallIntType, t.IntType), INT),
    "EXACT_NUMERIC": ((t.IntegralType, t.DecimalType), INT),
    "BOOLEAN": ((t.BooleanType,), BOOLEAN),
    "DATE": ((t.DateType,), t.DateType()),
    "TIMESTAMP": (families_of.TIMESTAMPS, t.TimestampType(3)),
    "LOCAL_TIMESTAMP": ((t.TimestampType,), t.TimestampType(3)),
    "TIME": ((t.TimeType,), t.TimeType()),
    "DATETIME": ((*families_of.DATETIMES, t.TimeType), t.TimestampType(3)),
    "DATETIME_INTERVAL": ((*families_of.DATETIMES, t.TimeType, *families_of.INTERVALS), t.TimestampType(3)),
    "INTERVAL": (families_of.INTERVALS, families_of.DAY_TIME),
    "ARRAY": ((t.ArrayType,), t.ArrayType(STRING)),
    "MAP": ((t.MapType,), t.MapType(STRING, STRING)),
    "ROW": ((t.RowType,), t.RowType()),
    "COLLECTION": ((t.ArrayType, t.MapType, t.MultisetType), t.ArrayType(STRING)),
    "ANY": ((t.DataType,), t.NullType()),
}

Result = t.DataType | Callable[[Types, Operands], t.DataType | None]
Resolve = Callable[[Types, Operands], Resolved]


def signature(
    name: str,
    result: Result,
    *families: str,
    optional: int = 0,
    variadic: bool = False,
    nullable: bool | Callable[[Types], bool] | None = None,
    common: bool = False,
) -> Resolve:
    """Return the resolver of a function whose operands belong to type families.

    Args:
        name: The function.
        result: The result type, or a function of operand types and operands. Its own nullability is ignored.
        families: The family of each operand; alternatives are separated by `|`.
        optional: The number of optional operands at the end.
        variadic: Whether the last operand may be repeated.
        nullable: Whether the result is nullable, or a function of operand types that returns this; None means that
            it is nullable if an operand is.
        common: Whether all operands are cast to their common type.
    """

    def resolve(types: Types, operands: Operands) -> Resolved:
        least, most = len(families) - optional, len(families)
        if len(types) < least or (len(types) > most and not variadic):
            expected = str(least) if least == most else f"{least} to {most}"
            raise wrong_count(name, len(types), f"{least} or more" if variadic else expected)
        casts = []
        for index, data_type in enumerate(types):
            cast = _accepted(data_type, families[min(index, most - 1)])
            if cast is None:
                raise cannot_apply(name, types, form(name, families))
            casts.append(cast)
        if common:
            casts = _common(name, types, families)
        found = result(casts, operands) if callable(result) else result
        if found is None:
            raise cannot_apply(name, types, form(name, families))
        if callable(nullable):
            return casts, found.with_nullable(nullable(types))
        return casts, found.with_nullable(rules.any_nullable(types) if nullable is None else nullable)

    return resolve


def form(name: str, families: tuple[str, ...]) -> str:
    """Return a signature as error messages show it."""
    return f"{name}({', '.join(f'<{family}>' for family in families)})"


def _accepted(data_type: t.DataType, families: str) -> t.DataType | None:
    names = families.split("|")
    if isinstance(data_type, t.NullType):
        return FAMILIES[names[0]][1]
    return data_type if any(isinstance(data_type, FAMILIES[name][0]) for name in names) else None


def _common(name: str, types: Types, families: tuple[str, ...]) -> list[t.DataType]:
    common = rules.common_argument_type(types)
    if common is None:
        raise cannot_apply(name, types, form(name, families))
    return [common.with_nullable(data_type.is_nullable) for data_type in types]


def argument(index: int) -> Callable[[Types, Operands], t.DataType]:
    """Return the rule that the result has the type of an operand."""
    return lambda types, operands: types[index]


def varying(index: int) -> Callable[[Types, Operands], t.DataType]:
    """Return the rule that the result is VARCHAR or VARBINARY with an operand's length."""

    def result(types: Types, operands: Operands) -> t.DataType:
        data_type: Any = types[index]
        return (t.VarCharType if isinstance(data_type, families_of.STRINGS) else t.VarBinaryType)(data_type.length)

    return result


def literal_text(operands: Operands, index: int) -> str | None:
    """Return a constant operand as upper-case text, such as the unit of EXTRACT, or None if it is absent."""
    if index >= len(operands):
        return None
    operand = operands[index]
    return operand.value.upper() if isinstance(operand, Literal) and isinstance(operand.value, str) else None
