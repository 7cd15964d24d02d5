"""Values that `from_collection` accepts beyond values of the declared type, as PyFlink does.

PyFlink's `to_internal_type` and Flink's `PythonTypeUtils.getCollectionInputFormat` convert objects with attributes to
rows and maps, and any object to text. Java narrows the numbers of a collection to `BYTE`, `SHORT` and `INT`, while a
result of a function that is out of range fails the job. Values that they silently convert to null, such as text for
`INT`, are rejected here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.common.values.coercion import coercer
from firesteel.common.values.java_text import to_java_string
from firesteel.common.values.scalar_coercion import Coercer
from firesteel.common.values.whole_numbers import MAX_LONG, MIN_LONG, WHOLE_BITS


def collection_coercer(type_info: TypeInformation[object] | None) -> Coercer | None:
    """Return the function that converts an element of a collection to `type_info`, or None if all elements pass.

    The function raises `TypeMismatchError` if an element cannot be converted.

    Example:
        >>> collection_coercer(Types.TUPLE([Types.STRING(), Types.INT()]))((1.5, 2))
        ('1.5', 2)
    """
    coerce = coercer(type_info)
    if coerce is None or type_info is None:
        return None
    accept = _accepter(type_info)
    return lambda value: coerce(accept(value))


def _accepter(type_info: TypeInformation[Any]) -> Callable[[Any], Any]:
    """Return the function that converts what only `from_collection` accepts to what the type's coercer accepts."""
    if isinstance(type_info, BasicTypeInfo):
        if type_info.basic_type in _NARROWED:
            return _narrowing(WHOLE_BITS[type_info.basic_type])
        return _java_text if type_info.basic_type is BasicType.STRING else unchanged
    return next((build(type_info) for kind, build in _BUILDERS if isinstance(type_info, kind)), unchanged)


_NARROWED = (BasicType.BYTE, BasicType.SHORT, BasicType.INT)


def _narrowing(bits: int) -> Callable[[object], object]:
    """Return the conversion of a Java `long` to fewer bits."""
    half, full = 1 << (bits - 1), 1 << bits

    def narrow(value: object) -> object:
        if isinstance(value, int) and MIN_LONG <= value <= MAX_LONG:
            return (value + half) % full - half
        return value

    return narrow


def _java_text(value: object) -> Any:
    """Return Java's text of a number, boolean, list or map, and other values unchanged."""
    if isinstance(value, bool):
        return to_java_string(value, Types.BOOLEAN())
    if isinstance(value, float):
        return to_java_string(value, Types.DOUBLE())
    if isinstance(value, (int, Decimal)):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inner_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_inner_text(key)}={_inner_text(item)}' for key, item in value.items())}}}"
    return value


def _inner_text(value: object) -> str:
    return "null" if value is None else str(_java_text(value))


def _has_attributes(value: object) -> bool:
    """Return whether PyFlink reads the fields of a value from its `__dict__`."""
    return hasattr(value, "__dict__") and not isinstance(value, (Row, dict, tuple, list, type, Instant))


def _row_accepter(type_info: Any) -> Callable[[Any], Any]:
    accepters = [_accepter(field) for field in type_info.get_field_types()]
    names = type_info.get_field_names()

    def accept(value: object) -> Any:
        if _has_attributes(value):
            value = vars(value)
        if isinstance(value, dict):
            return [accept_field(value.get(name)) for name, accept_field in zip(names, accepters, strict=True)]
        if type_info.named and isinstance(value, Row) and len(value) == len(names):
            value = Row.of_kind(value.get_row_kind(), *value.get_fields_by_names(names))
        return _fields(value, accepters)

    return accept


def _tuple_accepter(type_info: Any) -> Callable[[Any], Any]:
    accepters = [_accepter(field) for field in type_info.get_field_types()]
    return lambda value: _fields(value, accepters)


def _fields(value: object, accepters: list[Callable[[object], object]]) -> object:
    """Convert the fields of a row or tuple; return it unchanged if the number of fields differs."""
    if not isinstance(value, (Row, tuple, list)) or len(value) != len(accepters):
        return value
    fields = [accept(field) for accept, field in zip(accepters, value, strict=True)]
    return Row.of_kind(value.get_row_kind(), *fields) if isinstance(value, Row) else fields


def _elements_accepter(type_info: Any) -> Callable[[Any], Any]:
    accept = _accepter(type_info.element_type)
    return lambda value: [accept(item) for item in value] if isinstance(value, (list, tuple)) else value


def _map_accepter(type_info: Any) -> Callable[[Any], Any]:
    accept_key, accept_item = _accepter(type_info.key_type), _accepter(type_info.value_type)

    def accept(value: object) -> Any:
        if _has_attributes(value):
            value = vars(value)
        return {accept_key(k): accept_item(v) for k, v in value.items()} if isinstance(value, dict) else value

    return accept


_BUILDERS: tuple[tuple[type, Callable[[Any], Callable[[Any], Any]]], ...] = (
    (RowTypeInfo, _row_accepter),
    (TupleTypeInfo, _tuple_accepter),
    (ElementTypeInfo, _elements_accepter),
    (MapTypeInfo, _map_accepter),
    (ExternalTypeInfo, lambda type_info: _accepter(type_info.type_info)),
)
