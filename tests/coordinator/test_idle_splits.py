"""The enumerator decides which splits are idle, by what there is to read and by time in which the job waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.functions.splits import WITHOUT_SPLITS
from firesteel.task.batch_plan import BatchPlan, StageReport, SubtaskReport

TIMEOUT_MS = 1_000
LENGTHS: dict[str, int] = {}


class Growing(Source):
    """Splits that become longer; the element at a position is the position."""

    discovery_interval_ms = 100

    def is_bounded(self) -> bool:
        return False

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit(name, length) for name, length in LENGTHS.items()]

    def read_split(self, split_id: str, start: int, end: int) -> Any:
        return range(start, end)


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


STRATEGY = (
    WatermarkStrategy.for_monotonous_timestamps()
    .with_timestamp_assigner(Itself())
    .with_idleness(Duration.of_millis(TIMEOUT_MS))
)


class Region:
    """An enumerator with the time that its batches and waits take."""

    def __init__(self, parallelism: int = 2, elements: int = 10, strategy: WatermarkStrategy = STRATEGY) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        env.from_source(Growing(), strategy, "source", Types.INT()).uid("source").print()
        self.graph = env.get_stream_graph().get_job_graph()
        self.enumerator = SplitEnumerator(self.graph, {}, elements)
        self.now_ms = 0

    def batch(self, takes_s: float = 0.01) -> BatchPlan:
        plan = self.enumerator.plan(self.now_ms)
        self.now_ms += round(1000 * takes_s)
        self.enumerator.batch_took(takes_s, takes_s)
        return plan

    def wait(self, seconds: float, meant_s: float | None = None) -> None:
        self.now_ms += round(1000 * seconds)
        self.enumerator.waited(seconds, seconds if meant_s is None else meant_s)

    def until_idle(self, splits: set[str]) -> int:
        """Wait until the plan says that splits are idle; return how long it took in ms."""
        begun_ms = self.now_ms
        while idle_splits(self.batch()) != splits:
            self.wait(max(0.001, self.enumerator.pause_s(self.now_ms)))
            assert self.now_ms < begun_ms + 100 * TIMEOUT_MS
        return self.now_ms - begun_ms

    def report(self, *watermarks: int | None) -> None:
        vertex = self.graph.vertices[0].id
        reports = [SubtaskReport(vertex, s, 0, 0, False, watermark) for s, watermark in enumerate(watermarks)]
        self.enumerator.batch_ended([StageReport(0, 0, reports, [], None, (), 0)])


@pytest.fixture(autouse=True)
def lengths() -> None:
    LENGTHS.clear()
    LENGTHS.update({"a": 0, "b": 0})


def idle_splits(plan: BatchPlan) -> set[str]:
    return {split for idleness in plan.idle.values() for split in idleness.splits}


def read(plan: BatchPlan) -> dict[str, int]:
    return {p.split.split_id: p.end - p.start for parts in plan.ranges.values() for p in parts if p.end > p.start}


def test_split_with_nothing_to_read_is_idle_after_the_timeout() -> None:
    region = Region()
    assert TIMEOUT_MS <= region.until_idle({"a", "b"}) <= 1.2 * TIMEOUT_MS


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("takes_s", [0.01, 30.0])
def test_split_with_a_backlog_is_never_idle_however_long_batches_take(parallelism: int, takes_s: float) -> None:
    LENGTHS.update({"a": 10**12, "b": 10**12})
    region = Region(parallelism)
    plans = [region.batch(takes_s) for _ in range(40)]
    assert [plan.idle for plan in plans] == [{}] * 40
    assert sum(read(plan).get("b", 0) for plan in plans) > 0


def test_split_held_by_alignment_is_not_idle() -> None:
    LENGTHS.update({"a": 10**12, "b": 10**12})
    strategy = STRATEGY.with_watermark_alignment("group", Duration.of_millis(5))
    region = Region(strategy=strategy)
    for _ in range(20):
        plan = region.batch(takes_s=10.0)
        region.report(50_000, 10)
        assert plan.idle == {}
        region.wait(10.0)
    assert "a" not in read(plan), "it is held"


def test_empty_split_becomes_idle_beside_one_with_a_backlog() -> None:
    LENGTHS["b"] = 10**12
    region = Region()
    region.batch(), region.batch()
    batches = 0
    while "a" not in idle_splits(region.batch(takes_s=0.3)):
        batches += 1
        assert batches < 50
    assert batches >= TIMEOUT_MS / 300 - 1


def test_batch_commit_or_pause_that_takes_longer_than_meant_makes_nothing_idle() -> None:
    region = Region()
    for _ in range(5):
        region.batch(takes_s=0.01)
        region.wait(0.05)
    assert region.batch(takes_s=600.0).idle == {}
    assert region.batch().idle == {}
    region.wait(600.0, meant_s=0.05)
    assert region.batch().idle == {}


def test_source_is_asked_once_more_before_a_split_is_idle() -> None:
    region = Region()
    region.batch()
    region.wait(TIMEOUT_MS / 1000)
    LENGTHS["a"] = 5
    plan = region.batch()
    assert (idle_splits(plan), read(plan)) == ({"b"}, {"a": 5})


def test_readers_learn_that_a_split_awakes_before_anything_is_read() -> None:
    region = Region()
    region.until_idle({"a", "b"})
    region.report(None, None)
    LENGTHS.update({"a": 5, "b": 5})
    region.wait(0.1)
    plan = region.batch()
    assert (read(plan), idle_splits(plan), len(plan.idle)) == ({}, set(), 2)
    assert read(region.batch()) == {"a": 5, "b": 5}


def test_awaking_subtask_gets_the_watermark_that_its_receivers_have_reached() -> None:
    LENGTHS.update({"a": 50, "b": 10})
    region = Region()
    region.batch()
    region.report(9, 9)
    while read(region.batch()):
        pass
    region.report(49, 9)
    region.until_idle({"a", "b"})
    region.report(None, None)
    LENGTHS["b"] = 15
    region.wait(0.1)
    (idleness,) = region.batch().idle.values()
    assert idleness.passed == 49, "if all are idle, the largest watermark counts"
    region.report(None, 49)
    assert read(region.batch()) == {"b": 5}


def test_subtask_without_splits_is_idle_after_the_timeout() -> None:
    LENGTHS.clear()
    LENGTHS["a"] = 10**12
    region = Region()
    found = set()
    for _ in range(50):
        found |= idle_splits(region.batch(takes_s=0.1))
        region.wait(0.1)
    assert found == {WITHOUT_SPLITS}


def test_restored_readers_are_told_anew_before_anything_is_read() -> None:
    first = Region()
    first.until_idle({"a", "b"})
    LENGTHS["a"] = 5
    later = Region()
    later.enumerator.restore(first.enumerator.snapshot())
    plan = later.batch()
    assert (read(plan), set(plan.idle), idle_splits(plan)) == (
        {},
        {(later.graph.vertices[0].id, s) for s in (0, 1)},
        set(),
    )
    assert read(later.batch()) == {"a": 5}


def test_discovery_goes_on_although_the_clock_of_an_earlier_run_was_ahead() -> None:
    first = Region()
    first.now_ms = 3_600_000
    first.batch()
    LENGTHS["a"] = 5
    later = Region()
    later.enumerator.restore(first.enumerator.snapshot())
    later.batch()
    assert read(later.batch()) == {"a": 5}
