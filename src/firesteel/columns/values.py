"""Conversion of column values between Arrow arrays and the Python objects of programs.

TIMESTAMP and TIMESTAMP_LTZ hold microseconds: digits of a precision above 6 are lost.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import map_types
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.errors import TypeMismatchError, ValueOverflowError

Converter = Callable[[Any], Any]

_ARROW: dict[type[t.DataType], pa.DataType] = {
    t.NullType: pa.null(),
    t.BooleanType: pa.bool_(),
    t.VariantType: pa.string(),
    t.TinyIntType: pa.int8(),
    t.SmallIntType: pa.int16(),
    t.IntType: pa.int32(),
    t.BigIntType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.CharType: pa.string(),
    t.VarCharType: pa.string(),
    t.BinaryType: pa.binary(),
    t.VarBinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.TimeType: pa.time32("ms"),
    t.TimestampType: pa.timestamp("us"),
    t.LocalZonedTimestampType: pa.timestamp("us", "UTC"),
    t.DayTimeIntervalType: pa.duration("us"),
    t.YearMonthIntervalType: pa.int32(),
}

_WIDE = Context(prec=100, rounding=ROUND_HALF_UP)


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """Return the Arrow type that holds values of a logical type.

    Raises:
        NotImplementedError: Columns cannot hold values of the type.
    """
    plain = _ARROW.get(type(data_type))
    if plain is not None:
        return plain
    if isinstance(data_type, t.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, t.ArrayType):
        return pa.list_(arrow_type(data_type.element_type))
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        key, item = map_types(data_type)
        return pa.map_(arrow_type(key), arrow_type(item))
    if isinstance(data_type, t.RowType):
        return pa.struct([pa.field(field.name, arrow_type(field.data_type)) for field in data_type.fields])
    if isinstance(data_type, t.UserDefinedType):
        return arrow_type(data_type.sql_type())
    raise NotImplementedError(f"firesteel does not support columns of type {type_text(data_type)}")


def to_arrow(values: Sequence[Any], data_type: t.DataType) -> pa.Array:
    """Build a column from Python values as a program writes them.

    Args:
        values: None for NULL; Decimal, datetime, date, time, timedelta, bytes or bytearray; lists for ARRAY, dicts for
            MAP and MULTISET, `Row`, tuples, lists or dicts for ROW; datetime or `Instant` for TIMESTAMP_LTZ, where a
            datetime without time zone is in the zone of this machine.
        data_type: The type of the column.

    Raises:
        TypeMismatchError: A value does not fit the type; for an integer out of range a `ValueOverflowError`.
    """
    encode = _encoder(data_type)
    target = arrow_type(data_type)
    try:
        return pa.array(values if encode is None else [None if v is None else encode(v) for v in values], target)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, ArithmeticError) as error:
        if isinstance(error, TypeMismatchError):
            raise
        # After a failure only, so that values which fit are not looked at one by one.
        whole = _whole_or_boolean(values, data_type)
        if whole is None:
            raise _mismatch(values, data_type, encode) from error
        return to_arrow(whole, data_type)


def _whole_or_boolean(values: Sequence[object], data_type: t.DataType) -> Sequence[object] | None:
    """Return values with `True` as 1 where an integer is declared, and integers as truth values where BOOLEAN is.

    None if that changes nothing.
    """
    if not isinstance(data_type, (t.IntegralType, t.BooleanType)):
        return None
    found, wanted = (int, bool) if isinstance(data_type, t.BooleanType) else (bool, int)
    if not any(value.__class__ is found for value in values):
        return None
    return [wanted(value) if value.__class__ is found else value for value in values]


def _mismatch(values: Sequence[object], data_type: t.DataType, encode: Converter | None) -> TypeMismatchError:
    """Return an error that names the first value that does not fit."""
    for value in values:
        try:
            pa.array([value if encode is None or value is None else encode(value)], arrow_type(data_type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, ArithmeticError):
            is_whole = isinstance(data_type, t.IntegralType) and isinstance(value, int)
            return (ValueOverflowError if is_whole else TypeMismatchError)(type_text(data_type), value)
    return TypeMismatchError(type_text(data_type), values)


def _encoder(data_type: t.DataType) -> Converter | None:
    """Return the conversion of a value to one that Arrow accepts, or None if no conversion is needed."""
    if isinstance(data_type, t.DecimalType):
        unit = Decimal(1).scaleb(-data_type.scale)
        return lambda value: Decimal(value).quantize(unit, context=_WIDE)
    if isinstance(data_type, t.LocalZonedTimestampType):
        return _utc
    if isinstance(data_type, t.UserDefinedType):
        inner = _encoder(data_type.sql_type())
        return lambda value: data_type.serialize(value) if inner is None else inner(data_type.serialize(value))
    if isinstance(data_type, t.ArrayType):
        element = _optional(_encoder(data_type.element_type))
        return None if element is None else lambda value: [element(item) for item in value]
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        key, item = (_optional(_encoder(child)) or unchanged for child in map_types(data_type))
        return lambda value: [(key(k), item(v)) for k, v in (value.items() if isinstance(value, dict) else value)]
    return row_encoder(data_type) if isinstance(data_type, t.RowType) else None


def row_encoder(data_type: t.RowType) -> Converter:
    """Return the conversion of a row, such as a `Row`, tuple or dict, to a dict of values that Arrow accepts."""
    names = data_type.field_names()
    fields = [_optional(_encoder(field)) or unchanged for field in data_type.field_types()]

    def encode(value: object) -> dict[str, Any]:
        if isinstance(value, dict):
            items = [value.get(name) for name in names]
        elif isinstance(value, Row):
            items = value.get_fields_by_names(names) if len(value) == len(names) else list(value)
        else:
            items = list(value) if isinstance(value, (tuple, list)) else [getattr(value, name) for name in names]
        if len(items) != len(names):
            raise TypeMismatchError(type_text(data_type), value)
        return {name: field(item) for name, field, item in zip(names, fields, items, strict=True)}

    return encode


def _utc(value: datetime.datetime | Instant) -> datetime.datetime:
    if isinstance(value, Instant):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return epoch + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value.astimezone(datetime.UTC)


def _optional(convert: Converter | None) -> Converter | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def to_python(
    array: pa.Array, data_type: t.DataType, collected: bool = False, zone: datetime.tzinfo | None = None
) -> list[Any]:
    """Return the values of a column as a program receives them.

    ROW becomes `Row`, MAP and MULTISET `dict`, TIMESTAMP_LTZ `Instant`, or a datetime if functions of tables get it.

    Args:
        array: The column.
        data_type: Its type.
        collected: Whether to return values as PyFlink's `TableResult.collect()` does: timestamps with milliseconds,
            FLOAT as the shortest number that rounds to it (0.1), and rows without field names. Otherwise values are as
            Python functions receive them.
        zone: The zone of the datetimes that functions of tables get for TIMESTAMP_LTZ.
    """
    values: list[Any] = pylist(array)
    decode = _decoder(data_type, collected, zone)
    return values if decode is None else [None if value is None else decode(value) for value in values]


def _decoder(data_type: t.DataType, collected: bool, zone: datetime.tzinfo | None) -> Converter | None:
    """Return the conversion of a value returned by `to_pylist`, or None if no conversion is needed."""
    if isinstance(data_type, t.TimestampType):
        return _cut_to_millis if collected else None
    if isinstance(data_type, t.FloatType):
        return _shortest if collected else None
    if isinstance(data_type, t.LocalZonedTimestampType):
        return _instant if zone is None else lambda value: value.astimezone(zone)
    if isinstance(data_type, t.UserDefinedType):
        inner = _decoder(data_type.sql_type(), collected, zone)
        return lambda value: data_type.deserialize(value if inner is None else inner(value))
    if isinstance(data_type, t.ArrayType):
        element = _optional(_decoder(data_type.element_type, collected, zone))
        return None if element is None else lambda value: [element(item) for item in value]
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        key, item = (_optional(_decoder(child, collected, zone)) or unchanged for child in map_types(data_type))
        return lambda value: {key(k): item(v) for k, v in value}
    return _row_decoder(data_type, collected, zone) if isinstance(data_type, t.RowType) else None


def _row_decoder(data_type: t.RowType, collected: bool, zone: datetime.tzinfo | None) -> Converter:
    names = data_type.field_names()
    fields = [_optional(_decoder(field, collected, zone)) or unchanged for field in data_type.field_types()]

    def decode(value: dict[str, Any]) -> Row:
        row = Row(*[field(item) for field, item in zip(fields, value.values(), strict=True)])
        if not collected:
            row.set_field_names(names)
        return row

    return decode


def _cut_to_millis(value: datetime.datetime) -> datetime.datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def _shortest(value: float) -> float:
    return float(str(np.float32(value)))


def _instant(value: datetime.datetime) -> Instant:
    delta = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return Instant(delta.days * 86_400 + delta.seconds, delta.microseconds * 1000)
