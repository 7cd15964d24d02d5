"""Admin client of Kafka: partitions, offsets and consumer groups."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from firesteel.common.cancellation import is_cancelled
from firesteel.common.optional_package import optional_package
from firesteel.connectors.kafka.properties import admin_settings, timeout_s
from firesteel.connectors.kafka.source_settings import KafkaTopicPartition
from firesteel.errors import FiresteelError

T = TypeVar("T")
Answers = Mapping[object, Future[T]]
"""What was asked about -> the client's answer."""

Offsets = dict[KafkaTopicPartition, int]

_RETRY_S = 0.1
PATIENCE_S = 3.0
"""A wait that a user should hear of."""

_STEP_S = 0.2
_GRACE_S, _PAUSED_GRACE_S = 1.0, 10.0
"""Time that a call still has after the job was cancelled, if brokers can't be reached, and if they do not answer."""

_logger = logging.getLogger(__name__)
_PASSING = frozenset(
    {
        "_TRANSPORT",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "UNSTABLE_OFFSET_COMMIT",
    }
)
"""Transient errors, e.g. while brokers start or partitions move."""

QUIET = {"log_level": "2"}
"""Keeps librdkafka from writing errors to standard error that are raised as exceptions anyway."""


class KafkaError(FiresteelError):
    """Kafka rejected a request or did not respond."""


def kafka_library() -> Any:
    """Import and return the module `confluent_kafka`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    with optional_package("Kafka", "confluent-kafka", "kafka"):
        import confluent_kafka
        import confluent_kafka.admin  # late: only jobs that use Kafka need the package
    return confluent_kafka


class LastError:
    """Stores the last connection error of a client, which explains a later timeout."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self.error: Any = None

    def __call__(self, error: Any) -> None:
        """Store an error; passed to librdkafka as `error_cb`."""
        # "All brokers are down" follows the actual error, so keep that one.
        if self.error is None or error.name() != "_ALL_BROKERS_DOWN":
            self.error = error

    def about(self, what: str, error: object) -> KafkaError:
        """Return an error that says what failed, where, and why."""
        causes = [_text(cause) for cause in (error, self.error) if cause is not None]
        return KafkaError(f"Kafka at {self._servers}: could not {what}: {'; '.join(dict.fromkeys(causes))}")


def _text(cause: object) -> str:
    return str(cause.str()) if hasattr(cause, "str") else str(cause)


def answer_of(call: Callable[[], T], errors: LastError, poll: Callable[[], object]) -> T:
    """Return the result of a call of a client, which nothing can interrupt while it waits for brokers.

    Args:
        call: The call.
        errors: Those of the client.
        poll: Lets the client report errors.

    Raises:
        KafkaError: the job is being cancelled, and brokers are out of reach or silent. The call goes on in its own
            thread.
    """
    answer = _in_thread(call)
    _wait_for([answer], errors, poll)
    return answer.result()


def _in_thread(call: Callable[[], T]) -> Future[T]:
    answer: Future[T] = Future()
    # A daemon: nothing interrupts a call of librdkafka, and one without an answer must not keep the process from
    # ending.
    threading.Thread(target=_answer, args=(call, answer), name="kafka-call", daemon=True).start()
    return answer


def _answer(call: Callable[[], T], answer: Future[T]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)


def _wait_for(answers: Collection[Future[T]], errors: LastError, poll: Callable[[], object]) -> None:
    """Wait until answers are there.

    Raises:
        KafkaError: the job is being cancelled, and brokers are out of reach or silent.
    """
    waited_s = 0.0
    while wait(answers, _STEP_S).not_done:
        poll()
        waited_s += _STEP_S if is_cancelled() else 0
        if waited_s >= (_PAUSED_GRACE_S if errors.error is None else _GRACE_S):
            raise errors.about("wait for an answer any longer", "the job is cancelled")


class KafkaAdmin:
    """Queries brokers for partitions and offsets.

    Args:
        properties: Properties of the Java client.

    Raises:
        KafkaError: (all methods) brokers reject the request, or do not respond within `request.timeout.ms`.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._library = kafka_library()
        self._errors = LastError(properties["bootstrap.servers"])
        self._timeout_s = timeout_s(properties)
        settings = {**QUIET, **admin_settings(properties), "error_cb": self._errors}
        self._client = self._library.admin.AdminClient(settings)

    def partitions(self) -> dict[str, list[int]]:
        """Return the numbers of the partitions of all topics, by topic."""
        found = self._topics("list topics")
        return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}

    def offsets(self, partitions: Iterable[KafkaTopicPartition], spec: object, is_committed: bool = False) -> Offsets:
        """Return the offset in each partition that a specification resolves to, or -1 if there is none.

        Args:
            partitions: The partitions to query.
            spec: An `OffsetSpec`.
            is_committed: Ignore records of open transactions.
        """
        levels = self._library.IsolationLevel
        # The end is then that of the last complete transaction; a range beyond it would wait for records that may be
        # aborted.
        level = levels.READ_COMMITTED if is_committed else levels.READ_UNCOMMITTED
        asked = {self._theirs(partition): spec for partition in partitions}

        if not asked:
            return {}
        found = self._retry(
            "look up offsets",
            lambda left_s: self._client.list_offsets(asked, isolation_level=level, request_timeout=left_s),
        )
        return {_ours(theirs): answer.offset for theirs, answer in found.items()}

    def require_topic(self, topic: str) -> None:
        """Raise an error if a topic does not exist and the broker does not create topics on request."""
        found = self._topics("look up a topic", topic)[topic]
        if found.error is not None and found.error.name() not in _PASSING:
            raise self._errors.about(f"write to topic {topic!r}", found.error)

    def committed(self, group: str, partitions: Iterable[KafkaTopicPartition] | None) -> Offsets:
        """Return the committed offsets of a group by partition; `partitions` None queries all of them."""
        asked = None if partitions is None else [self._theirs(partition) for partition in partitions]
        return {} if asked == [] else {_ours(theirs): theirs.offset for theirs in self._committed(group, asked)}

    def committed_notes(self, group: str) -> list[tuple[int, str]]:
        """Return the committed offsets of a group in all partitions, each with its metadata."""
        return [(theirs.offset, theirs.metadata or "") for theirs in self._committed(group, None)]

    def _committed(self, group: str, asked: list[Any] | None) -> list[Any]:
        request = [self._library.ConsumerGroupTopicPartitions(group, asked)]
        (found,) = self._retry(
            f"look up offsets of group {group!r}",
            # Stable ones, as an offset of a transaction that is about to end would let a commit be repeated.
            lambda left_s: self._client.list_consumer_group_offsets(
                request, require_stable=True, request_timeout=left_s
            ),
            self._refuse,
        ).values()
        return [theirs for theirs in found.topic_partitions if theirs.offset >= 0]

    def commit(self, group: str, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Commit offsets for a group."""
        asked = [self._theirs(partition, offset) for partition, offset in offsets.items()]
        request = [self._library.ConsumerGroupTopicPartitions(group, asked)]

        self._retry(
            f"commit offsets of group {group!r}",
            lambda left_s: self._client.alter_consumer_group_offsets(request, request_timeout=left_s),
            self._refuse,
        )

    def _refuse(self, answer: Any) -> None:
        """Raise the error of a partition, which must not pass for a partition without an offset."""
        refused = next((theirs.error for theirs in answer.topic_partitions if theirs.error is not None), None)
        if refused is not None:
            raise self._library.KafkaException(refused)

    def _topics(self, what: str, *topic: str) -> dict[str, Any]:
        """Return what brokers say of a topic, or of all, by name."""
        (found,) = self._retry(
            what, lambda left_s: {None: _in_thread(lambda: self._client.list_topics(*topic, timeout=left_s))}
        ).values()
        topics: dict[str, Any] = found.topics
        return topics

    def _theirs(self, partition: KafkaTopicPartition, *offset: int) -> Any:
        return self._library.TopicPartition(partition.topic, partition.partition, *offset)

    def _retry(
        self, what: str, ask: Callable[[float], Answers[T]], check: Callable[[T], None] = lambda answer: None
    ) -> dict[object, T]:
        """Return the answers by what they are about, asking anew until no error is transient, or the time is over.

        Args:
            what: What is asked, for errors.
            ask: Asks the client, given the seconds that are left.
            check: Raises an error of the client that an answer contains.
        """
        begun_s = time.monotonic()
        tells_at_s = begun_s + PATIENCE_S

        def poll() -> None:
            nonlocal tells_at_s
            self._client.poll(0)
            if time.monotonic() >= tells_at_s:
                tells_at_s = math.inf
                delay = self._errors.about(what, "no answer yet")
                _logger.warning("%s; trying for %g s", delay, self._timeout_s)

        while True:
            try:
                answers = ask(max(0.001, begun_s + self._timeout_s - time.monotonic()))
                _wait_for(answers.values(), self._errors, poll)
                found = {about: answer.result() for about, answer in answers.items()}
                for answer in found.values():
                    check(answer)
            except self._library.KafkaException as error:
                poll()
                is_over = time.monotonic() + _RETRY_S >= begun_s + self._timeout_s
                if is_over or error.args[0].name() not in _PASSING:
                    raise self._errors.about(what, error.args[0]) from error
            else:
                return found
            time.sleep(_RETRY_S)


def _ours(theirs: Any) -> KafkaTopicPartition:
    return KafkaTopicPartition(theirs.topic, theirs.partition)
