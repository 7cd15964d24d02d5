"""The wait for the delivery of records, without a broker."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextvars import copy_context

import confluent_kafka
import pytest
from confluent_kafka import KafkaException

from firesteel.common.cancellation import let_cancel
from firesteel.connectors.kafka.client import PATIENCE_S, KafkaAdmin, KafkaError, LastError, answer_of
from firesteel.connectors.kafka.transactions import TransactionalProducer
from firesteel.connectors.kafka.writer import RecordProducer


class Interrupted(Exception):
    """What a cancelled task raises, between two calls of the client."""


def test_a_flush_can_be_interrupted_and_says_what_it_waits_for(caplog, monkeypatch):
    producer = RecordProducer({"bootstrap.servers": "localhost:9", "delivery.timeout.ms": "120000"})
    producer.produce([("topic", None, b"value", 0, None)])
    now_s = 0.0

    class Client:
        def flush(self, timeout_s: float) -> int:
            nonlocal now_s
            assert timeout_s <= 1  # Nothing interrupts the client itself.
            now_s += timeout_s
            if now_s > 2 * PATIENCE_S:
                raise Interrupted
            return 1

    monkeypatch.setattr("firesteel.connectors.kafka.writer.time.monotonic", lambda: now_s)
    producer.client.purge()
    producer.client = Client()
    with pytest.raises(Interrupted):
        producer.flush()
    (told,) = [record.getMessage() for record in caplog.records]
    assert "could not write 1 records: no answer yet" in told
    assert told.endswith("trying for 120 s")


def test_records_that_are_not_delivered_in_time_fail_the_job():
    producer = RecordProducer({"bootstrap.servers": "localhost:9", "delivery.timeout.ms": "500", "linger.ms": "0"})
    producer.produce([("topic", None, b"value", 0, None)])
    with pytest.raises(KafkaError, match="could not write"):
        producer.flush()


@pytest.mark.parametrize("call", ["ask", "transaction"])
def test_a_cancelled_job_does_not_wait_for_brokers_that_are_out_of_reach(call):
    asks = {
        "ask": lambda: KafkaAdmin({"bootstrap.servers": "localhost:9"}).partitions(),
        "transaction": lambda: TransactionalProducer({"bootstrap.servers": "localhost:9"}, "writer"),
    }

    def of_cancelled_job() -> None:
        let_cancel(lambda: True)
        with pytest.raises(KafkaError, match=r"Kafka at localhost:9: .*the job is cancelled; .*Connection refused"):
            asks[call]()

    copy_context().run(of_cancelled_job)


def test_a_cancelled_job_waits_for_brokers_that_answer_soon(monkeypatch):
    errors, polls = LastError("localhost:9"), threading.Semaphore(0)

    def answer() -> str:
        for _ in range(10):  # as often as a job that waits for those that do not answer never asks
            polls.acquire()
        return "answer"

    def of_cancelled_job() -> str:
        let_cancel(lambda: True)
        return answer_of(answer, errors, polls.release)

    assert copy_context().run(of_cancelled_job) == "answer"
    monkeypatch.setattr("firesteel.connectors.kafka.client._PAUSED_GRACE_S", 0.5)
    with pytest.raises(KafkaError, match="could not wait for an answer any longer: the job is cancelled"):
        copy_context().run(of_cancelled_job)


def test_answers_that_it_is_too_soon_are_told_of_like_none(caplog, monkeypatch):
    admin = KafkaAdmin({"bootstrap.servers": "localhost:9", "request.timeout.ms": "1000"})
    monkeypatch.setattr("firesteel.connectors.kafka.client.PATIENCE_S", 0.3)

    class Client:
        def poll(self, timeout_s: float) -> None:
            pass

        def list_consumer_group_offsets(self, request: object, **how: object) -> dict[str, Future[None]]:
            answer: Future[None] = Future()
            answer.set_exception(
                KafkaException(confluent_kafka.KafkaError(confluent_kafka.KafkaError.COORDINATOR_LOAD_IN_PROGRESS))
            )
            return {"group": answer}

    admin._client = Client()
    with pytest.raises(KafkaError, match="could not look up offsets of group 'group'"):
        admin.committed("group", None)
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.endswith("no answer yet; trying for 1 s")
