"""Messages of Protocol Buffers. Flink: `PbFormatFactory`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from firesteel.columns.cells import Cell
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.protobuf.fields import FieldReader, FieldWriter, reader_of, writer_of
from firesteel.connectors.formats.row_format import RowFormat
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

_CLASS, _IGNORE, _DEFAULTS, _NULL = (
    "message-class-name",
    "ignore-parse-errors",
    "read-default-values",
    "write-null-string-literal",
)


def make(columns: Columns, options: Options) -> ProtobufFormat:
    """Return the format.

    Raises:
        ValidationException: the class cannot be found, or a column does not fit its fields.
    """
    options.check((_CLASS,), (_IGNORE, _DEFAULTS, _NULL))
    return ProtobufFormat(columns, options)


class ProtobufFormat(RowFormat):
    """A message per row, whose fields have the names of the columns."""

    is_text = False

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self._name = options.text(_CLASS)
        self._ignores_errors = options.flag(_IGNORE)
        self._reads_defaults = options.flag(_DEFAULTS)
        self._null_text = options.text(_NULL)
        self._class = _message_class(options)
        self._make_fields()

    @property
    def descriptor(self) -> Descriptor:
        """The description of the message."""
        return self._class.DESCRIPTOR

    def _make_fields(self) -> None:
        known = self._class.DESCRIPTOR.fields_by_name
        self._readers: list[FieldReader] = []
        self._writers: list[FieldWriter] = []
        for name, kind in zip(self.columns.names, self.columns.types, strict=True):
            if name not in known:
                raise ValidationException(
                    f"Column '{name}' is no field of the message {self._name}, which has {', '.join(known)}"
                )
            self._readers.append(reader_of(known[name], kind, self._reads_defaults))
            self._writers.append(writer_of(known[name], kind, self._null_text))

    def __getstate__(self) -> dict[str, object]:
        """Return the state without what refers to the class, which is imported anew."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_class", "_readers", "_writers")}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore a state."""
        self.__dict__.update(state)
        self._class = _message_class(Options({_CLASS: self._name}, "protobuf"))
        self._make_fields()

    def read_row(self, record: bytes) -> Sequence[Cell] | None:
        """Return the values of the columns.

        Raises:
            ValueError: the record is no such message.
        """
        from google.protobuf.message import DecodeError

        message = self._class()
        try:
            message.ParseFromString(record)
        except DecodeError as error:
            if self._ignores_errors:
                return None
            raise ValueError(f"Failed to deserialize a message {self._name}: {error}") from error
        return [read(message) for read in self._readers]

    def write_row(self, row: Sequence[Cell]) -> bytes:
        """Return the message of a row.

        Raises:
            ValueError: a value does not fit its field.
        """
        message = self._class()
        try:
            for write, value in zip(self._writers, row, strict=True):
                if value is not None:
                    write(message, value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Failed to serialize a row {tuple(row)!r} as {self._name}: {error}") from error
        data: bytes = message.SerializeToString()
        return data


def _message_class(options: Options) -> type[Message]:
    """Return the class that `protoc` has generated for Python.

    Raises:
        ValidationException: there is no such class.
    """
    module, _, name = options.text(_CLASS).replace(":", ".").rpartition(".")
    wanted = "the Python class that protoc generates, as module.Class"
    try:
        from google.protobuf.message import Message

        found: object = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationException(f"{options.invalid(_CLASS, wanted)} ({error})") from error
    if not (isinstance(found, type) and issubclass(found, Message)):
        raise options.invalid(_CLASS, wanted)
    return found
