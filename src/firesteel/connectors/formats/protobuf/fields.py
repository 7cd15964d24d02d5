"""Fields of messages as values of columns, and back. Flink: `PbCodegenDeserializer`, `PbCodegenSerializer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.common.unchanged import unchanged

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.message import Message

FieldReader = Callable[["Message"], Cell]
FieldWriter = Callable[["Message", Cell], None]
Convert = Callable[[Cell], Cell]

_TEXTS = (t.CharType, t.VarCharType)
_BYTES = (t.BinaryType, t.VarBinaryType)
_INT32, _INT64, _UINT32, _UINT64, _DOUBLE, _FLOAT, _BOOL, _ENUM, _STRING, _MESSAGE = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""The numbers of `FieldDescriptor.CPPTYPE_*`."""

_TYPE_BYTES = 12
"""The number of `FieldDescriptor.TYPE_BYTES`."""

_SCALARS: dict[int, tuple[type[t.DataType], ...]] = {
    _INT32: (t.IntType,),
    _UINT32: (t.IntType, t.BigIntType),
    _INT64: (t.BigIntType,),
    _UINT64: (t.BigIntType,),
    _DOUBLE: (t.DoubleType,),
    _FLOAT: (t.FloatType,),
    _BOOL: (t.BooleanType,),
    _ENUM: (*_TEXTS, t.IntType, t.BigIntType),
    _STRING: (*_TEXTS, *_BYTES),
}
"""The types of columns by the type of a field."""


def reader_of(field: FieldDescriptor, kind: t.DataType, reads_defaults: bool) -> FieldReader:
    """Return what reads a field of a message; NULL if the message does not have it.

    Args:
        field: The field.
        kind: The type of the column.
        reads_defaults: Whether a field that a message lacks has its default value.

    Raises:
        ValidationException: the type does not fit the field.
    """
    name = field.name
    if is_map(field):
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        _check(isinstance(kind, t.MapType), field, kind)
        assert isinstance(kind, t.MapType)
        of_key, of_value = (
            _read_one(key, kind.key_type, reads_defaults),
            _read_one(value, kind.value_type, reads_defaults),
        )
        return lambda message: {of_key(k): of_value(v) for k, v in getattr(message, name).items()}
    if field.is_repeated:
        _check(isinstance(kind, t.ArrayType), field, kind)
        assert isinstance(kind, t.ArrayType)
        element = _read_one(field, kind.element_type, reads_defaults)
        return lambda message: [element(one) for one in getattr(message, name)]
    one = _read_one(field, kind, reads_defaults)
    if reads_defaults or not field.has_presence:
        return lambda message: one(getattr(message, name))
    return lambda message: one(getattr(message, name)) if message.HasField(name) else None


def _read_one(field: FieldDescriptor, kind: t.DataType, reads_defaults: bool) -> Convert:
    if field.cpp_type == _MESSAGE:
        _check(isinstance(kind, t.RowType), field, kind)
        assert isinstance(kind, t.RowType)
        readers = [reader_of(_inner(field, one.name), one.data_type, reads_defaults) for one in kind.fields]
        return lambda message: tuple(read(message) for read in readers)
    _check(isinstance(kind, _SCALARS[field.cpp_type]), field, kind)
    if field.cpp_type == _ENUM and isinstance(kind, _TEXTS):
        names = field.enum_type.values_by_number
        return lambda number: names[number].name if number in names else str(number)
    if field.cpp_type in (_UINT32, _UINT64):
        bits = 32 if isinstance(kind, t.IntType) else 64
        return lambda number: number - (1 << bits) if number >> bits - 1 else number
    return unchanged


def writer_of(field: FieldDescriptor, kind: t.DataType, null_text: str) -> FieldWriter:
    """Return what writes a value into a field of a message.

    Args:
        field: The field.
        kind: The type of the column.
        null_text: The text for NULL in arrays and maps.
    """
    name = field.name
    if is_map(field):
        assert isinstance(kind, t.MapType)
        value = field.message_type.fields_by_name["value"]
        return lambda message, pairs: _put(getattr(message, name), pairs, value, kind.value_type, null_text)
    if field.is_repeated:
        assert isinstance(kind, t.ArrayType)
        return lambda message, values: _append(getattr(message, name), values, field, kind.element_type, null_text)
    if field.cpp_type == _MESSAGE:
        fill = _filler(field, kind, null_text)
        return lambda message, value: fill(getattr(message, name), value)
    convert = _write_one(field, kind)
    return lambda message, value: setattr(message, name, convert(value))


def _filler(field: FieldDescriptor, kind: t.DataType, null_text: str) -> FieldWriter:
    """Return what fills a message that is a field."""
    assert isinstance(kind, t.RowType)
    writers = [writer_of(_inner(field, one.name), one.data_type, null_text) for one in kind.fields]

    def fill(message: Message, row: Cell) -> None:
        message.SetInParent()
        for write, value in zip(writers, row, strict=True):
            if value is not None:
                write(message, value)

    return fill


def _append(target: Cell, values: Cell, field: FieldDescriptor, kind: t.DataType, null_text: str) -> None:
    if field.cpp_type == _MESSAGE:
        fill = _filler(field, kind, null_text)
        for value in values:
            fill(target.add(), value or ())
        return
    convert = _write_one(field, kind)
    target.extend(_default(field, null_text) if value is None else convert(value) for value in values)


def _put(target: Cell, pairs: Cell, field: FieldDescriptor, kind: t.DataType, null_text: str) -> None:
    for key, value in pairs.items():
        if field.cpp_type == _MESSAGE:
            _filler(field, kind, null_text)(target[key], value)
        else:
            target[key] = _default(field, null_text) if value is None else _write_one(field, kind)(value)


def _default(field: FieldDescriptor, null_text: str) -> Cell:
    """Return what stands for NULL in an array or a map, which have no place for it."""
    if field.cpp_type == _STRING:
        return b"" if field.type == _TYPE_BYTES else null_text
    return False if field.cpp_type == _BOOL else 0


def _write_one(field: FieldDescriptor, kind: t.DataType) -> Convert:
    if field.cpp_type == _ENUM and isinstance(kind, _TEXTS):
        names = field.enum_type.values_by_name
        return lambda name: names[name].number if name in names else _unknown(name, list(names))
    if field.cpp_type in (_UINT32, _UINT64):
        bits = 32 if field.cpp_type == _UINT32 else 64
        return lambda number: number + (1 << bits) if number < 0 else number
    return unchanged


def _unknown(name: str, names: list[str]) -> int:
    raise ValueError(f"the enum has no {name!r}, only {', '.join(names)}")


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map."""
    return bool(field.cpp_type == _MESSAGE and field.message_type.GetOptions().map_entry)


def _inner(field: FieldDescriptor, name: str) -> FieldDescriptor:
    found = field.message_type.fields_by_name
    if name not in found:
        raise ValidationException(
            f"'{name}' is no field of the message {field.message_type.name}, which has {', '.join(found)}"
        )
    return found[name]


def _check(fits: bool, field: FieldDescriptor, kind: t.DataType) -> None:
    if not fits:
        about = "map" if is_map(field) else "repeated field" if field.is_repeated else "field"
        raise ValidationException(
            f"The {about} '{field.name}' of the message {field.containing_type.name} does not fit {type_text(kind)}"
        )
