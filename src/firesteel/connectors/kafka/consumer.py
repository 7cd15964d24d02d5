"""A consumer of one partition, which reads ranges of offsets and stays open between them."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from firesteel.common.values.batch_decoding import decode_each
from firesteel.connectors.kafka.client import QUIET, KafkaError, LastError, kafka_library
from firesteel.connectors.kafka.properties import consumer_settings, timeout_s
from firesteel.connectors.kafka.record_schema import KafkaRecord, KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.source_settings import (
    KafkaOffsetResetStrategy,
    KafkaSourceSettings,
    KafkaTopicPartition,
)

_MOST_RECORDS = 1024
"""Maximum number of records read at once; more would not stay in the processor's cache until they are decoded."""

_MOST_IN_COLUMNS = 4096
"""The same for tables, whose kernels have a fixed cost per column batch."""

_ENOUGH_BYTES = 4 << 20
"""Size of the values from which messages no longer wait for others."""

_WAIT_S = 0.05
_DEFAULTS = {
    "group.id": "firesteel",  # librdkafka requires one, although the consumer neither joins a group nor commits
    "fetch.wait.max.ms": "100",
    "fetch.error.backoff.ms": "50",
    # librdkafka stops fetching when 100,000 records wait, and by default looks again a second later. By then they have
    # been read, so a reader that is fast would wait for most of that second.
    "fetch.queue.backoff.ms": "10",
}


class PartitionConsumer:
    """Reads ranges of offsets of one partition.

    Args:
        settings: Settings of the source.
        partition: The partition to read.
        client_id: Client id, which appears in the broker's logs.
    """

    def __init__(self, settings: KafkaSourceSettings, partition: KafkaTopicPartition, client_id: str) -> None:
        library = kafka_library()
        self._partition = partition
        self._errors = LastError(settings.bootstrap_servers)
        self._timeout_s = timeout_s(settings.properties)
        skips = settings.starting_offsets.reset_strategy is not KafkaOffsetResetStrategy.NONE
        fixed = {
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # A range may end in a gap (where a transaction ended, say), and only this event tells that no record comes.
            "enable.partition.eof": True,
            # Records of a planned range may be deleted before they are read; then continue with the oldest record.
            "auto.offset.reset": "earliest" if skips else "error",
            "client.id": client_id,
            "error_cb": self._errors,
        }
        self._consumer = library.Consumer({**QUIET, **_DEFAULTS, **consumer_settings(settings.properties), **fixed})
        self._end_of_partition = library.KafkaError._PARTITION_EOF
        self._at: Callable[[int], Any] = partial(library.TopicPartition, partition.topic, partition.partition)
        assert settings.deserializer is not None
        self._deserializer = settings.deserializer
        self._decode_records = getattr(self._deserializer, "decode_records", None)
        most = _MOST_RECORDS if self._decode_records is None else _MOST_IN_COLUMNS
        self._most = min(most, int(settings.properties.get("max.poll.records", most)))
        self._enough = 1 if self._decode_records is None else self._most
        schema = self._deserializer
        self._record_schema = (
            schema if isinstance(schema, KafkaRecordDeserializationSchema) and schema.takes_records else None
        )
        self._takes_tombstones = self._record_schema is not None or getattr(schema, "takes_tombstones", False)
        self._position, self._is_at_end = -1, False
        self._ahead: list[Any] = []

    def read(self, start: int, end: int, *, waits: bool = False) -> Iterator[tuple[list[Any], list[int]]]:
        """Yield elements and the timestamps of their records, from offset `start` to `end`, exclusive.

        Args:
            start: The first offset.
            end: The offset after the last one.
            waits: Whether to wait without limit at the end of the partition, for records that are not written yet.

        Raises:
            KafkaError: no record arrived within `request.timeout.ms`, or a record could not be read.
        """
        if start != self._position:
            # Only where it does not go on: `assign` discards what was fetched ahead.
            self._consumer.assign([self._at(start)])
            self._position, self._is_at_end, self._ahead = start, False, []
        records: list[Any] = []
        size = 0
        while self._position < end:
            for message in self._upto(end, waits):
                if message.error() is None and (self._takes_tombstones or message.value() is not None):
                    records.append(message)
                    size += len(message)
            # Columns of few rows cost as much as columns of thousands, and messages come in the brokers' portions.
            is_enough = self._position >= end or len(records) >= self._enough or size >= _ENOUGH_BYTES
            if records and is_enough:
                yield self._elements(records)
                records, size = [], 0

    def _upto(self, end: int, waits: bool) -> list[Any]:
        """Return the next messages before an offset and advance; keep later messages for the next range."""
        messages = self._ahead or self._next(waits)
        problem = next((m for m in messages if m.error() is not None and not self._is_end(m)), None)
        if problem is not None:
            raise self._errors.about(f"read {self._where(self._position)}", problem.error())
        self._is_at_end = self._is_end(messages[-1])
        cut = bisect_left(messages, end, key=_offset) if messages[-1].offset() >= end else len(messages)
        self._ahead = messages[cut:]
        if self._ahead:
            self._position = end
        else:
            # The end-of-partition event has the offset of the next record.
            self._position = max(self._position, messages[-1].offset() + (not self._is_at_end))
        return messages[:cut]

    def _is_end(self, message: Any) -> bool:
        return message.error() is not None and message.error().code() == self._end_of_partition

    def _next(self, waits: bool) -> list[Any]:
        deadline = time.monotonic() + self._timeout_s
        while (waits and self._is_at_end) or time.monotonic() < deadline:
            # With a timeout, consume() would wait for the full number of messages.
            if messages := self._consumer.consume(self._most, 0):
                return list(messages)
            first = self._consumer.poll(_WAIT_S)
            if first is not None:
                return [first]
        waited = f"no record arrived within request.timeout.ms ({self._timeout_s:g} s)"
        raise self._errors.about(f"read {self._where(self._position)}", waited)

    def _elements(self, records: list[Any]) -> tuple[list[Any], list[int]]:
        if self._decode_records is not None:
            return self._batches(records)
        elements = self._decode(records)
        timestamps = [record.timestamp()[1] for record in records]
        if not [element for element in elements if element is None]:
            return elements, timestamps
        kept = [(e, t) for e, t in zip(elements, timestamps, strict=True) if e is not None]
        return [e for e, _ in kept], [t for _, t in kept]

    def _batches(self, records: list[Any]) -> tuple[list[Any], list[int]]:
        """Return the column batches of a table, with the timestamp of the last record."""
        assert self._decode_records is not None
        try:
            batches = self._decode_records(records)
        except ValueError as error:
            raise self._invalid(records, error) from error
        return batches, [records[-1].timestamp()[1]] * len(batches)

    def _invalid(self, records: list[Any], error: ValueError) -> KafkaError:
        """Return the error for the first record that can't be read by itself."""
        assert self._decode_records is not None
        for record in records:
            try:
                self._decode_records([record])
            except ValueError as cause:
                return KafkaError(f"could not deserialize {self._where(record.offset())}: {cause}")
        return KafkaError(f"could not deserialize {self._where(records[0].offset())} or shortly after: {error}")

    def _decode(self, records: list[Any]) -> list[Any]:
        if self._record_schema is not None:
            return [self._of_record(self._record_schema, record) for record in records]
        messages = [record.value() for record in records]
        return decode_each(self._deserializer, messages, lambda i: self._where(records[i].offset()), KafkaError)

    def _of_record(self, schema: KafkaRecordDeserializationSchema[Any], record: Any) -> object:
        """Return the element of a whole record.

        Raises:
            KafkaError: the schema raised an error.
        """
        made = KafkaRecord(
            record.topic(),
            record.partition(),
            record.offset(),
            record.timestamp()[1],
            record.key(),
            record.value(),
            tuple(record.headers() or ()),
        )
        try:
            return schema.deserialize_record(made)
        except Exception as error:
            where = self._where(record.offset())
            raise KafkaError(f"could not deserialize {where}: {type(error).__name__}: {error}") from error

    def _where(self, offset: int) -> str:
        return f"topic {self._partition.topic!r}, partition {self._partition.partition}, offset {offset}"

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):
            self._consumer.close()


def _offset(message: Any) -> int:
    offset: int = message.offset()
    return offset
