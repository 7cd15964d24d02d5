"""JSON, a record per line or message. Flink: `flink-json`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.values import arrow_type
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.json.codec import JsonCodec, JsonRules, Part, object_of, parse, quoted
from firesteel.connectors.formats.json.column_parts import column_part
from firesteel.connectors.formats.json.scalars import Number
from firesteel.connectors.formats.row_format import batch_of_rows
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.formats.text_columns import one_array, parsed, texts_of
from firesteel.connectors.formats.text_values import Style
from firesteel.connectors.table_options import Options

_OPTIONS = (
    "decode.json-parser.enabled",
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
    "fail-on-missing-field",
    "ignore-parse-errors",
    "map-null-key.literal",
    "map-null-key.mode",
    "timestamp-format.standard",
)
_DIRECT = (
    t.CharType,
    t.VarCharType,
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.FloatType,
    t.DoubleType,
)
_AS_TEXT = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
"""Types that are read as texts."""

_MOST_DIGITS, _ROOM = 38, 18
"""The digits of decimals as Arrow reads them, and how many are at least behind the point before they are rounded."""

_SPECIAL = r'["\\\x00-\x1f]'
"""Characters that JSON escapes."""

_OTHER_LINE = re.compile(rb"^\s*[^\s{]", re.MULTILINE)
_STYLES = {"SQL": Style.SQL, "ISO-8601": Style.ISO, "RFC-3339": Style.UTC}


def make(columns: Columns, options: Options) -> JsonFormat:
    """Return the format."""
    options.check((), _OPTIONS)
    return JsonFormat(columns, options)


class JsonFormat(Format):
    """JSON objects."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self._style = style_of(options)
        self._rules = json_rules(options)
        self._plain = options.flag("encode.decimal-as-plain-number")
        self.reads_fields = not self._rules.fail_on_missing_field
        _ = self.part  # which refuses types that JSON has not

    @property
    def part(self) -> Part:
        """How rows are written and read."""
        return column_part(row_type(self.columns), self._style, self._plain)

    @property
    def codec(self) -> JsonCodec:
        """The conversion of values."""
        return JsonCodec(self._rules)

    # --- reading -----------------------------------------------------------------------------------------------------

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the rows of whole lines."""
        return self.decode_columns(data) or self._decode_records(data.split(b"\n"))

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the rows of messages of one record each."""
        found = [message for message in messages if message]
        return self.decode_together(found) or self._decode_records(found)

    def decode_together(self, messages: list[bytes]) -> ColumnBatch | None:
        """Return the rows of messages by Arrow's parser, one each; None where its meaning may differ."""
        return self.decode_columns(b"\n".join(message.replace(b"\n", b" ") for message in messages))

    def decode_columns(self, data: bytes) -> ColumnBatch | None:
        """Return the rows of lines by Arrow's parser; None where its meaning may differ."""
        rows = row_type(self.columns)
        if self._rules.fail_on_missing_field or not _is_columnar(rows) or not _has_objects_only(data):
            return None
        schema = pa.schema(_text_type(rows))
        try:
            table = pa.json.read_json(
                pa.py_buffer(data),
                pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        columns = [one_array(table.column(name)) for name in self.columns.names]
        arrays = [self._parsed(array, kind) for array, kind in zip(columns, self.columns.types, strict=True)]
        return None if any(array is None for array in arrays) else ColumnBatch(tuple(arrays), table.num_rows)

    def _parsed(self, array: pa.Array, kind: t.DataType) -> pa.Array | None:
        """Return values whose times were read as texts; None if one of them has another form."""
        if isinstance(kind, _AS_TEXT):
            return parsed(array, kind, self._style)
        if isinstance(kind, t.DecimalType):
            return _rounded(array, kind)
        if isinstance(kind, t.ArrayType):
            values = self._parsed(array.values, kind.element_type)
            if values is None or values is array.values:
                return None if values is None else array
            return pa.ListArray.from_arrays(array.offsets, values, mask=array.is_null())
        if not isinstance(kind, t.RowType):
            return array
        children = [self._parsed(array.field(index), field.data_type) for index, field in enumerate(kind.fields)]
        if any(child is None for child in children):
            return None
        return pa.StructArray.from_arrays(children, fields=list(arrow_type(kind)), mask=array.is_null())

    def _decode_records(self, records: list[bytes]) -> ColumnBatch:
        return batch_of_rows(list(self._rows(records)), self.columns)

    def _rows(self, records: list[bytes]) -> Iterator[tuple[Any, ...]]:
        read = self.codec.reader(self.part)
        for record in records:
            if not record.strip():
                continue
            try:
                value = parse(record, Number)
                rows = [read(item) for item in (value if isinstance(value, list) else [value])]
            except (ValueError, RecursionError) as error:
                if self._rules.ignore_parse_errors:
                    continue
                shown = record[:200].decode("utf-8", "replace")
                raise ValueError(f"Failed to deserialize JSON '{shown}'. {error}") from error
            yield from (row for row in rows if row is not None)

    # --- writing -----------------------------------------------------------------------------------------------------

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return an object per row."""
        if not self._rules.ignore_null_fields and batch.columns:
            return self._encode_columns(batch)
        parts = [column_part(kind, self._style, self._plain) for kind in self.columns.types]
        columns = [
            list(map(write, pylist(array)))
            for write, array in zip(map(self.codec.field_writer, self.columns.names, parts), batch.columns, strict=True)
        ]
        return [object_of(fields).encode() for fields in zip(*columns, strict=True)]

    def _encode_columns(self, batch: ColumnBatch) -> list[bytes]:
        """Return objects that have all fields."""
        pieces: list[pa.Array | str] = []
        for name, kind, array in zip(self.columns.names, self.columns.types, batch.columns, strict=True):
            pieces += [f"{',' if pieces else '{'}{quoted(name)}:", pc.fill_null(self._texts(array, kind), "null")]
        objects = pc.binary_join_element_wise(*pieces, "}", "")
        found: list[bytes] = pylist(objects.cast(pa.binary()))
        return found

    def _texts(self, values: pa.Array, kind: t.DataType) -> pa.Array:
        """Return the JSON of values, NULL for NULL."""
        if isinstance(kind, (t.CharType, t.VarCharType)):
            return _quoted(values)
        if isinstance(kind, (*_DIRECT, *_AS_TEXT)) and not isinstance(kind, t.FloatType):
            texts = texts_of(values, kind, self._style)
            if isinstance(kind, t.DoubleType):
                return _numbers(texts, values)
            return pc.binary_join_element_wise('"', texts, '"', "") if isinstance(kind, _AS_TEXT) else texts
        write = self.codec.writer(column_part(kind, self._style, self._plain))
        return pa.array([None if value is None else write(value) for value in pylist(values)], pa.string())


def row_type(columns: Columns) -> t.RowType:
    """Return the type of whole rows."""
    return t.RowType(list(map(t.RowField, columns.names, columns.types)))


def style_of(options: Options) -> Style:
    """Return how timestamps are written; `RFC-3339`, which tables of Flink 1 have, is none of Flink's values.

    Raises:
        ValidationException: the option is invalid.
    """
    standard = options.text("timestamp-format.standard", "SQL")
    if standard.upper() not in _STYLES:
        raise ValidationException(
            f"Unsupported value '{standard}' for timestamp-format.standard. Supported values are [SQL, ISO-8601]."
        )
    return _STYLES[standard.upper()]


def json_rules(options: Options) -> JsonRules:
    """Return what to do with problems.

    Raises:
        ValidationException: options are invalid.
    """
    rules = JsonRules(
        options.flag("ignore-parse-errors"),
        options.flag("fail-on-missing-field"),
        options.choice("map-null-key.mode", ("fail", "drop", "literal"), "fail"),
        options.text("map-null-key.literal", "null"),
        options.flag("encode.ignore-null-fields"),
    )
    if rules.ignore_parse_errors and rules.fail_on_missing_field:
        raise ValidationException("fail-on-missing-field and ignore-parse-errors shouldn't both be true.")
    return rules


def _has_objects_only(data: bytes) -> bool:
    """Return whether each line that is not empty begins like an object, and there is one.

    Arrow 26 dies at `null` in the first line.
    """
    text = np.frombuffer(data, np.uint8)
    starts = np.flatnonzero(text == ord("\n")) + 1  # In a third of the time that `bytes.count` takes.
    if data.startswith(b"{") and (text[starts[: len(starts) - data.endswith(b"\n")]] == ord("{")).all():
        return True
    return _OTHER_LINE.search(data) is None and not data.isspace() and bool(data)


def _is_columnar(kind: t.DataType) -> bool:
    """Return whether Arrow's parser reads a type as Flink does."""
    if isinstance(kind, t.RowType):
        names = kind.field_names()
        return 0 < len(names) == len(set(names)) and all(map(_is_columnar, kind.field_types()))
    if isinstance(kind, t.ArrayType):
        return _is_columnar(kind.element_type)
    return isinstance(kind, (*_DIRECT, *_AS_TEXT, t.DecimalType))


def _text_type(kind: t.DataType) -> pa.DataType:
    """Return the Arrow type to read; times are read as texts."""
    if isinstance(kind, t.RowType):
        return pa.struct([(field.name, _text_type(field.data_type)) for field in kind.fields])
    if isinstance(kind, t.ArrayType):
        return pa.list_(_text_type(kind.element_type))
    if isinstance(kind, t.DecimalType):
        return pa.decimal128(_MOST_DIGITS, max(_ROOM, kind.scale))
    return pa.string() if isinstance(kind, _AS_TEXT) else arrow_type(kind)


def _rounded(numbers: pa.Array, kind: t.DecimalType) -> pa.Array | None:
    """Return decimals of a type, as `decimals.fitted` rounds them; None if one does not fit."""
    try:
        return pc.round(numbers, kind.scale, "half_towards_infinity").cast(arrow_type(kind))
    except pa.ArrowInvalid:
        return None


def _quoted(texts: pa.Array) -> pa.Array:
    """Return texts as JSON strings."""
    found = pc.binary_join_element_wise('"', texts, '"', "")
    is_special = pc.fill_null(pc.match_substring_regex(texts, _SPECIAL), False)
    if not pc.any(is_special).as_py():
        return found
    written = pa.array([quoted(text) for text in pylist(texts.filter(is_special))], pa.string())
    return pc.replace_with_mask(found, is_special, written)


def _numbers(texts: pa.Array, values: pa.Array) -> pa.Array:
    """Return the JSON of numbers; it has no NaN and no infinity, so they become strings."""
    is_number = pc.is_finite(values)
    if pc.all(is_number).as_py() is not False:
        return texts
    return pc.if_else(is_number, texts, pc.binary_join_element_wise('"', texts, '"', ""))
