"""Changes as JSON of capture tools: Canal, Debezium, Maxwell and Oracle GoldenGate. Flink: `flink-json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch, Kind, concat
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import are_retractions
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.changes import DELETE, INSERT, BrokenChangeError, Envelope, Messages, changes_of
from firesteel.connectors.formats.json.codec import object_of, parse
from firesteel.connectors.formats.json.envelopes import ENVELOPES
from firesteel.connectors.formats.json.scalars import Number
from firesteel.connectors.formats.json.table import JsonFormat, row_type
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_connector import ALL_KINDS
from firesteel.connectors.table_options import Options

_OF_VALUES = (
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
    "ignore-parse-errors",
    "map-null-key.literal",
    "map-null-key.mode",
    "timestamp-format.standard",
)
_SCHEMA_INCLUDE = "schema-include"
_SCHEMA, _PAYLOAD = "schema", "payload"
_FILTERS = {"database.include": "database", "table.include": "table"}
_OWN = {"canal-json": tuple(_FILTERS), "debezium-json": (_SCHEMA_INCLUDE,)}
_SHOWN_BYTES = 200
_decoder = json.JSONDecoder()


def make(columns: Columns, options: Options) -> ChangeJsonFormat:
    """Return the format that the owner of the options names."""
    options.check((), (*_OF_VALUES, *_OWN.get(options.owner, ())))
    return ChangeJsonFormat(columns, options)


class ChangeJsonFormat(Format):
    """Messages with rows before and after a change."""

    reads_fields = True

    def __init__(self, columns: Columns, options: Options, metadata: tuple[str, ...] = ()) -> None:
        super().__init__(columns, options)
        self._options = options
        self._metadata = metadata
        self._ignores = options.flag("ignore-parse-errors")
        self._has_schema = options.flag(_SCHEMA_INCLUDE)
        given = {name: key for key, name in _FILTERS.items() if key in options.values}
        self._filters = {name: _pattern(options, key) for name, key in given.items()}
        self._json = self._format_of(columns)

    def _format_of(self, columns: Columns) -> JsonFormat:
        values = {key: value for key, value in self._options.values.items() if key in _OF_VALUES}
        return JsonFormat(columns, Options(values, self._options.owner))

    @property
    def _envelope(self) -> Envelope:
        return ENVELOPES[self._options.owner]

    @property
    def kinds(self) -> frozenset[Kind]:
        """All kinds."""
        return ALL_KINDS

    @property
    def metadata(self) -> Mapping[str, t.DataType]:
        """What else of messages can be read."""
        return {key: one.type for key, one in self._envelope.metadata.items()}

    def with_metadata(self, keys: tuple[str, ...]) -> ChangeJsonFormat:
        """Return a format that reads these, too."""
        return ChangeJsonFormat(self.columns, self._options, keys)

    def check_sink(self) -> None:
        """Check that no schema is to be written.

        Raises:
            ValidationException: an option says so.
        """
        if self._has_schema:
            raise ValidationException(
                "Debezium JSON serialization doesn't support 'debezium-json.schema-include' option been set to true."
            )

    # --- reading -----------------------------------------------------------------------------------------------------

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the changes of whole lines."""
        return self.decode_messages(list(data.split(b"\n")))

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the changes of messages; those without content have none."""
        found = [message for message in messages if message]
        try:
            return self._changes(found)
        except (ValueError, RecursionError):
            return concat([self._changes([]), *map(self._changes_of_one, found)])

    def _changes_of_one(self, message: bytes) -> ColumnBatch:
        try:
            return self._changes([message])
        except (ValueError, RecursionError) as error:
            if self._ignores:
                return (isinstance(error, BrokenChangeError) and error.before) or self._changes([])
            shown = message[:_SHOWN_BYTES].decode("utf-8", "replace")
            raise ValueError(f"Corrupt {self._envelope.tool} JSON message '{shown}': {error}") from error

    def _changes(self, messages: list[bytes]) -> ColumnBatch:
        kept = self._kept(messages) if self._filters else messages

        @cache  # a message may have many rows
        def names_in_old(message: int) -> frozenset[str]:
            return frozenset(_names_in(_field(kept[message], self._envelope.old)))

        return changes_of(self._read(kept), self._envelope, self.columns.names, names_in_old)

    def _kept(self, messages: list[bytes]) -> list[bytes]:
        """Return the messages of the databases and tables to read; those of others may have other columns."""
        texts = self._parsed(messages, dict.fromkeys(self._filters, t.VarCharType(t.MAX_LENGTH)))
        is_kept = np.ones(len(messages), bool)
        for name, pattern in self._filters.items():
            values = texts[name].dictionary_encode()
            for number in np.flatnonzero(np.asarray(values.is_null())).tolist():
                if name not in parse(messages[number]):
                    raise ValueError(f'it has no field "{name}"')
            matches = [pattern.fullmatch(text) is not None for text in pylist(values.dictionary)]
            # Flink takes null for a text.
            matches.append(pattern.fullmatch("null") is not None)
            is_kept &= np.array(matches)[np.asarray(pc.fill_null(values.indices, len(matches) - 1))]
        return list(compress(messages, is_kept.tolist()))

    def _read(self, messages: list[bytes]) -> Messages:
        """Return messages as columns."""
        envelope = self._envelope
        rows: t.DataType = row_type(self.columns)
        rows = t.ArrayType(rows) if envelope.has_lists else rows
        first: dict[str, t.DataType] = {
            envelope.operation: t.VarCharType(t.MAX_LENGTH),
            envelope.new: rows,
            envelope.old: rows,
        }
        passes, places = [first], []
        for one in (envelope.metadata[key] for key in self._metadata):
            # A field that is read as two types is read twice.
            fits = [fields.get(one.field, one.read_as) == one.read_as for fields in passes]
            place = fits.index(True) if any(fits) else len(passes)
            passes[place:] = passes[place:] or [{}]
            passes[place][one.field] = one.read_as
            places.append((one, place))
        found = [self._fields(messages, fields) for fields in passes]
        metadata = tuple(one.value(found[place][one.field]) for one, place in places)
        read = found[0]
        return Messages(read[envelope.operation], read[envelope.new], read[envelope.old], metadata)

    def _fields(self, messages: list[bytes], fields: Mapping[str, t.DataType]) -> dict[str, pa.Array]:
        """Return fields of messages; those that have a schema have the others in a payload."""
        if not self._has_schema:
            return self._parsed(messages, fields)
        inside = t.RowType([t.RowField(name, kind) for name, kind in fields.items() if name != _SCHEMA])
        root = {name: kind for name, kind in fields.items() if name == _SCHEMA}
        found = self._parsed(messages, {_PAYLOAD: inside, **root})
        return found | dict(zip(inside.field_names(), found[_PAYLOAD].flatten(), strict=True))

    def _parsed(self, messages: list[bytes], fields: Mapping[str, t.DataType]) -> dict[str, pa.Array]:
        form = self._format_of(Columns(tuple(fields), tuple(fields.values())))
        batch = form.decode_together(messages)
        if batch is not None and batch.length == len(messages):
            return dict(zip(fields, batch.columns, strict=True))
        read = form.codec.reader(form.part)
        rows = [read(_object(parse(message, Number))) for message in messages]
        columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * len(fields)
        return dict(zip(fields, map(to_arrow, columns, fields.values()), strict=True))

    # --- writing -----------------------------------------------------------------------------------------------------

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return a message per row: inserted, or deleted."""
        inserted, deleted = map(partial(_around, self._envelope, self._leaves_out_nulls), (INSERT, DELETE))
        rows = zip(are_retractions(batch.kinds_or_inserts()).tolist(), self._json.encode(batch), strict=True)
        wrapped = ((deleted if is_retraction else inserted, row) for is_retraction, row in rows)
        return [before + row + after for (before, after), row in wrapped]

    @property
    def _leaves_out_nulls(self) -> bool:
        return self._options.flag("encode.ignore-null-fields")


def _around(envelope: Envelope, leaves_out_nulls: bool, operation: int) -> tuple[bytes, bytes]:
    """Return what stands before and after a row."""
    mark = "\0"
    row = f"[{mark}]" if envelope.has_lists else mark
    rows: dict[str, str | None] = {envelope.new: row}
    if not envelope.is_patch:
        rows = {envelope.old: row if operation == DELETE else None, envelope.new: None if operation == DELETE else row}
    text = next(text for text, meaning in envelope.operations.items() if meaning == operation)
    fields = [f'"{name}":{value or "null"}' for name, value in rows.items() if value or not leaves_out_nulls]
    before, after = object_of([*fields, f'"{envelope.operation}":"{text}"']).split(mark)
    return before.encode(), after.encode()


def _pattern(options: Options, key: str) -> re.Pattern[str]:
    try:
        return re.compile(options.text(key))
    except re.error:
        raise options.invalid(key, "a regular expression") from None


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def _field(message: bytes, name: str) -> object:
    """Return a field of an object; only its value is parsed if nothing else in the message has the name."""
    key = f'"{name}"'.encode()
    if message.count(key) != 1:
        found: object = parse(message)[name]
        return found
    rest = message[message.index(key) + len(key) :].lstrip(b" \t\r\n:").decode()
    return _decoder.raw_decode(rest)[0]


def _names_in(value: object) -> Iterator[str]:
    """Yield the names of the fields of a JSON value, however deep."""
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names_in(part)
