"""Conversion of DataStream types to table types. Flink: `TypeInfoDataTypeConverter`."""

from __future__ import annotations

from typing import Any

from firesteel.columns import column_types as t
from firesteel.common.table_errors import ValidationException
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

_BASIC: dict[BasicType, t.DataType] = {
    BasicType.STRING: t.VarCharType(t.MAX_LENGTH),
    BasicType.BOOLEAN: t.BooleanType(),
    BasicType.BYTE: t.TinyIntType(),
    BasicType.SHORT: t.SmallIntType(),
    BasicType.INT: t.IntType(),
    BasicType.LONG: t.BigIntType(),
    BasicType.FLOAT: t.FloatType(),
    BasicType.DOUBLE: t.DoubleType(),
    BasicType.CHAR: t.CharType(1),
    BasicType.BIG_INT: t.DecimalType(38, 0),
    BasicType.BIG_DEC: t.DecimalType(38, 18),
}
_LOCAL_TIMES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


_WITH_NULL = (t.VarCharType, t.DecimalType, t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
"""Types whose values Flink serializes with a mark for null wherever they are."""


def data_type_of(type_info: TypeInformation[Any]) -> t.DataType:
    """Return the type of a column that holds such elements.

    It is NOT NULL where Flink's serializer takes no null: for numbers, arrays and maps, unless they are fields of a
    row, values of a map or elements of an array of objects.

    Raises:
        ValidationException: there is none, such as for pickled elements.
    """
    found = _nullable(type_info)
    return found if isinstance(found, (*_WITH_NULL, t.RowType)) else found.not_null()


def _nullable(type_info: TypeInformation[Any]) -> t.DataType:
    if isinstance(type_info, ExternalTypeInfo):
        return _nullable(type_info.type_info)
    if isinstance(type_info, LocalTimeTypeInfo):
        type_info = _LOCAL_TIMES[type_info.time_type.value]()
    if isinstance(type_info, InstantTypeInfo):
        return t.LocalZonedTimestampType(9)
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _BASIC:
        return _BASIC[type_info.basic_type]
    if isinstance(type_info, DateTypeInfo):
        return t.DateType()
    if isinstance(type_info, TimeTypeInfo):
        return t.TimeType(0)
    if isinstance(type_info, TimestampTypeInfo):
        return t.TimestampType(9)
    return _nested(type_info)


def _nested(type_info: TypeInformation[Any]) -> t.DataType:
    if isinstance(type_info, RowTypeInfo):
        pairs = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
        return t.RowType([t.RowField(name, _nullable(kind)) for name, kind in pairs])
    if isinstance(type_info, TupleTypeInfo):
        fields = enumerate(type_info.get_field_types())
        return t.RowType([t.RowField(f"f{index}", data_type_of(kind)) for index, kind in fields])
    if isinstance(type_info, MapTypeInfo):
        return t.MapType(_nullable(type_info.key_type), _nullable(type_info.value_type))
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE():
        return t.VarBinaryType(t.MAX_LENGTH)
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)):
        takes_null = isinstance(type_info, (BasicArrayTypeInfo, ObjectArrayTypeInfo))
        return t.ArrayType((_nullable if takes_null else data_type_of)(type_info.element_type))
    raise ValidationException(
        f"A stream of {type_info!r} has no columns; declare its type, such as output_type=Types.ROW([...]) of a map()"
    )
