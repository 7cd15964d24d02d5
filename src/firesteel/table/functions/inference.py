"""The row type of plain Python values, for `TableEnvironment.from_elements`. PyFlink: `_infer_schema_from_data`."""

from __future__ import annotations

import array
import datetime
import decimal
from collections.abc import Sequence
from functools import reduce
from typing import Any

from firesteel.columns import column_types as t
from firesteel.common.types import Row

_TYPES: dict[type, t.DataType] = {
    type(None): t.NullType(),
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: t.VarCharType(t.MAX_LENGTH),
    bytearray: t.VarBinaryType(t.MAX_LENGTH),
    decimal.Decimal: t.DecimalType(38, 18),
    datetime.date: t.DateType(),
    datetime.datetime: t.LocalZonedTimestampType(),
    datetime.time: t.TimeType(),
}


_ARRAYS: dict[str, t.DataType] = {
    "b": t.TinyIntType(),
    "h": t.SmallIntType(),
    "i": t.IntType(),
    "l": t.BigIntType(),
    "B": t.SmallIntType(),
    "H": t.IntType(),
    "I": t.BigIntType(),
    "f": t.FloatType(),
    "u": t.CharType(1),
    "d": t.DoubleType(),
}
"""Types of the elements of `array.array`: unsigned numbers need the next larger type, and 64 bits have none."""


def infer_schema(elements: Sequence[Any], names: Sequence[str] | None = None) -> t.RowType:
    """Return the type of the rows: BIGINT for int, DOUBLE for float, STRING for str ...

    Args:
        elements: Rows as tuples, lists, dicts or `Row`.
        names: The names of the columns; missing ones become `_1`, `_2`, ...

    Raises:
        ValueError: There are no elements, or a column holds only None.
        TypeError: A value has no SQL type, or a column holds values of different types.
    """
    if not elements:
        raise ValueError("can not infer schema from empty data set")
    schema = reduce(lambda a, b: _merge(a, b, "new"), [_row_type(element, names) for element in elements])
    undetermined = [field.name for field in schema.fields if _has_null_type(field.data_type)]
    if undetermined:
        raise ValueError(f"Some column types cannot be determined after inferring: {', '.join(undetermined)}")
    return schema


def infer_type(value: object) -> t.DataType:
    """Return the type of one value.

    Raises:
        TypeError: The value has no SQL type.
    """
    if hasattr(value, "__UDT__"):
        declared: t.DataType = value.__UDT__
        return declared
    if isinstance(value, array.array) and value.typecode in _ARRAYS:
        return t.ArrayType(_ARRAYS[value.typecode].not_null())
    atomic = _TYPES.get(type(value))
    if atomic is not None:
        return atomic
    if isinstance(value, dict):
        for key, item in value.items():
            if key is not None and item is not None:
                return t.MapType(infer_type(key).not_null(), infer_type(item))
        return t.MapType(t.NullType(), t.NullType())
    if isinstance(value, list):
        return t.ArrayType(next((infer_type(item) for item in value if item is not None), t.NullType()))
    try:
        return _row_type(value, None)
    except TypeError:
        raise TypeError(f"not supported type: {type(value)}") from None


def _row_type(row: object, names: Sequence[str] | None) -> t.RowType:
    if isinstance(row, dict):
        items = sorted(row.items())
    elif isinstance(row, (Row, tuple, list)):
        own = getattr(row, "_fields", None)
        used = list(own if own is not None else names or ())
        used += [f"_{index}" for index in range(len(used) + 1, len(row) + 1)]
        items = list(zip(used, row, strict=False))
    elif hasattr(row, "__dict__"):
        items = sorted(row.__dict__.items())
    else:
        raise TypeError(f"Can not infer schema for type: {type(row)}")
    return t.RowType([t.RowField(name, infer_type(value)) for name, value in items])


def _merge(a: Any, b: Any, name: str) -> Any:
    if isinstance(a, t.NullType):
        return b
    if isinstance(b, t.NullType):
        return a
    if type(a) is not type(b):
        raise TypeError(f"{name}: Can not merge type {type(a)} and {type(b)}")
    if isinstance(a, t.RowType):
        others = {field.name: field.data_type for field in b.fields}
        fields = [
            t.RowField(f.name, _merge(f.data_type, others.pop(f.name, t.NullType()), f"field {f.name} in {name}"))
            for f in a.fields
        ]
        return t.RowType(fields + [t.RowField(rest, data_type) for rest, data_type in others.items()])
    if isinstance(a, t.ArrayType):
        return t.ArrayType(_merge(a.element_type, b.element_type, f"element in array {name}"))
    if isinstance(a, t.MapType):
        key = _merge(a.key_type, b.key_type, f"key of map {name}")
        return t.MapType(key, _merge(a.value_type, b.value_type, f"value of map {name}"))
    return a


def _has_null_type(data_type: t.DataType) -> bool:
    if isinstance(data_type, t.RowType):
        return any(_has_null_type(field.data_type) for field in data_type.fields)
    if isinstance(data_type, t.ArrayType):
        return _has_null_type(data_type.element_type)
    if isinstance(data_type, t.MapType):
        return _has_null_type(data_type.key_type) or _has_null_type(data_type.value_type)
    return isinstance(data_type, t.NullType)
