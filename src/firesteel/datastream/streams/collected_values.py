"""Conversion of collected values to what PyFlink returns from `execute_and_collect`.

Flink: `pyflink.datastream.utils.convert_to_python_obj`. A FLOAT becomes the shortest number that rounds to it (1.1
instead of 1.100000023841858), an SQL_TIME loses its fraction of a second, and an array of bytes becomes a list of
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ElementTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.common.values.java_text import to_java_string

Conversion = Callable[[Any], Any]

_FLOAT = Types.FLOAT()


def collected(type_info: TypeInformation[Any] | None) -> Conversion | None:
    """Return the function that converts a value of a type for `execute_and_collect`, or None for no conversion.

    Example:
        >>> collected(Types.TUPLE([Types.FLOAT(), Types.STRING()]))((1.100000023841858, "a"))
        (1.1, 'a')
    """
    convert = _conversion(type_info)
    return None if convert is None else lambda value: None if value is None else convert(value)


def _conversion(type_info: object) -> Conversion | None:
    """Return the conversion of `collected` for values that are not None."""
    if isinstance(type_info, BasicTypeInfo):
        return _shortest if type_info.basic_type is BasicType.FLOAT else None
    if isinstance(type_info, TimeTypeInfo):
        return lambda time: time.replace(microsecond=0)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE():
        return lambda array: [byte - 256 if byte > 127 else byte for byte in array]
    if isinstance(type_info, ElementTypeInfo):
        element = collected(type_info.element_type)
        return None if element is None else lambda array: list(map(element, array))
    if isinstance(type_info, MapTypeInfo):
        return _map_of(type_info)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return _fields_of(type_info)
    return None


def _shortest(value: float) -> float:
    return float(to_java_string(value, _FLOAT))


def _map_of(type_info: Any) -> Conversion | None:
    key, value = collected(type_info.key_type), collected(type_info.value_type)
    if key is None and value is None:
        return None
    of_key, of_value = key or unchanged, value or unchanged
    return lambda entries: {of_key(k): of_value(v) for k, v in entries.items()}


def _fields_of(type_info: Any) -> Conversion | None:
    fields = [collected(field) for field in type_info.get_field_types()]
    if not any(fields):
        return None
    conversions = [field or unchanged for field in fields]

    def convert(values: Any) -> Any:
        converted = [of_field(value) for of_field, value in zip(conversions, values, strict=True)]
        if not isinstance(values, Row):
            return tuple(converted)
        row = Row.of_kind(values.get_row_kind(), *converted)
        row.set_field_names(type_info.get_field_names())
        return row

    return convert
