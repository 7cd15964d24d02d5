"""Conversion of column types to DataStream types. Flink: `LegacyTypeInfoDataTypeConverter`."""

from __future__ import annotations

from typing import Any

from firesteel.columns import column_types as t
from firesteel.common.typeinfo import LocalTimeTypeInfo, TypeInformation, Types

__all__ = ["type_info_of"]


def type_info_of(data_type: t.DataType) -> TypeInformation[Any]:
    """Return the type information of a column's values; pickled values if DataStreams have no such type."""
    if isinstance(data_type, t.RowType):
        return Types.ROW_NAMED(data_type.field_names(), [type_info_of(kind) for kind in data_type.field_types()])
    if isinstance(data_type, t.ArrayType):
        return Types.OBJECT_ARRAY(type_info_of(data_type.element_type))
    if isinstance(data_type, t.MapType):
        return Types.MAP(type_info_of(data_type.key_type), type_info_of(data_type.value_type))
    return _TYPE_INFOS.get(type(data_type), Types.PICKLED_BYTE_ARRAY())


_TYPE_INFOS: dict[type[t.DataType], TypeInformation[Any]] = {
    t.BooleanType: Types.BOOLEAN(),
    t.TinyIntType: Types.BYTE(),
    t.SmallIntType: Types.SHORT(),
    t.IntType: Types.INT(),
    t.BigIntType: Types.LONG(),
    t.FloatType: Types.FLOAT(),
    t.DoubleType: Types.DOUBLE(),
    t.CharType: Types.STRING(),
    t.VarCharType: Types.STRING(),
    t.BinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.VarBinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.DecimalType: Types.BIG_DEC(),
    t.DateType: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE),
    t.TimeType: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME),
    t.TimestampType: LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME),
    t.LocalZonedTimestampType: Types.INSTANT(),
}
