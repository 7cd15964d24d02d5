"""Changes as Debezium's JSON. Flink: `DebeziumJsonDeserializationSchema` and its counterpart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.json.codec import parse
from firesteel.connectors.formats.json.scalars import Number
from firesteel.connectors.formats.json.table import JsonFormat
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_connector import ALL_KINDS
from firesteel.connectors.table_options import Options

_OPTIONS = (
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
    "ignore-parse-errors",
    "map-null-key.literal",
    "map-null-key.mode",
    "schema-include",
    "timestamp-format.standard",
)
_RETRACTIONS = (int(Kind.UPDATE_BEFORE), int(Kind.DELETE))


def make(columns: Columns, options: Options) -> DebeziumJsonFormat:
    """Return the format."""
    options.check((), _OPTIONS)
    return DebeziumJsonFormat(columns, options)


class DebeziumJsonFormat(Format):
    """Messages with the row before and after a change."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self._ignores = options.flag("ignore-parse-errors")
        self._has_schema = options.flag("schema-include")
        own = {key: value for key, value in options.values.items() if key != "schema-include"}
        self._json = JsonFormat(columns, Options(own, "json"))

    @property
    def kinds(self) -> frozenset[Kind]:
        """All kinds."""
        return ALL_KINDS

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the rows of whole lines."""
        return self.decode_messages(list(data.split(b"\n")))

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the changes of messages."""
        types, convert = self.columns.types, self._json.codec.reader(self._json.part)
        changes = [change for message in messages if message for change in self._changes(message, convert)]
        columns = list(zip(*(row for _, row in changes), strict=True)) if changes else [()] * len(types)
        arrays = tuple(to_arrow(list(column), kind) for column, kind in zip(columns, types, strict=True))
        kinds = np.array([int(kind) for kind, _ in changes], np.int8)
        return ColumnBatch(arrays, len(changes), kinds if kinds.any() else None)

    def _changes(self, message: bytes, convert: object) -> Iterator[tuple[Kind, Any]]:
        try:
            found = parse(message, Number)
            found = found["payload"] if self._has_schema else found
            yield from list(self._rows(found, convert))
        except (ValueError, KeyError, TypeError) as error:
            if not self._ignores:
                shown = message[:200].decode("utf-8", "replace")
                raise ValueError(f"Corrupt Debezium JSON message '{shown}': {error}") from error

    def _rows(self, found: Any, convert: Any) -> Iterator[tuple[Kind, Any]]:
        operation = found["op"]
        if operation in ("c", "r"):
            yield Kind.INSERT, _present(convert(found["after"]), "after", operation)
        elif operation == "u":
            yield Kind.UPDATE_BEFORE, _present(convert(found["before"]), "before", operation)
            yield Kind.UPDATE_AFTER, _present(convert(found["after"]), "after", operation)
        elif operation == "d":
            yield Kind.DELETE, _present(convert(found["before"]), "before", operation)
        else:
            raise ValueError(f'Unknown "op" value "{operation}"')

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return a message per row: created, or deleted."""
        rows = self._json.encode(batch)
        return [
            b'{"before":' + row + b',"after":null,"op":"d"}'
            if kind in _RETRACTIONS
            else b'{"before":null,"after":' + row + b',"op":"c"}'
            for kind, row in zip(batch.kinds_or_inserts().tolist(), rows, strict=True)
        ]


def _present(row: object, field: str, operation: str) -> object:
    if row is None:
        raise ValueError(
            f'The "{field}" field of a message with op "{operation}" is null; if you are using Debezium Postgres '
            "Connector, please check the Postgres table has been set REPLICA IDENTITY to FULL level"
        )
    return row
