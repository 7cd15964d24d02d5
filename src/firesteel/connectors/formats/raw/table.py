"""Raw bytes: one column per line or message. Flink: `RawFormatFactory`."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_options import Options

_CODES: dict[type[t.DataType], str] = {
    t.BooleanType: "?",
    t.TinyIntType: "b",
    t.SmallIntType: "h",
    t.IntType: "i",
    t.BigIntType: "q",
    t.FloatType: "f",
    t.DoubleType: "d",
}
_STRINGS = (t.CharType, t.VarCharType)
_BYTES = (t.BinaryType, t.VarBinaryType)


def make(columns: Columns, options: Options) -> RawFormat:
    """Return the format.

    Raises:
        ValidationException: the table has another number of columns than one, or the type can't be raw.
    """
    options.check((), ("charset", "endianness"))
    return RawFormat(columns, options)


class RawFormat(Format):
    """One column that holds a line or message as it is."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        if len(columns.types) > 1:
            fields = ", ".join(f"`{name}`" for name in columns.names)
            raise ValidationException(
                f"The 'raw' format only supports single physical column. However the defined schema contains multiple "
                f"physical columns: [{fields}]"
            )
        kind = columns.types[0] if columns.types else None
        if kind is not None and type(kind) not in _CODES and not isinstance(kind, (*_STRINGS, *_BYTES)):
            raise ValidationException(f"The 'raw' format doesn't supports '{kind.type_name()}' as column type.")
        self._charset = options.text("charset", "UTF-8")
        self._order = (
            "<" if options.choice("endianness", ("big-endian", "little-endian"), "big-endian")[0] == "l" else ">"
        )

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return a row per line."""
        lines = data.replace(b"\r\n", b"\n").split(b"\n")
        if not lines[-1]:
            lines.pop()
        return self.decode_messages(list(lines))

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return a row per message."""
        if not self.columns.types:
            return ColumnBatch((), len(messages))
        kind = self.columns.types[0]
        column = self._column(messages, kind)
        if column is None:
            read = self._reader(kind)
            column = to_arrow([None if message is None else read(message) for message in messages], kind)
        return ColumnBatch((column,), len(messages))

    def _column(self, messages: list[bytes | None], kind: t.DataType) -> pa.Array | None:
        """Return the values of messages all at once; None where they are read one by one."""
        if isinstance(kind, _BYTES):
            return pa.array(messages, arrow_type(kind))
        if isinstance(kind, _STRINGS):
            try:
                return pa.array(messages, pa.binary()).cast(pa.string()) if self._is_utf8 else None
            except pa.ArrowInvalid:  # Java replaces malformed bytes
                return None
        size = struct.calcsize(self._order + _CODES[type(kind)])
        if kind.__class__ is t.BooleanType or any(message is None or len(message) != size for message in messages):
            return None
        numbers = np.frombuffer(b"".join(filter(None, messages)), np.dtype(self._order + _CODES[type(kind)]))
        return pa.array(numbers.astype(numbers.dtype.newbyteorder("=")), arrow_type(kind))

    @property
    def _is_utf8(self) -> bool:
        return codecs.lookup(self._charset).name == "utf-8"

    def _reader(self, kind: t.DataType) -> Callable[[bytes], object]:
        if isinstance(kind, _STRINGS):
            return lambda message: message.decode(self._charset, "replace")
        if isinstance(kind, _BYTES):
            return bytes
        number = struct.Struct(self._order + _CODES[type(kind)])

        def read(message: bytes) -> object:
            if len(message) != number.size:
                raise ValueError(
                    f"Size of data received for deserializing {kind.type_name()} type is not {number.size}, but "
                    f"{len(message)}."
                )
            return number.unpack(message)[0]

        return read

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return the bytes of each row."""
        found = self.encode_messages(batch)
        if None in found:
            raise ValueError(f"The 'raw' format has no bytes for NULL in column '{self.columns.names[0]}'")
        return [one for one in found if one is not None]

    def encode_messages(self, batch: ColumnBatch) -> list[bytes | None]:
        """Return the bytes of each row, no content for NULL."""
        kind, column = self.columns.types[0], batch.columns[0]
        values = pylist(column.cast(pa.binary()) if isinstance(kind, _STRINGS) and self._is_utf8 else column)
        if isinstance(kind, _STRINGS) and not self._is_utf8:
            return [None if value is None else value.encode(self._charset) for value in values]
        if isinstance(kind, (*_BYTES, *_STRINGS)):
            return values
        pack = struct.Struct(self._order + _CODES[type(kind)]).pack
        return [None if value is None else pack(value) for value in values]
