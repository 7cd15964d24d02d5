"""Rules of which types can be cast to which. Flink: `LogicalTypeCasts`."""

from __future__ import annotations

from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.type_families import BYTES, STRINGS, TIMESTAMPS

_Types = tuple[type[t.DataType], ...]
_INTS: _Types = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
_NUMBERS: _Types = (*_INTS, t.DecimalType, t.FloatType, t.DoubleType)
_CONSTRUCTED: _Types = (t.ArrayType, t.MultisetType, t.MapType, t.RowType)
_TEXT_SOURCES: _Types = (t.AtomicType, *_CONSTRUCTED, t.RawType)
_NUMBER_SOURCES: _Types = (*_NUMBERS, *STRINGS, t.BooleanType)
_MOMENTS: _Types = (t.DateType, t.TimeType, *TIMESTAMPS, *STRINGS)

# Numbers from no intervals: in Flink `INTERVAL '1' DAY` is 1 in an INT column of a sink and a column of that value is
# 86400, though both have the type INTERVAL SECOND(3). No CAST allows it.
_IMPLICIT: dict[type[t.DataType], _Types] = {
    t.CharType: (t.CharType,),
    t.VarCharType: STRINGS,
    t.BooleanType: (t.BooleanType,),
    t.BinaryType: (t.BinaryType,),
    t.VarBinaryType: BYTES,
    t.DecimalType: _NUMBERS,
    t.TinyIntType: _INTS[:1],
    t.SmallIntType: _INTS[:2],
    t.IntType: _INTS[:3],
    t.BigIntType: _INTS,
    t.FloatType: (*_INTS, t.DecimalType, t.FloatType),
    t.DoubleType: _NUMBERS,
    t.DateType: (t.DateType, t.TimestampType),
    t.TimeType: (t.TimeType, t.TimestampType),
    t.TimestampType: TIMESTAMPS,
    t.LocalZonedTimestampType: TIMESTAMPS,
    t.DayTimeIntervalType: (t.DayTimeIntervalType,),
    t.YearMonthIntervalType: (t.YearMonthIntervalType,),
}

_EXPLICIT: dict[type[t.DataType], _Types] = {
    t.CharType: _TEXT_SOURCES,
    t.VarCharType: _TEXT_SOURCES,
    t.BooleanType: (t.BooleanType, *STRINGS, *_NUMBERS),
    t.BinaryType: (*BYTES, *STRINGS, t.RawType),
    t.VarBinaryType: (*BYTES, *STRINGS, t.RawType),
    t.DecimalType: _NUMBER_SOURCES,
    t.TinyIntType: _NUMBER_SOURCES,
    t.SmallIntType: _NUMBER_SOURCES,
    t.IntType: _NUMBER_SOURCES,
    t.BigIntType: _NUMBER_SOURCES,
    t.FloatType: _NUMBER_SOURCES,
    t.DoubleType: _NUMBER_SOURCES,
    t.DateType: (t.DateType, *TIMESTAMPS, *STRINGS),
    t.TimeType: (t.TimeType, *TIMESTAMPS, *STRINGS),
    t.TimestampType: _MOMENTS,
    t.LocalZonedTimestampType: _MOMENTS,
    # Not numbers and texts: in Flink a constant counts days where a column of the same value counts milliseconds.
    t.DayTimeIntervalType: (t.DayTimeIntervalType,),
    t.YearMonthIntervalType: (t.YearMonthIntervalType,),
}


def can_cast(source: t.DataType, target: t.DataType) -> bool:
    """Return whether CAST and TRY_CAST accept this source and target type."""
    return _castable(source, target, _EXPLICIT)


def can_cast_implicitly(source: t.DataType, target: t.DataType) -> bool:
    """Return whether a value is converted without CAST, e.g. when a query is inserted into a table.

    A nullable type cannot be cast implicitly to a NOT NULL type.
    """
    if source.is_nullable and not target.is_nullable:
        return False
    return _castable(source, target, _IMPLICIT)


def has_null_type(data_type: t.DataType) -> bool:
    """Return whether a type is that of NULL, or one of its parts is."""
    if isinstance(data_type, _CONSTRUCTED):
        return any(map(has_null_type, _children(data_type)))
    return isinstance(data_type, t.NullType)


def _castable(source: t.DataType, target: t.DataType, rules: dict[type[t.DataType], _Types]) -> bool:
    if isinstance(source, t.NullType) or source.same_as(target):
        return True
    if isinstance(source, t.VariantType):
        return False
    if isinstance(target, _CONSTRUCTED):
        return type(source) is type(target) and _children_castable(source, target, rules)
    return isinstance(source, rules.get(type(target), ()))


def _children_castable(source: t.DataType, target: t.DataType, rules: dict[type[t.DataType], _Types]) -> bool:
    pairs = list(zip(_children(source), _children(target), strict=False))
    return len(_children(source)) == len(_children(target)) and all(_castable(a, b, rules) for a, b in pairs)


def _children(data_type: Any) -> list[t.DataType]:
    if isinstance(data_type, t.MapType):
        return [data_type.key_type, data_type.value_type]
    if isinstance(data_type, t.RowType):
        return data_type.field_types()
    return [data_type.element_type]
