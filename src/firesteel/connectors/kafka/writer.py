"""The writers of a `KafkaSink`: one produces immediately, the other stages records for the commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from firesteel.connectors.kafka.client import PATIENCE_S, QUIET, KafkaError, LastError, kafka_library
from firesteel.connectors.kafka.properties import producer_settings
from firesteel.connectors.kafka.records import KafkaRecordSerializationSchema, Record
from firesteel.connectors.staging import PreparedRows, StagingWriter
from firesteel.functions.connector_base import SinkWriter, WriterInitContext

_INLINE_BYTES = 128 * 1024
"""Maximum number of bytes of one batch that are kept in memory; more are staged in a file."""

_DELIVERY_TIMEOUT_MS = "120000"
_MOST_BYTES = "1000000"
_STEP_S = 0.2

_logger = logging.getLogger(__name__)


class _FirstFailure:
    """Stores the first delivery error of a client. It does not refer to the client, which ends with its last owner."""

    def __init__(self) -> None:
        self.found: tuple[Any, str] | None = None

    def __call__(self, error: object, message: Any) -> None:
        """Store an error; passed to librdkafka as `on_delivery`."""
        if error is not None and self.found is None:
            self.found = (error, message.topic())


class RecordProducer:
    """Produces records and stores the first delivery error.

    Args:
        properties: Properties of the Java client.
        settings: Additional settings of librdkafka.

    Attributes:
        timeout_s: Delivery timeout in seconds.
        errors: The last connection error of the client.
        client: librdkafka's producer.
    """

    def __init__(self, properties: Mapping[str, str], **settings: object) -> None:
        library = kafka_library()
        self.timeout_s = int(properties.get("delivery.timeout.ms", _DELIVERY_TIMEOUT_MS)) / 1000
        self._failure = _FirstFailure()
        self.errors = LastError(properties["bootstrap.servers"])
        own = {
            "error_cb": self.errors,
            "delivery.report.only.error": True,
            "on_delivery": self._failure,
        }
        self.client = library.Producer({**QUIET, **producer_settings(properties), **settings, **own})

    def produce(self, records: Sequence[Record]) -> None:
        """Pass records to the client; block while its buffer is full.

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

    def _produce_later(self, topic: str, value: object, key: object, timestamp: int, headers: object) -> None:
        while True:
            self.client.poll(0.1)
            self._check()
            with suppress(BufferError):
                self.client.produce(topic, value, key, timestamp=timestamp, headers=headers)
                return

    def flush(self) -> None:
        """Wait until brokers have received all records.

        Raises:
            KafkaError: a record was not delivered within `delivery.timeout.ms`, or delivery failed.
        """
        begun_s = time.monotonic()
        try:
            # In steps, as nothing can interrupt the client, and the job may be cancelled meanwhile.
            while (left := self.client.flush(_STEP_S)) and (waited_s := time.monotonic() - begun_s) < self.timeout_s:
                if waited_s >= PATIENCE_S > waited_s - _STEP_S:
                    delay = self.errors.about(f"write {left} records", "no answer yet")
                    _logger.warning("%s; trying for %g s", delay, self.timeout_s)
        except SystemError as error:  # confluent-kafka after a fatal error
            raise self.errors.about("write", "the producer failed") from error
        self._check()
        if left:
            text = f"{left} records were not delivered within delivery.timeout.ms ({self.timeout_s:g} s)"
            raise self.errors.about("write", text)

    def _check(self) -> None:
        if self._failure.found is not None:
            error, topic = self._failure.found
            raise self.errors.about(f"write to topic {topic!r}", error)


class KafkaWriter(SinkWriter[Any]):
    """Produces records immediately.

    Args:
        properties: Properties of the Java client.
        serializer: Converts elements to records.
        context: Context of the writer.
        flushes: Whether a checkpoint waits for the delivery of all records (at-least-once).
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
        # As in Java's producer, retries neither lose nor duplicate records.
        exact = {"enable.idempotence": True} if properties.get("acks", "all") in ("all", "-1") else {}
        self._producer = RecordProducer(properties, **exact)

    def write(self, element: object, timestamp: int | None) -> None:
        """Write one element."""
        self.write_all([element], [timestamp])

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write elements.

        Raises:
            KafkaError: an earlier record was not delivered.
        """
        self._producer.produce(self._serializer.records(elements, timestamps))

    def flush(self, end_of_input: bool) -> None:
        """Wait for the delivery of records if a checkpoint or the end of the job would lose them otherwise.

        Raises:
            KafkaError: a record was not delivered.
        """
        if end_of_input or (self._flushes and self._is_checkpoint()):
            self._producer.flush()

    def close(self) -> None:
        """Discard undelivered records: they are not guaranteed, or are written again after a restart."""
        self._producer.client.purge()
        self._producer.client.flush(0)


@dataclass(frozen=True, slots=True)
class PreparedRecords:
    """Records of one writer and batch.

    Attributes:
        rows: The records.
        topics: Their topics.
        transactional_id: The writer's transactional id. A job restarted with another prefix still commits them with
            this one, because the marker of their commit belongs to it.
    """

    rows: PreparedRows
    topics: frozenset[str]
    transactional_id: str


class StagingKafkaWriter(StagingWriter[PreparedRecords]):
    """Stages records until their checkpoint is committed, in a file if there are many."""

    def __init__(
        self,
        properties: Mapping[str, str],
        serializer: KafkaRecordSerializationSchema[Any],
        context: WriterInitContext,
        transactional_id_prefix: str,
    ) -> None:
        super().__init__(context)
        self._serializer = serializer
        self._transactional_id = f"{transactional_id_prefix}-{context.subtask_index}"
        self._most_bytes = int(producer_settings(properties).get("message.max.bytes", _MOST_BYTES))
        self._bytes = 0
        self._topics: set[str] = set()

    def write(self, element: object, timestamp: int | None) -> None:
        """Stage one element."""
        self.write_all([element], [timestamp])

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Stage several elements.

        Raises:
            KafkaError: a record exceeds the producer's limit; it is rejected here because a completed checkpoint must
                not contain a record that can never be produced.
        """
        records = self._serializer.records(elements, timestamps)
        sizes = [len(key or b"") + len(value or b"") for _, key, value, _, _ in records]
        # Now and not at the commit, where it would fail each restart from the checkpoint that contains it.
        if max(sizes, default=0) > self._most_bytes:
            raise KafkaError(f"a record of {max(sizes)} bytes is larger than max.request.size ({self._most_bytes})")
        self._topics.update({record[0] for record in records})
        self._bytes += sum(sizes)
        self._staged.add(records)
        if self._bytes > _INLINE_BYTES:
            self._staged.stage()
            self._bytes = 0

    def flush(self, end_of_input: bool) -> None:
        """Finish the records of the batch."""
        if self._topics:
            prepared = PreparedRecords(self._staged.finish(), frozenset(self._topics), self._transactional_id)
            self._prepared.append(prepared)
        self._topics, self._bytes = set(), 0
