"""Transactions that write the records of a completed checkpoint exactly once.

A transaction also commits a marker: the number of the writer's next commit, stored as an offset of a consumer group
that belongs to the writer. Kafka commits both atomically.

The marker's metadata is a checksum of the records of the last commit. The last request below the marker is skipped only
if it has the same checksum. Different records under a committed number would otherwise be lost.

If the outcome of a commit is unknown, the retry first starts a producer with the same transactional id. That fences the
former producer and completes or aborts its transaction. Then the marker is final and tells which requests are left.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from firesteel.connectors.kafka.client import QUIET, KafkaAdmin, KafkaError, answer_of, kafka_library
from firesteel.connectors.kafka.properties import timeout_s
from firesteel.connectors.kafka.records import Record
from firesteel.connectors.kafka.writer import RecordProducer
from firesteel.functions.connector_base import CommitRequest

_TRANSACTION_TIMEOUT_MS = "300000"
"""Must cover the time to produce the records of one checkpoint, while the transaction is open."""

_OF_A_FENCED_PRODUCER = frozenset({"_FENCED", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"})


class _Marker(NamedTuple):
    """The number of a writer's next commit, and the checksum of its last commit, or an empty text if it is unknown."""

    following: int = 0
    checksum: str = ""


class TransactionalProducer:
    """A producer with a transactional id and the known markers of its writers.

    Raises:
        KafkaError: (all methods) a broker rejects the request or does not respond; the producer is unusable afterwards.
    """

    def __init__(self, properties: Mapping[str, str], transactional_id: str) -> None:
        self._id = transactional_id
        self._timeout_s = timeout_s(properties)
        self._admin = KafkaAdmin(properties)
        settings = {"transaction.timeout.ms": properties.get("transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS)}
        self._producer = RecordProducer(properties, **{"transactional.id": transactional_id, **settings})
        self._markers: dict[str, _Marker] = {}
        self._metadata: dict[str, Any] = {}
        self._call("begin to write", self._producer.client.init_transactions, self._timeout_s)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Produce the records of one writer's uncommitted requests in one transaction.

        Args:
            requests: Requests in the order of their numbers.
        """
        group = _group(self._id, requests[0])
        if group not in self._markers:
            self._markers[group] = self._read_marker(group)
            self._metadata[group] = _group_metadata(group)
        marker = self._markers[group]
        self._check_committed(requests, marker)
        new = [request for request in requests if request.number >= marker.following]
        if not new:
            return
        client = self._producer.client
        self._call("begin a transaction", client.begin_transaction)
        for request in new:
            checksum = _Checksum()
            for records in request.committable.rows.chunks():
                self._call("write", self._producer.produce, records)
                checksum.add(records)
        following = _Marker(new[-1].number + 1, str(checksum))
        # The group offset needs some partition that exists, and the first one of a topic just written does.
        topic = min(new[-1].committable.topics)
        offset = kafka_library().TopicPartition(topic, 0, following.following, following.checksum)
        metadata = self._metadata[group]
        self._call("note the commit", client.send_offsets_to_transaction, [offset], metadata, self._timeout_s)
        # Waits until brokers have received all records.
        self._call("commit a transaction", client.commit_transaction, self._producer.timeout_s)
        self._markers[group] = following

    def _read_marker(self, group: str) -> _Marker:
        # There is one marker per topic that a commit has used; the last commit has the highest number.
        return max(map(_Marker._make, self._admin.committed_notes(group)), default=_Marker())

    def _check_committed(self, requests: Sequence[CommitRequest], marker: _Marker) -> None:
        last = next((request for request in requests if request.number == marker.following - 1), None)
        if last is None or not marker.checksum:
            return
        found = _Checksum()
        for records in last.committable.rows.chunks():
            found.add(records)
        if str(found) != marker.checksum:
            raise KafkaError(
                f"commit {last.number} of transactional id {self._id!r} is in Kafka with other records (checksum "
                f"{marker.checksum}, now {found}): the job went back to a checkpoint before its last commit, so its "
                "output would be wrong; start it from a savepoint as a new job"
            )

    def _call(self, what: str, call: Any, *args: object) -> None:
        library = kafka_library()
        try:
            answer_of(partial(call, *args), self._producer.errors, partial(self._producer.client.poll, 0))
        except library.KafkaException as error:
            reason = error.args[0]
            if reason.name() in _OF_A_FENCED_PRODUCER:
                raise KafkaError(
                    f"transactional id {self._id!r} is used by another job, or by another run of this one, whose "
                    "producer fenced this one: give each sink a transactional id prefix of its own"
                ) from error
            raise self._producer.errors.about(f"{what} with transactional id {self._id!r}", reason) from error

    def abandon(self) -> None:
        """Discard uncommitted records; the next producer with the same id aborts the transaction."""
        self._producer.client.purge()


class _Checksum:
    """The checksum of the keys and values of records; its text has their number, too."""

    def __init__(self) -> None:
        self._count = self._crc = 0

    def add(self, records: Sequence[Record]) -> None:
        for _, key, value, _, _ in records:
            self._crc = zlib.crc32(value or b"", zlib.crc32(key or b"", self._crc))
        self._count += len(records)

    def __str__(self) -> str:
        return f"{self._count}-{self._crc:08x}"


def _group(transactional_id: str, request: CommitRequest) -> str:
    sink = hashlib.md5(request.sink_id.encode(), usedforsecurity=False).hexdigest()[:12]
    # With the job, as another one with the same prefix counts its commits from 0 again.
    return f"{transactional_id}-{request.job_id}-{sink}"


def _group_metadata(group: str) -> Any:
    """Return the metadata of a consumer group for a transaction; only a consumer can create it, but needs no broker."""
    consumer = kafka_library().Consumer({**QUIET, "group.id": group})
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


class _Shared:
    """The producer of a transactional id in this process, for one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.producer: TransactionalProducer | None = None


_shared: dict[tuple[str, str], _Shared] = {}
_shared_lock = threading.Lock()


def commit_in_transaction(properties: Mapping[str, str], requests: Sequence[CommitRequest]) -> None:
    """Commit requests of one writer; the producer stays open for later requests, until `close_producers`.

    Raises:
        KafkaError: the requests were not committed, or the outcome is unknown: commit them again.
    """
    transactional_id = requests[0].committable.transactional_id
    shared = _shared_producer((properties["bootstrap.servers"], transactional_id))
    with shared.lock:
        if shared.producer is None:
            shared.producer = TransactionalProducer(properties, transactional_id)
        try:
            shared.producer.commit(requests)
        except BaseException:
            # Not used again: the outcome is unknown until another producer with the same id has started.
            producer, shared.producer = shared.producer, None
            producer.abandon()
            raise


def close_producers(properties: Mapping[str, str], ids: Iterable[str]) -> None:
    """Close the producers of transactional ids that commit nothing now."""
    with _shared_lock:
        for transactional_id in ids:
            key = properties["bootstrap.servers"], transactional_id
            if (shared := _shared.get(key)) is not None and not shared.lock.locked():
                del _shared[key]


def _shared_producer(key: tuple[str, str]) -> _Shared:
    with _shared_lock:
        return _shared.setdefault(key, _Shared())
