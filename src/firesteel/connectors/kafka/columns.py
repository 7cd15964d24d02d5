"""Records of Kafka as column batches, and back; shared by `kafka` and `upsert-kafka`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch, Kind, concat, slices
from firesteel.columns.last_rows import last_by_key
from firesteel.columns.pylist import pylist
from firesteel.columns.values import to_arrow
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.formats.table_format import Format
from firesteel.connectors.kafka.records import Headers, KafkaRecordSerializationSchema, Record, RecordSettings

_TEXT, _TIMESTAMP = t.VarCharType(t.MAX_LENGTH, False), t.LocalZonedTimestampType(3, False)
_HEADERS = t.MapType(_TEXT.nullable(), t.VarBinaryType(t.MAX_LENGTH), False)
METADATA: dict[str, t.DataType] = {
    "topic": _TEXT,
    "partition": t.IntType(False),
    "offset": t.BigIntType(False),
    "timestamp": _TIMESTAMP,
    "timestamp-type": _TEXT,
    "headers": _HEADERS,
    "leader-epoch": t.IntType(),
}
"""The types of metadata columns that are read, by key."""

WRITABLE: dict[str, t.DataType] = {"headers": _HEADERS.nullable(), "timestamp": _TIMESTAMP.nullable(), "topic": _TEXT}
"""Those that a sink writes."""

_VALUES: dict[str, Callable[[Any], Any]] = {
    "topic": lambda record: record.topic(),
    "partition": lambda record: record.partition(),
    "offset": lambda record: record.offset(),
    "timestamp": lambda record: datetime.datetime.fromtimestamp(record.timestamp()[1] / 1000, datetime.UTC),
    "timestamp-type": lambda record: ("NoTimestampType", "CreateTime", "LogAppendTime")[record.timestamp()[0]],
    "headers": lambda record: dict(record.headers() or ()),
    "leader-epoch": lambda record: record.leader_epoch(),
}


class KafkaColumns(DeserializationSchema[Any]):
    """A deserializer from records to column batches.

    Args:
        key: The format of keys; None to ignore them.
        value: The format of values.
        columns: The source of each column: `("key", index)`, `("value", index)` or `("record", key of metadata)`.
        is_upsert: Whether a record without value deletes the row of its key.
    """

    def __init__(
        self,
        key: Format | None,
        value: Format,
        columns: tuple[tuple[str, Any], ...],
        is_upsert: bool,
    ) -> None:
        self._key = key
        self._value = value
        self._columns = columns
        self.takes_tombstones = is_upsert

    def decode_records(self, records: Sequence[Any]) -> list[ColumnBatch]:
        """Return the rows of records.

        Raises:
            ValueError: a record can't be read.
        """
        if self.takes_tombstones:
            return self._upserts(records)
        return self._rows(records)

    def _rows(self, records: Sequence[Any]) -> list[ColumnBatch]:
        values = self._value.decode_messages([record.value() for record in records])
        if self._key is None and all(side == "value" for side, _ in self._columns):
            return [self._arranged(values, None, records)]
        keys = None if self._key is None else self._key.decode_messages([record.key() for record in records])
        if values.length == len(records) and (keys is None or keys.length == len(records)):
            return [self._arranged(values, keys, records)]
        if len(records) == 1:
            return self._of_one(values, keys, records[0])
        return [batch for record in records for batch in self._rows([record])]

    def _of_one(self, values: ColumnBatch, keys: ColumnBatch | None, record: object) -> list[ColumnBatch]:
        """Return the rows of a record that has none or several."""
        if not values.length:
            return []
        if keys is not None:
            absent = ColumnBatch(tuple(pa.nulls(1, column.type) for column in keys.columns), 1)
            keys = (keys if keys.length else absent).take([0] * values.length)
        return [self._arranged(values, keys, [record] * values.length)]

    def _arranged(self, values: ColumnBatch, keys: ColumnBatch | None, records: Sequence[Any]) -> ColumnBatch:
        sides = {"value": values} if keys is None else {"value": values, "key": keys}
        arrays = [
            to_arrow(list(map(_VALUES[place], records)), METADATA[place])
            if side == "record"
            else sides[side].columns[place]
            for side, place in self._columns
        ]
        return values.with_columns(arrays)

    def _upserts(self, records: Sequence[Any]) -> list[ColumnBatch]:
        """Return a row per record, whose columns are NULL beside the key where it is deleted."""
        assert self._key is not None
        keys = self._key.decode_messages([record.key() for record in records])
        present = [index for index, record in enumerate(records) if record.value() is not None]
        values = self._value.decode_messages([records[index].value() for index in present])
        if keys.length != len(records) or values.length != len(present):
            raise ValueError("a record of an upsert table must hold exactly one row")
        places = np.full(len(records), -1)
        places[present] = np.arange(len(present))
        indices = pa.array(places, mask=places < 0)
        spread = ColumnBatch(tuple(column.take(indices) for column in values.columns), len(records))
        kinds = np.where(places < 0, int(Kind.DELETE), int(Kind.UPDATE_AFTER)).astype(np.int8)
        arranged = self._arranged(spread, keys, records)
        return [ColumnBatch(arranged.columns, arranged.length, kinds)]


@dataclass(frozen=True)
class RecordTarget:
    """Where the records of a table go, and what else of rows they have.

    Attributes:
        topics: The topics that rows may name, or the only one.
        pattern: The topics that rows may name, as a regular expression; None if `topics` has them.
        metadata: Positions of the metadata columns by key.
    """

    topics: tuple[str, ...]
    pattern: str | None
    metadata: Mapping[str, int]

    def topics_of(self, batch: ColumnBatch) -> list[str]:
        """Return the topic of each row.

        Raises:
            ValueError: a row names none, or another one.
        """
        place = self.metadata.get("topic")
        if place is None:
            return [self.topics[0]] * batch.length
        named: list[str] = pylist(batch.columns[place])
        for topic in set(named):
            if topic is None or not self._may_be(topic):
                allowed = self.pattern or ", ".join(self.topics)
                raise ValueError(f"The topic of a row must be one of {allowed}, found {topic!r}")
        return named

    def _may_be(self, topic: str) -> bool:
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        return not self.topics or topic in self.topics

    def times(self, batch: ColumnBatch) -> list[int]:
        """Return the timestamp of each record in ms, 0 for the time of writing."""
        place = self.metadata.get("timestamp")
        if place is None:
            return [0] * batch.length
        return [0 if value is None else _millis(value) for value in pylist(batch.columns[place])]

    def headers(self, batch: ColumnBatch) -> list[Headers]:
        """Return the headers of each record."""
        place = self.metadata.get("headers")
        if place is None:
            return [None] * batch.length
        return [None if value is None else list(value) for value in pylist(batch.columns[place])]


def _millis(value: datetime.datetime) -> int:
    return round(value.replace(tzinfo=value.tzinfo or datetime.UTC).timestamp() * 1000)


class ColumnsToKafka(KafkaRecordSerializationSchema[Any]):
    """A serializer from column batches to records.

    Args:
        target: The topics, and the metadata that rows have.
        key: The format of keys; None for no keys.
        key_columns: Positions of the key columns.
        value: The format of values.
        value_columns: Positions of the value columns.
        is_upsert: Whether deleted rows become records without value.
        buffered_rows: The number of rows of which the last one of each key is sent; 0 sends all.
    """

    def __init__(
        self,
        target: RecordTarget,
        key: Format | None,
        key_columns: tuple[int, ...],
        value: Format,
        value_columns: tuple[int, ...],
        is_upsert: bool,
        buffered_rows: int = 0,
    ) -> None:
        super().__init__(RecordSettings(topic=target.topics[0] if target.topics else None))
        self._target = target
        self._key = key
        self._key_columns = key_columns
        self._value = value
        self._value_columns = value_columns
        self._is_upsert = is_upsert
        self._buffered_rows = buffered_rows

    def records(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> list[Record]:
        """Return a record per row, or per key of the rows that are buffered."""
        found: list[Record] = []
        for batch in self._last_rows(elements) if self._buffered_rows and elements else elements:
            keys: Sequence[bytes | None] = [None] * batch.length
            if self._key is not None:
                keys = self._key.encode_messages(batch.with_columns([batch.columns[i] for i in self._key_columns]))
            values = self._values(batch)
            target = self._target
            parts = (target.topics_of(batch), keys, values, target.times(batch), target.headers(batch))
            found += zip(*parts, strict=True)
        return found

    def _last_rows(self, batches: Sequence[ColumnBatch]) -> Iterator[ColumnBatch]:
        """Yield the last row of each key in the buffer, as often as it is full (Flink: `ReducingUpsertWriter`)."""
        for buffered in slices(concat(batches), self._buffered_rows):
            yield last_by_key(buffered, self._key_columns)

    def _values(self, batch: ColumnBatch) -> Sequence[bytes | None]:
        """Return the value of each row. Deleted rows are not encoded, as their other columns may be NULL."""
        if not self._is_upsert or batch.kinds is None:
            return self._encoded(batch)
        is_kept = ~np.isin(batch.kinds, (int(Kind.DELETE), int(Kind.UPDATE_BEFORE)))
        values = iter(self._encoded(batch.filter(is_kept)))
        return [next(values) if kept else None for kept in is_kept.tolist()]

    def _encoded(self, batch: ColumnBatch) -> Sequence[bytes | None]:
        return self._value.encode_messages(batch.with_columns([batch.columns[i] for i in self._value_columns]))
