"""CSV. Flink: `flink-csv`, over Jackson's CSV parser and generator."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.values import arrow_type
from firesteel.connectors.formats.csv.codec import CsvCodec, Write
from firesteel.connectors.formats.csv.column_parts import column_part, is_bare
from firesteel.connectors.formats.csv.column_texts import quoted_texts
from firesteel.connectors.formats.csv.dialect import CsvDialect
from firesteel.connectors.formats.row_format import batch_of_rows
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.formats.text_columns import is_parsed, one_array, parsed, texts_of
from firesteel.connectors.formats.text_values import Style
from firesteel.connectors.table_options import Options

_OPTIONS = (
    "allow-comments",
    "array-element-delimiter",
    "disable-quote-character",
    "escape-character",
    "field-delimiter",
    "ignore-additional-fields",
    "ignore-first-line",
    "ignore-parse-errors",
    "null-literal",
    "quote-character",
    "write-bigdecimal-in-scientific-notation",
)
_BROKEN_LINE = re.compile(rb"\r|\xef\xbb\xbf")
"""What makes of messages that are one line each other lines than theirs: carriage returns, and byte order marks."""

_FAST = (t.CharType, t.VarCharType, t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.DecimalType)


def make(columns: Columns, options: Options) -> CsvFormat:
    """Return the format."""
    options.check((), _OPTIONS)
    return CsvFormat(columns, options)


class CsvFormat(Format):
    """Lines of fields."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self._dialect = _dialect(options)
        self.skips_first_line = options.flag("ignore-first-line")
        quote = self._dialect.quote_character
        self.quote = None if quote is None else quote.encode()
        _ = self.codec  # which refuses types that CSV has not

    @property
    def codec(self) -> CsvCodec:
        """The conversion of values."""
        parts = [column_part(kind, self._dialect.plain_decimals) for kind in self.columns.types]
        return CsvCodec(self._dialect, self.columns.names, parts)

    # --- reading -----------------------------------------------------------------------------------------------------

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the rows of whole lines."""
        return self.decode_columns(data) or self._decode_records(data)

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the row of the first line of each message."""
        found = [message for message in messages if message is not None]
        joined = b"\n".join(found)
        if joined.count(b"\n") == len(found) - 1 and not _BROKEN_LINE.search(joined):
            batch = self.decode_columns(joined)
            if batch is not None and batch.length == len(found):
                return batch
        try:
            records = self._dialect.first_records([message.decode("utf-8-sig") for message in found])
        except ValueError:  # to find it, or to leave it out
            return self._batch(self._fields_of_messages(found))
        return self._batch(fields for fields in records if fields is not None)

    def decode_columns(self, data: bytes) -> ColumnBatch | None:
        """Return the rows by Arrow's parser; None where its meaning may differ."""
        if not self._is_columnar or _may_differ(data, self._dialect):
            return None
        names = [str(index) for index in range(len(self.columns.names))]
        read_as = [pa.string() if is_parsed(kind) else arrow_type(kind) for kind in self.columns.types]
        types = dict(zip(names, read_as, strict=True))
        null = self._dialect.null_literal
        try:
            table = pa.csv.read_csv(
                pa.py_buffer(data),
                pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
                pa.csv.ParseOptions(
                    delimiter=self._dialect.field_delimiter,
                    quote_char=self._dialect.quote_character or False,
                    newlines_in_values=True,
                ),
                pa.csv.ConvertOptions(
                    column_types=types,
                    null_values=[] if null is None else [null],
                    strings_can_be_null=null is not None,
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        arrays = [one_array(table.column(name)) for name in names]
        pairs = zip(arrays, self.columns.types, strict=True)
        values = [parsed(array, kind, Style.CSV) if is_parsed(kind) else array for array, kind in pairs]
        return None if any(array is None for array in values) else ColumnBatch(tuple(values), table.num_rows)

    @property
    def _is_columnar(self) -> bool:
        dialect = self._dialect
        characters = dialect.field_delimiter + (dialect.quote_character or "")
        return (
            not (dialect.allow_comments or dialect.escape_character)
            and characters.isascii()
            and all(isinstance(kind, _FAST) or is_parsed(kind) for kind in self.columns.types)
        )

    def _decode_records(self, data: bytes) -> ColumnBatch:
        errors = "replace" if self._dialect.ignore_parse_errors else "strict"
        return self._batch(self._dialect.records(io.StringIO(data.decode("utf-8-sig", errors), newline="")))

    def _fields_of_messages(self, messages: Iterable[bytes]) -> Iterator[list[str]]:
        for message in messages:
            try:
                fields = self._dialect.first_record(message.decode("utf-8-sig"))
            except ValueError as error:
                if self._dialect.ignore_parse_errors:
                    continue
                raise _problem(message[:200].decode(errors="backslashreplace"), error) from error
            if fields is not None:
                yield fields

    def _batch(self, records: Iterator[list[str]]) -> ColumnBatch:
        return batch_of_rows(list(self._rows(records)), self.columns)

    def _rows(self, records: Iterator[list[str]]) -> Iterator[list[Any]]:
        values, ignores = self.codec.values, self._dialect.ignore_parse_errors
        while True:
            fields: object = ""
            try:
                fields = next(records)
                row = values(fields)
            except StopIteration:
                return
            except ValueError as error:
                if ignores:
                    continue
                raise _problem(fields, error) from error
            yield row

    # --- writing -----------------------------------------------------------------------------------------------------

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return a line per row."""
        if not batch.columns:
            return [b""] * batch.length
        fields = map(self._fields, batch.columns, self.columns.types, self.codec.writers)
        lines = pc.binary_join_element_wise(*fields, self._dialect.field_delimiter)
        found: list[bytes] = pylist(lines.cast(pa.binary()))
        return found

    def _fields(self, values: pa.Array, kind: t.DataType, write: Write) -> pa.Array:
        """Return the texts of a column as they stand in lines."""
        if isinstance(kind, (t.ArrayType, t.RowType)):
            return pa.array(list(map(write, pylist(values))), pa.string())
        texts = texts_of(values, kind, Style.CSV, self._dialect.plain_decimals)
        texts = texts if is_bare(kind) else quoted_texts(texts, self._dialect)
        return pc.fill_null(texts, self._dialect.null_literal or "")


def _dialect(options: Options) -> CsvDialect:
    elements = options.text("array-element-delimiter", ";")
    if not elements:
        raise options.invalid("array-element-delimiter", "a text that is not empty")
    return CsvDialect(
        field_delimiter=options.character("field-delimiter", ",") or ",",
        array_element_delimiter=elements,
        quote_character=None if options.flag("disable-quote-character") else options.character("quote-character", '"'),
        escape_character=options.character("escape-character", None),
        null_literal=options.values.get("null-literal"),
        allow_comments=options.flag("allow-comments"),
        ignore_additional_fields=options.flag("ignore-additional-fields"),
        ignore_parse_errors=options.flag("ignore-parse-errors"),
        plain_decimals=not options.flag("write-bigdecimal-in-scientific-notation", True),
    )


def _problem(found: object, error: ValueError) -> ValueError:
    return ValueError(f"Failed to deserialize CSV row {found!r}: {error}")


def _may_differ(data: bytes, dialect: CsvDialect) -> bool:
    """Return whether Arrow's parser may read what Jackson's and Java's refuse, or read it otherwise."""
    if _has_blank_lines(data):  # Arrow skips them
        return True
    # Arrow reads hexadecimal integers. To look for one byte first is many times faster.
    if (b"x" in data and b"0x" in data) or (b"X" in data and b"0X" in data):
        return True
    quote = dialect.quote_character
    return quote is not None and quote.encode() in data and _has_open_ends(data, dialect.field_delimiter, quote)


def _has_blank_lines(data: bytes) -> bool:
    return data[:1] in (b"\r", b"\n") or b"\n\n" in data or (b"\r" in data and (b"\n\r" in data or b"\r\r" in data))


def _has_open_ends(data: bytes, delimiter: str, quote: str) -> bool:
    """Return whether a quote is within a text without quotes, or something follows a closing quote, or none closes.

    Within quotes a quote is doubled. So runs of an odd number of quotes open and close a field in turn, and one of an
    even number is either within quotes or a whole field.
    """
    characters = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    is_quote = characters == ord(quote)
    changes = np.flatnonzero(is_quote[1:] != is_quote[:-1])
    before, last = changes[::2], changes[1::2]
    is_end = np.zeros(256, bool)
    is_end[[ord(delimiter), 10, 13]] = True
    begins, ends = is_end[characters[before]], is_end[characters[last + 1]]
    is_odd = ((last - before) & 1).astype(bool)
    is_open = (np.cumsum(is_odd, dtype=np.uint8) & 1).astype(bool)  # after each run; a sum that wraps stays odd or even
    is_within = is_open ^ is_odd
    is_fine = np.where(is_within, ends | is_open, begins & (ends | is_open))
    return bool(is_open[-1]) or not is_fine.all()
