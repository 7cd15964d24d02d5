"""CSV. Flink: `flink-csv`, over Jackson's CSV parser and generator."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.common.values.jackson_csv import jackson_quoter
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.formats.text_values import reader_of, writer_of
from firesteel.connectors.table_options import Options

_OPTIONS = (
    "allow-comments",
    "array-element-delimiter",
    "disable-quote-character",
    "escape-character",
    "field-delimiter",
    "ignore-parse-errors",
    "null-literal",
    "quote-character",
    "write-bigdecimal-in-scientific-notation",
)
_FAST = (t.CharType, t.VarCharType, t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.DecimalType)
_LARGEST_FIELD = 1 << 30


def make(columns: Columns, options: Options) -> CsvFormat:
    """Return the format."""
    options.check((), _OPTIONS)
    return CsvFormat(columns, options)


class CsvFormat(Format):
    """Lines of fields."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self._delimiter = options.character("field-delimiter", ",") or ","
        quote = None if options.flag("disable-quote-character") else options.character("quote-character", '"')
        self._quote = quote
        self.quote = None if quote is None else quote.encode()
        self._escape = options.character("escape-character", None)
        self._null = options.values.get("null-literal")
        self._elements = options.text("array-element-delimiter", ";")
        self._comments = options.flag("allow-comments")
        self._ignores = options.flag("ignore-parse-errors")
        self._plain = not options.flag("write-bigdecimal-in-scientific-notation", True)

    # --- reading -----------------------------------------------------------------------------------------------------

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the rows of whole lines."""
        return self._decode_columns(data) or self._decode_records(data)

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the rows of messages of one line each."""
        return self._decode_records(b"\n".join(message.rstrip(b"\r\n") for message in messages if message))

    def _decode_columns(self, data: bytes) -> ColumnBatch | None:
        """Return the rows by Arrow's parser; None where its meaning may differ."""
        if self._comments or self._escape or len(self._delimiter.encode()) > 1 or b"\n\n" in data:
            return None
        if not all(isinstance(kind, _FAST) for kind in self.columns.types):
            return None
        names = [str(index) for index in range(len(self.columns.names))]
        types = dict(zip(names, map(arrow_type, self.columns.types), strict=True))
        try:
            table = pa.csv.read_csv(
                pa.py_buffer(data),
                pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
                pa.csv.ParseOptions(
                    delimiter=self._delimiter, quote_char=self._quote or False, newlines_in_values=True
                ),
                pa.csv.ConvertOptions(
                    column_types=types,
                    null_values=[] if self._null is None else [self._null],
                    strings_can_be_null=self._null is not None,
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        return ColumnBatch(tuple(_one(table.column(name)) for name in names), table.num_rows)

    def _decode_records(self, data: bytes) -> ColumnBatch:
        rows = list(self._records(data.decode("utf-8", "replace")))
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns.types)
        pairs = zip(columns, self.columns.types, strict=True)
        return ColumnBatch(tuple(to_arrow(list(column), kind) for column, kind in pairs), len(rows))

    def _records(self, text: str) -> Iterator[list[Any]]:
        converters = [self._converter(kind) for kind in self.columns.types]
        count = len(converters)
        for fields in self._fields(text):
            if len(fields) > count:
                if self._ignores:
                    continue
                raise ValueError(f"Failed to deserialize CSV row {fields}: Too many entries: expected at most {count}")
            if len(fields) < count and not self._ignores:
                raise ValueError(
                    f"Failed to deserialize CSV row {fields}: Row length mismatch. {count} fields expected but was "
                    f"{len(fields)}."
                )
            padded = [*fields, *[None] * (count - len(fields))]
            yield [
                self._value(convert, field, name)
                for convert, field, name in zip(converters, padded, self.columns.names, strict=True)
            ]

    def _value(self, convert: Callable[[str], Any], field: str | None, name: str) -> object:
        if field is None:
            return None
        try:
            return convert(field)
        except ValueError as error:
            if self._ignores:
                return None
            raise ValueError(f"Failed to deserialize CSV field '{name}': {error}") from error

    def _fields(self, text: str) -> Iterator[list[str]]:
        csv.field_size_limit(_LARGEST_FIELD)
        lines = io.StringIO(text, newline="")
        wanted = (line for line in lines if not (self._comments and line.startswith("#")))
        reader = csv.reader(wanted, strict=not self._ignores, **self._dialect())
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if self._ignores:
                    continue
                raise ValueError(f"Failed to deserialize CSV row: {error}") from error
            if fields:
                yield fields

    def _dialect(self) -> dict[str, Any]:
        return {
            "delimiter": self._delimiter,
            "quotechar": self._quote,
            "quoting": csv.QUOTE_MINIMAL if self._quote else csv.QUOTE_NONE,
            "escapechar": self._escape,
        }

    def _converter(self, kind: t.DataType) -> Callable[[str], Any]:
        null = self._null
        convert = self._nested_converter(kind) if isinstance(kind, (t.ArrayType, t.RowType)) else _reader_of(kind)
        return convert if null is None else lambda text: None if text == null else convert(text)

    def _nested_converter(self, kind: t.ArrayType | t.RowType) -> Callable[[str], Any]:
        if isinstance(kind, t.ArrayType):
            element = self._converter(kind.element_type)
            return lambda text: [element(part) for part in text.split(self._elements)] if text else []
        fields = [self._converter(field) for field in kind.field_types()]

        def convert(text: str) -> tuple[Any, ...]:
            parts = text.split(self._elements)
            if len(parts) != len(fields):
                raise ValueError(f"{len(fields)} fields expected but was {len(parts)}")
            return tuple(read(part) for read, part in zip(fields, parts, strict=True))

        return convert

    # --- writing -----------------------------------------------------------------------------------------------------

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return a line per row."""
        columns = [
            self._texts(array.to_pylist(), kind) for array, kind in zip(batch.columns, self.columns.types, strict=True)
        ]
        delimiter = self._delimiter
        return [delimiter.join(fields).encode() for fields in zip(*columns, strict=True)]

    def _texts(self, values: list[Any], kind: t.DataType) -> list[str]:
        write, null = self._writer(kind), self._null or ""
        if isinstance(kind, (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.DecimalType, t.FloatType,
                             t.DoubleType, t.BooleanType)):  # fmt: skip
            return [null if value is None else write(value) for value in values]
        quoted = jackson_quoter(self._delimiter, self._quote, self._escape)
        return [null if value is None else quoted(write(value)) for value in values]

    def _writer(self, kind: t.DataType) -> Callable[[Any], str]:
        null = self._null or ""
        if isinstance(kind, t.ArrayType):
            element = self._writer(kind.element_type)
            return lambda value: self._elements.join(null if item is None else element(item) for item in value)
        if isinstance(kind, t.RowType):
            fields = [self._writer(field) for field in kind.field_types()]
            return lambda value: self._elements.join(
                null if item is None else field(item) for field, item in zip(fields, value.values(), strict=True)
            )
        return writer_of(kind, is_plain=self._plain)


def _reader_of(kind: t.DataType) -> Callable[[str], Any]:
    """Return the function that parses a field; blanks around times are ignored, as around numbers."""
    read = reader_of(kind)
    if isinstance(kind, (t.TimeType, t.TimestampType, t.LocalZonedTimestampType)):
        return lambda text: read(text.strip())
    return read


def _one(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
