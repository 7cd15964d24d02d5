"""Tests without Java and Spark: pytest test_job.py."""

from job import CLICKS, counts

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.testing import Fault, run_local


def results(clicks, **options):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    counts(env, clicks).collect_async()
    return sorted(run_local(env, **options).elements)


EXPECTED = [
    "/: 1 clicks from second 10",
    "/: 1 clicks from second 30",
    "/: 2 clicks from second 0",
    "/shop: 2 clicks from second 0",
]


def test_clicks_are_counted_by_event_time():
    assert results(CLICKS) == EXPECTED


def test_a_failure_changes_nothing():
    assert results(CLICKS, batch_elements=2, faults=[Fault(batch=1, stage=0, slot=0)]) == EXPECTED


def test_no_clicks_no_windows():
    assert results([("/", 1)]) == ["/: 1 clicks from second 0"]
