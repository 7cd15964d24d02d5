"""A few fault runs from Kafka to Kafka; `make kafka-faults` makes many with random faults."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.exactly_once.fault_run import Case
from tests.kafka import faults
from tests.kafka.broker import Broker
from tests.kafka.log import CommittedLog

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("hit", [("job manager", "slot"), ("JVM", "worker")])
def test_each_record_goes_from_kafka_to_kafka_once_whatever_is_killed(
    broker: Broker, hit: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = faults.run(broker, Case("kafka totals", hit, seed=1, records=20_000), tmp_path, pauses=False)
    assert outcome.hit
    assert outcome.violations == []


def test_log_has_what_was_committed_and_not_what_was_aborted(broker: Broker) -> None:
    from confluent_kafka import Producer

    topic = broker.topic()
    producer = Producer({**broker.client, "transactional.id": topic})
    producer.init_transactions(10)
    for value, end in (("aborted", producer.abort_transaction), ("committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        end()
    log = CommittedLog(broker.servers, topic, 0)
    assert log.read() == [b"committed"]
    producer.begin_transaction()
    producer.produce(topic, "open")
    producer.flush()
    assert log.read() == [b"committed"]
    producer.commit_transaction()
    assert log.read() == [b"committed", b"open"]


def test_log_that_is_read_while_many_write_has_all(broker: Broker) -> None:
    from confluent_kafka import Producer

    topic, writers, transactions = broker.topic(), 8, 100

    def write(number: int) -> None:
        producer = Producer({**broker.client, "transactional.id": f"{topic}-{number}"})
        producer.init_transactions(10)
        for _ in range(transactions):
            producer.begin_transaction()
            producer.produce(topic, "a")
            producer.produce(topic, "b")
            producer.commit_transaction(10)

    log = CommittedLog(broker.servers, topic, 0)
    with ThreadPoolExecutor(writers) as pool:
        written = [pool.submit(write, number) for number in range(writers)]
        while not all(one.done() for one in written):
            log.read()
    for one in written:
        one.result()
    assert len(log.read()) == 2 * writers * transactions
