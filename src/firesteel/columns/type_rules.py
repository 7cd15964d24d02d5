"""Type derivation: common types, and result types of arithmetic and aggregates.

Flink: `LogicalTypeMerging`, `FlinkTypeSystem` and Calcite's `leastRestrictive`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.type_families import (
    APPROXIMATE,
    BYTES,
    DATETIMES,
    DAY_TIME,
    INTEGRAL_ORDER,
    INTERVALS,
    STRINGS,
    TIMESTAMPS,
    YEAR_MONTH,
)

_INTEGRAL_DIGITS: dict[type[t.DataType], int] = dict(zip(INTEGRAL_ORDER, (3, 5, 10, 19), strict=True))
_MIN_SCALE = 6


def any_nullable(types: Sequence[t.DataType]) -> bool:
    """Return whether any of the types is nullable."""
    return any(data_type.is_nullable for data_type in types)


def is_exact(data_type: t.DataType) -> bool:
    """Return whether values of the type are integers or decimals."""
    return isinstance(data_type, (t.IntegralType, t.DecimalType))


def as_decimal(data_type: t.DataType) -> t.DecimalType:
    """Return the decimal type that holds all values of an exact numeric type."""
    if isinstance(data_type, t.DecimalType):
        return data_type
    return t.DecimalType(_INTEGRAL_DIGITS[type(data_type)], 0, data_type.is_nullable)


def common_type(types: Sequence[t.DataType]) -> t.DataType | None:
    """Return the least restrictive type that holds the values of all types, or None if there is none."""
    known = [data_type for data_type in types if not isinstance(data_type, t.NullType)]
    if not known:
        return t.NullType() if types else None
    result: t.DataType | None = known[0]
    for data_type in known[1:]:
        if result is None:
            return None
        result = _merge(result, data_type)
    return None if result is None else _materialized(result).with_nullable(any_nullable(types))


def common_argument_type(types: Sequence[t.DataType]) -> t.DataType | None:
    """Return the common type of the arguments of a function such as COALESCE, None if there is none.

    It differs from `common_type`, which CASE and UNION use, in approximate numbers: DOUBLE is wider than FLOAT, and
    FLOAT wider than a DECIMAL before it. TIMESTAMP_LTZ is wider than TIMESTAMP; DATE and TIMESTAMP become DATE. Flink:
    `LogicalTypeMerging.findCommonType`, as opposed to Calcite's `leastRestrictive`.
    """
    common = common_type(types)
    if isinstance(common, APPROXIMATE):
        return _common_approximate(types).with_nullable(common.is_nullable)
    zoned = any(isinstance(x, t.LocalZonedTimestampType) for x in types)
    if isinstance(common, t.TimestampType) and zoned:
        return t.LocalZonedTimestampType(common.precision, common.is_nullable)
    if common is None and all(isinstance(x, (t.DateType, t.TimestampType, t.NullType)) for x in types):
        return t.DateType(any_nullable(types))
    return common


def _common_approximate(types: Sequence[t.DataType]) -> t.DataType:
    found = [x for x in types if isinstance(x, (*APPROXIMATE, t.DecimalType))]
    first = next(index for index, x in enumerate(found) if isinstance(x, APPROXIMATE))
    is_double = any(isinstance(x, t.DoubleType) for x in found) or any(
        isinstance(x, t.DecimalType) for x in found[first:]
    )
    return t.DoubleType() if is_double else t.FloatType()


def _materialized(data_type: t.DataType) -> t.DataType:
    return data_type.materialized() if isinstance(data_type, TIMESTAMPS) else data_type


def _merge(a: t.DataType, b: t.DataType) -> t.DataType | None:
    """Return the common type of two types; its own nullability is not meaningful."""
    if a.same_as(b):
        return a
    for family, merge in _MERGES:
        if isinstance(a, family) and isinstance(b, family):
            return merge(a, b)
    return None


def _merge_numbers(a: t.DataType, b: t.DataType) -> t.DataType:
    if isinstance(a, APPROXIMATE) and isinstance(b, APPROXIMATE):
        return a  # Calcite gives FLOAT and DOUBLE the same precision, so the first one stays.
    if isinstance(a, APPROXIMATE) or isinstance(b, APPROXIMATE):
        exact, approximate = (b, a) if isinstance(a, APPROXIMATE) else (a, b)
        return t.DoubleType() if isinstance(exact, t.DecimalType) else approximate
    if isinstance(a, t.IntegralType) and isinstance(b, t.IntegralType):
        return max(a, b, key=lambda x: INTEGRAL_ORDER.index(type(x)))
    x, y = as_decimal(a), as_decimal(b)
    digits = max(x.precision - x.scale, y.precision - y.scale)
    scale = min(max(x.scale, y.scale), t.MAX_DECIMAL_PRECISION - min(digits, t.MAX_DECIMAL_PRECISION))
    return t.DecimalType(min(digits + scale, t.MAX_DECIMAL_PRECISION), scale)


def _merge_strings(a: t.CharType | t.VarCharType, b: t.CharType | t.VarCharType) -> t.DataType:
    return t.VarCharType(max(a.length, b.length))


def _merge_bytes(a: t.BinaryType | t.VarBinaryType, b: t.BinaryType | t.VarBinaryType) -> t.DataType:
    return t.VarBinaryType(max(a.length, b.length))


def _merge_times(
    a: t.TimestampType | t.LocalZonedTimestampType, b: t.TimestampType | t.LocalZonedTimestampType
) -> t.DataType:
    return t.TimeType(max(a.precision, b.precision))


def _merge_timestamps(
    a: t.TimestampType | t.LocalZonedTimestampType, b: t.TimestampType | t.LocalZonedTimestampType
) -> t.DataType:
    """Return the first type if both are equally precise, and otherwise the second with the larger precision."""
    zoned = isinstance(a if a.precision == b.precision else b, t.LocalZonedTimestampType)
    precision, kind = max(a.precision, b.precision), max(a, b, key=lambda one: one.precision).kind
    return t.LocalZonedTimestampType(precision, kind=kind) if zoned else t.TimestampType(precision, kind=kind)


def _merge_day_times(a: t.DataType, b: t.DataType) -> t.DataType:
    return DAY_TIME


def _merge_year_months(a: t.DataType, b: t.DataType) -> t.DataType:
    return YEAR_MONTH


def _merge_arrays(a: t.ArrayType, b: t.ArrayType) -> t.DataType | None:
    element = common_type([a.element_type, b.element_type])
    return None if element is None else type(a)(element)


def _merge_maps(a: t.MapType, b: t.MapType) -> t.DataType | None:
    key = common_type([a.key_type, b.key_type])
    value = common_type([a.value_type, b.value_type])
    return None if key is None or value is None else t.MapType(key, value)


def _merge_rows(a: t.RowType, b: t.RowType) -> t.DataType | None:
    if len(a) != len(b):
        return None
    types = [common_type([x, y]) for x, y in zip(a.field_types(), b.field_types(), strict=True)]
    fields = [t.RowField(name, x) for name, x in zip(a.names, types, strict=True) if x is not None]
    return t.RowType(fields) if len(fields) == len(a) else None


_MERGES: tuple[tuple[Any, Callable[[Any, Any], t.DataType | None]], ...] = (
    (t.NumericType, _merge_numbers),
    (STRINGS, _merge_strings),
    (BYTES, _merge_bytes),
    (t.TimeType, _merge_times),
    (TIMESTAMPS, _merge_timestamps),
    (t.DayTimeIntervalType, _merge_day_times),
    (t.YearMonthIntervalType, _merge_year_months),
    (t.ArrayType, _merge_arrays),
    (t.MultisetType, _merge_arrays),
    (t.MapType, _merge_maps),
    (t.RowType, _merge_rows),
)


def arithmetic_type(operator: str, left: t.DataType, right: t.DataType) -> t.DataType | None:
    """Return the result type of `+ - * / %`, or None if the operator does not accept these types."""
    nullable = left.is_nullable or right.is_nullable
    result = _arithmetic(operator, left, right)
    return None if result is None else _materialized(result).with_nullable(nullable)


def _arithmetic(operator: str, left: t.DataType, right: t.DataType) -> t.DataType | None:
    if isinstance(left, t.NullType) and isinstance(right, t.NullType):
        return None
    if isinstance(left, t.NullType):
        left = right if not isinstance(right, INTERVALS) or operator != "*" else t.IntType()
    if isinstance(right, t.NullType):
        right = left
    if not isinstance(left, t.NumericType) or not isinstance(right, t.NumericType):
        return _temporal_arithmetic(operator, left, right)
    if operator == "%" and not (is_exact(left) and is_exact(right)):
        return None
    if not (is_exact(left) and is_exact(right) and isinstance(left, t.DecimalType) | isinstance(right, t.DecimalType)):
        return right if operator == "%" else common_type([left, right])
    x, y = as_decimal(left), as_decimal(right)
    return decimal_type(*_DECIMAL_RULES[operator](x.precision, x.scale, y.precision, y.scale))


def _temporal_arithmetic(operator: str, left: t.DataType, right: t.DataType) -> t.DataType | None:
    interval = isinstance(left, INTERVALS), isinstance(right, INTERVALS)
    if any(isinstance(x, t.TimeType) for x in (left, right)) and isinstance(
        right if interval[1] else left, t.YearMonthIntervalType
    ):
        return None
    moment = (*DATETIMES, t.TimeType)
    if operator in "+-" and all(interval):
        return left if type(left) is type(right) else None
    if operator in "+-" and interval[1] and isinstance(left, moment):
        return left
    if operator == "+" and interval[0] and isinstance(right, moment):
        return right
    if operator == "*" and interval[0] and isinstance(right, t.IntegralType):
        return left
    return right if operator == "*" and interval[1] and isinstance(left, t.IntegralType) else None


def decimal_type(precision: int, scale: int) -> t.DecimalType:
    """Return a decimal type of at most 38 digits.

    A larger type loses fraction digits, but keeps at least six of them (or all, if it has fewer).
    """
    if precision <= t.MAX_DECIMAL_PRECISION:
        return t.DecimalType(precision, scale)
    digits = precision - scale
    return t.DecimalType(t.MAX_DECIMAL_PRECISION, max(t.MAX_DECIMAL_PRECISION - digits, min(scale, _MIN_SCALE)))


def _sum_rule(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return max(p1 - s1, p2 - s2) + scale + 1, scale


def _product_rule(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    return p1 + p2 + 1, s1 + s2


def _quotient_rule(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(_MIN_SCALE, s1 + p2 + 1)
    return p1 - s1 + s2 + scale, scale


def _remainder_rule(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return min(p1 - s1, p2 - s2) + scale, scale


_DECIMAL_RULES = {"+": _sum_rule, "-": _sum_rule, "*": _product_rule, "/": _quotient_rule, "%": _remainder_rule}


def round_type(data_type: t.DataType, digits: int | None) -> t.DataType:
    """Return the type of ROUND and TRUNCATE; `digits` is None if it is not a constant."""
    if not isinstance(data_type, t.DecimalType):
        return data_type
    precision, scale = data_type.precision, data_type.scale
    if digits is None or digits >= scale:
        return data_type
    if digits < 0:
        return t.DecimalType(min(t.MAX_DECIMAL_PRECISION, 1 + precision - scale), 0, data_type.is_nullable)
    return t.DecimalType(1 + precision - scale + digits, digits, data_type.is_nullable)


def sum_type(data_type: t.DataType) -> t.DataType:
    """Return the type of SUM: DECIMAL(38, scale) for decimals, the argument's type for other numbers."""
    if isinstance(data_type, t.DecimalType):
        return t.DecimalType(t.MAX_DECIMAL_PRECISION, data_type.scale, data_type.is_nullable)
    return data_type


def avg_type(data_type: t.DataType) -> t.DataType:
    """Return the type of AVG: DECIMAL(38, max(6, scale)) for decimals, the argument's type for other numbers."""
    if isinstance(data_type, t.DecimalType):
        scale = max(_MIN_SCALE, data_type.scale)
        return t.DecimalType(t.MAX_DECIMAL_PRECISION, scale, data_type.is_nullable)
    return data_type
