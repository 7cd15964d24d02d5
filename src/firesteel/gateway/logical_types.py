"""Types of columns as JSON (Flink: `gateway.rest.serde.LogicalTypeJsonSerializer`)."""

from __future__ import annotations

from typing import Any

from firesteel.columns import column_types as t
from firesteel.common.cases import case

_ROOTS: dict[type[t.DataType], str] = {
    t.NullType: "NULL",
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INTEGER",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DecimalType: "DECIMAL",
    t.CharType: "CHAR",
    t.VarCharType: "VARCHAR",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "VARBINARY",
    t.DateType: "DATE",
    t.TimeType: "TIME_WITHOUT_TIME_ZONE",
    t.TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    t.LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    t.ZonedTimestampType: "TIMESTAMP_WITH_TIME_ZONE",
    t.YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    t.DayTimeIntervalType: "INTERVAL_DAY_TIME",
    t.ArrayType: "ARRAY",
    t.MultisetType: "MULTISET",
    t.MapType: "MAP",
    t.RowType: "ROW",
}
"""Flink's `LogicalTypeRoot` of each type."""

_YEAR_MONTH = {1: "YEAR", 2: "MONTH", 3: "YEAR_TO_MONTH"}


def logical_type(data_type: t.DataType) -> dict[str, object]:
    """Return the JSON object of a type: `type` (its root), `nullable`, and the parameters that the root has.

    A type that only programs understand is described as a nullable string, the form in which its values are sent.

    Example:
        >>> logical_type(t.VarCharType(3))
        {'type': 'VARCHAR', 'nullable': True, 'length': 3}
    """
    root = _ROOTS.get(type(data_type))
    if root is None:
        return logical_type(t.VarCharType(t.MAX_LENGTH, data_type.is_nullable))
    parameters = _PARAMETERS.get(type(data_type))
    found = {} if parameters is None else parameters(data_type)
    return {"type": root, "nullable": data_type.is_nullable, **found}


def _length_json(data_type: t.CharType | t.VarCharType | t.BinaryType | t.VarBinaryType) -> dict[str, object]:
    return {"length": data_type.length}


def _precision_json(
    data_type: t.TimeType | t.TimestampType | t.LocalZonedTimestampType | t.ZonedTimestampType,
) -> dict[str, object]:
    return {"precision": data_type.precision}


def _decimal_json(data_type: t.DecimalType) -> dict[str, Any]:
    return {"precision": data_type.precision, "scale": data_type.scale}


def _year_month_json(data_type: t.YearMonthIntervalType) -> dict[str, object]:
    return {"precision": data_type.precision, "resolution": _YEAR_MONTH[data_type.resolution]}


def _day_time_json(data_type: t.DayTimeIntervalType) -> dict[str, object]:
    return {
        "precision": data_type.day_precision,
        "fractionalPrecision": data_type.fractional_precision,
        "resolution": data_type.resolution.name,
    }


def _elements_json(data_type: t.ArrayType | t.MultisetType) -> dict[str, Any]:
    return {"elementType": logical_type(data_type.element_type)}


def _map_json(data_type: t.MapType) -> dict[str, Any]:
    return {"keyType": logical_type(data_type.key_type), "valueType": logical_type(data_type.value_type)}


def _row_json(data_type: t.RowType) -> dict[str, Any]:
    return {"fields": [_field_json(field) for field in data_type.fields]}


def _field_json(field: t.RowField) -> dict[str, object]:
    described = {} if field.description in (None, "...") else {"description": field.description}
    return {"name": field.name, "fieldType": logical_type(field.data_type), **described}


_PARAMETERS = dict(
    [
        case(t.CharType, _length_json),
        case(t.VarCharType, _length_json),
        case(t.BinaryType, _length_json),
        case(t.VarBinaryType, _length_json),
        case(t.DecimalType, _decimal_json),
        case(t.TimeType, _precision_json),
        case(t.TimestampType, _precision_json),
        case(t.LocalZonedTimestampType, _precision_json),
        case(t.ZonedTimestampType, _precision_json),
        case(t.YearMonthIntervalType, _year_month_json),
        case(t.DayTimeIntervalType, _day_time_json),
        case(t.ArrayType, _elements_json),
        case(t.MultisetType, _elements_json),
        case(t.MapType, _map_json),
        case(t.RowType, _row_json),
    ]
)
