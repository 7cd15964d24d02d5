"""Tests of the fraud alert, from the function to the job, without Java and Spark.

pip install pytest
pytest examples/test_fraud_alert.py
"""

import operator

import pytest
from fraud_alert import PAYMENTS, FraudDetector, alerts

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.testing import Fault, keyed_harness, run_local


def detector(**options):
    return keyed_harness(FraudDetector(), key=operator.itemgetter(0), **options)


def pay(harness, card, second, amount):
    harness.process((card, second, amount), timestamp=second * 1000)


def test_a_large_payment_after_a_small_one_is_an_alert():
    with detector() as harness:
        pay(harness, "4711", 20, 0.09)
        pay(harness, "4711", 55, 510.00)
        assert harness.values == []  # Nothing is judged before the watermark has passed.
        harness.watermark(55_000)
        assert harness.take() == ["card 4711: 510.00 at second 55, 35 s after a small payment"]
        harness.watermark(120_000)
        assert harness.take() == []


def test_payments_may_arrive_out_of_order_and_cards_do_not_mix():
    with detector() as harness:
        pay(harness, "1234", 130, 650.00)
        pay(harness, "4711", 128, 0.50)
        pay(harness, "1234", 125, 0.75)
        harness.watermark(200_000)
        assert harness.values == ["card 1234: 650.00 at second 130, 5 s after a small payment"]


def test_state_and_timers_survive_a_failure():
    with detector() as harness:
        pay(harness, "4711", 20, 0.09)
        pay(harness, "4711", 55, 510.00)
        checkpoint = harness.snapshot()
    with detector(snapshot=checkpoint) as restored:
        restored.watermark(55_000)
        assert len(restored.values) == 1


@pytest.mark.parametrize("faults", [[], [Fault(batch=1, stage=0, slot=0)]])
def test_the_whole_job_finds_two_alerts_even_if_a_slot_dies(faults):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    alerts(env, PAYMENTS).collect_async()
    result = run_local(env, batch_elements=4, faults=faults)
    assert not result.missed_faults
    assert sorted(result.elements) == [
        "card 1234: 650.00 at second 130, 5 s after a small payment",
        "card 4711: 510.00 at second 55, 35 s after a small payment",
    ]
