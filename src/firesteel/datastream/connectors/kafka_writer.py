"""The writers of a `KafkaSink`: one produces at once, the other stages records for the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from firesteel.datastream.connectors.base import SinkWriter, WriterInitContext
from firesteel.datastream.connectors.kafka_client import QUIET, KafkaError, LastError, kafka_library
from firesteel.datastream.connectors.kafka_properties import producer_settings
from firesteel.datastream.connectors.kafka_records import KafkaRecordSerializationSchema, Record
from firesteel.datastream.connectors.staging import PreparedRows, StagedRows

_INLINE_BYTES = 128 * 1024
"""More bytes of one batch travel in a file."""

_DELIVERY_TIMEOUT_MS = "120000"
_MOST_BYTES = "1000000"


class RecordProducer:
    """Produces records and remembers the first one that could not be delivered.

    Args:
        properties: Of the Java client.
        settings: More of librdkafka's.

    Attributes:
        timeout_s: How long delivery may take (seconds).
        errors: What the client told about its connections.
        client: librdkafka's producer.
    """

    def __init__(self, properties: Mapping[str, str], **settings: Any) -> None:
        library = kafka_library()
        self.timeout_s = int(properties.get("delivery.timeout.ms", _DELIVERY_TIMEOUT_MS)) / 1000
        self._failed: tuple[Any, Any] | None = None
        self.errors = LastError(properties["bootstrap.servers"])
        own = {
            "error_cb": self.errors,
            "delivery.report.only.error": True,
            "on_delivery": self._not_delivered,
        }
        self.client = library.Producer({**QUIET, **producer_settings(properties), **settings, **own})

    def _not_delivered(self, error: Any, message: Any) -> None:
        if error is not None and self._failed is None:
            self._failed = (error, message.topic())

    def produce(self, records: Sequence[Record]) -> None:
        """Hand records to the client; waits while its buffer is full.

        Raises:
            KafkaError: a record was not delivered.
        """
        produce = self.client.produce
        for topic, key, value, timestamp, headers in records:
            try:
                produce(topic, value, key, timestamp=timestamp, headers=headers)
            except BufferError:
                self._produce_later(topic, value, key, timestamp, headers)
        self.client.poll(0)
        self._check()

    def _produce_later(self, topic: str, value: Any, key: Any, timestamp: int, headers: Any) -> None:
        while True:
            self.client.poll(0.1)
            self._check()
            with suppress(BufferError):
                self.client.produce(topic, value, key, timestamp=timestamp, headers=headers)
                return

    def flush(self) -> None:
        """Wait until brokers have all records.

        Raises:
            KafkaError: a record was not delivered, or not within `delivery.timeout.ms`.
        """
        try:
            left = self.client.flush(self.timeout_s)
        except SystemError as error:  # confluent-kafka after a fatal error
            raise self.errors.about("write", "the producer failed") from error
        self._check()
        if left:
            text = f"{left} records were not delivered within delivery.timeout.ms ({self.timeout_s:g} s)"
            raise self.errors.about("write", text)

    def _check(self) -> None:
        if self._failed is not None:
            error, topic = self._failed
            raise self.errors.about(f"write to topic {topic!r}", error)


class KafkaWriter(SinkWriter[Any]):
    """Produces records as they come.

    Args:
        properties: Of the Java client.
        serializer: Makes the records.
        context: Who the writer is.
        flushes: Whether all records must have arrived before a checkpoint: at least once.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        serializer: KafkaRecordSerializationSchema[Any],
        context: WriterInitContext,
        flushes: bool,
    ) -> None:
        self._serializer = serializer
        self._is_checkpoint = context.is_checkpoint
        self._flushes = flushes
        # As Java's producer, which neither loses nor doubles a record when it tries again.
        exact = {"enable.idempotence": True} if properties.get("acks", "all") in ("all", "-1") else {}
        self._producer = RecordProducer(properties, **exact)

    def write(self, element: Any, timestamp: int | None) -> None:
        """Write one element."""
        self.write_all([element], [timestamp])

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write elements.

        Raises:
            KafkaError: an earlier record was not delivered.
        """
        self._producer.produce(self._serializer.records(elements, timestamps))

    def flush(self, end_of_input: bool) -> None:
        """Wait for what was written, where a checkpoint or the end of the job would lose it otherwise.

        Raises:
            KafkaError: a record was not delivered.
        """
        if end_of_input or (self._flushes and self._is_checkpoint()):
            self._producer.flush()

    def close(self) -> None:
        """Drop what was not delivered: it was not asked for, or is written again after a restart."""
        self._producer.client.purge()
        self._producer.client.flush(0)


@dataclass(frozen=True, slots=True)
class PreparedRecords:
    """Records of one writer and batch.

    Attributes:
        rows: The records.
        topics: Those that they are for.
        transactional_id: Of the writer. A job that goes on with another prefix commits them with this one: the marker
            of their commit is kept for it.
    """

    rows: PreparedRows
    topics: frozenset[str]
    transactional_id: str


class StagingKafkaWriter(SinkWriter[Any]):
    """Keeps records until their checkpoint is committed, in a file if they are many."""

    def __init__(
        self,
        properties: Mapping[str, str],
        serializer: KafkaRecordSerializationSchema[Any],
        context: WriterInitContext,
        transactional_id_prefix: str,
    ) -> None:
        self._serializer = serializer
        self._transactional_id = f"{transactional_id_prefix}-{context.subtask_index}"
        self._most_bytes = int(producer_settings(properties).get("message.max.bytes", _MOST_BYTES))
        self._staged = StagedRows(context)
        self._bytes = 0
        self._topics: set[str] = set()
        self._prepared: list[PreparedRecords] = []

    def write(self, element: Any, timestamp: int | None) -> None:
        """Take one element."""
        self.write_all([element], [timestamp])

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Take elements.

        Raises:
            KafkaError: a record is larger than the producer may send: nothing that was decided may fail for ever.
        """
        records = self._serializer.records(elements, timestamps)
        sizes = [len(key or b"") + len(value or b"") for _, key, value, _, _ in records]
        if max(sizes, default=0) > self._most_bytes:
            raise KafkaError(f"a record of {max(sizes)} bytes is larger than max.request.size ({self._most_bytes})")
        self._topics.update({record[0] for record in records})
        self._bytes += sum(sizes)
        self._staged.add(records)
        if self._bytes > _INLINE_BYTES:
            self._staged.stage()
            self._bytes = 0

    def snapshot_state(self) -> int | None:
        """Return how many files there were."""
        return self._staged.files or None

    def restore_state(self, state: int) -> None:
        """Go on with the next file."""
        self._staged.files = max(self._staged.files, state)

    def flush(self, end_of_input: bool) -> None:
        """Finish the records of the batch."""
        if self._topics:
            prepared = PreparedRecords(self._staged.finish(), frozenset(self._topics), self._transactional_id)
            self._prepared.append(prepared)
        self._topics, self._bytes = set(), 0

    def prepare_commit(self) -> Sequence[PreparedRecords]:
        """Return the records that were finished."""
        prepared, self._prepared = self._prepared, []
        return prepared

    def close(self) -> None:
        """Remove the file of a batch that was not finished."""
        self._staged.close()
