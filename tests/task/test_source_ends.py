"""A subtask of a source ends before the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import ProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.testing import Fault, run_local

pytestmark = pytest.mark.slow

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Uneven(Source):
    """The first split has few elements, the second many; the time of an element is its position."""

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit("short", 30), SourceSplit("long", 300)]

    def read_split(self, split_id: str, start: int, end: int) -> Any:
        return [(split_id, position) for position in range(start, end)]


class Position(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def stream_of(env: StreamExecutionEnvironment, source: Source) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Position())
    return env.from_source(source, strategy, "uneven", PAIR)


class Watermarks(ProcessFunction):
    """Gives the watermark that was current at each element."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value[0], value[1], ctx.timer_service().current_watermark()


SEEN = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


def test_watermark_advances_after_one_subtask_of_a_source_has_ended() -> None:
    env = environment()
    watermarks = stream_of(env, Uneven()).rebalance().process(Watermarks(), SEEN).set_parallelism(1)
    watermarks.collect_async()
    found = run_local(env, batch_elements=10).elements
    assert len(found) == 330
    assert max(mark for name, position, mark in found if name == "long") > 200


def counts(env: StreamExecutionEnvironment) -> None:
    windows = stream_of(env, Uneven()).key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windows.reduce(lambda a, b: (a[0], a[1] + b[1])).collect_async()


EXPECTED = sorted(
    (name, sum(range(start, start + 10))) for name, end in (("short", 30), ("long", 300)) for start in range(0, end, 10)
)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_no_element_is_late_however_splits_are_assigned(parallelism: int, mode: RuntimeExecutionMode) -> None:
    env = environment(parallelism)
    env.set_runtime_mode(mode)
    counts(env)
    assert sorted(run_local(env, batch_elements=7).elements) == EXPECTED


@pytest.mark.parametrize("batch", [3, 5, 8])
def test_a_slot_killed_after_its_source_ended_does_not_end_it_twice(batch: int) -> None:
    env = environment()
    counts(env)
    faults = [Fault(batch, stage, slot) for stage in (0, 1) for slot in (0, 1)]
    assert sorted(run_local(env, batch_elements=10, faults=faults, replayed=[batch + 1]).elements) == EXPECTED


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_job_resumes_from_a_savepoint_in_which_some_subtasks_had_ended(parallelism: int, tmp_path: Path) -> None:
    def program(parallelism: int) -> StreamExecutionEnvironment:
        env = environment(parallelism)
        windows = (
            stream_of(env, Uneven())
            .key_by(lambda v: v[0])
            .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        )
        windows.uid("windows").collect_async()
        return env

    first = run_local(program(2), batch_elements=10, batches=5, savepoint=tmp_path / "savepoints")
    ended = {subtask for (name, subtask), report in first.subtasks.items() if "uneven" in name and report.has_ended}
    assert ended == {0}
    env = program(parallelism)
    graph = env.get_stream_graph().get_job_graph()
    graph.configuration["execution.state-recovery.path"] = str(first.savepoint)
    second = run_local(graph, batch_elements=10, checkpoint=tmp_path / "second")
    assert sorted(first.elements + second.elements) == EXPECTED
    assert all(report.has_ended for report in second.subtasks.values())


@pytest.mark.parametrize("parallelism", [2, 3])
def test_failed_job_resumes_after_some_subtasks_had_ended(parallelism: int, tmp_path: Path) -> None:
    graphs = []
    for _ in range(2):
        env = environment()
        counts(env)
        graphs.append(env.get_stream_graph().get_job_graph())
    graphs[1].job_id = graphs[0].job_id
    first = run_local(graphs[0], batch_elements=10, batches=5, checkpoint=tmp_path)
    second = run_local(graphs[1], batch_elements=10, checkpoint=tmp_path)
    assert sorted(first.elements + second.elements) == EXPECTED


@pytest.mark.parametrize("parallelism", [1, 2])
def test_watermark_of_a_hybrid_source_is_not_held_back_by_the_sources_before(parallelism: int) -> None:
    class Later(Uneven):
        def discover_splits(self) -> Sequence[SourceSplit]:
            return [SourceSplit("later", 900, start=300), SourceSplit("latest", 700, start=300)]

    env = environment(parallelism)
    source = HybridSource.builder(Uneven()).add_source(Later()).build()
    watermarks = stream_of(env, source).rebalance().process(Watermarks(), SEEN).set_parallelism(1)
    watermarks.collect_async()
    found = run_local(env, batch_elements=20).elements
    assert len(found) == 330 + 600 + 400
    assert all(mark < position for _, position, mark in found), "nothing is late"
    assert max(mark for name, _, mark in found if name == "later") > 800


def test_drain_ends_the_remaining_subtasks() -> None:
    env = environment()
    counts(env)
    graph = env.get_stream_graph().get_job_graph()
    splits = SplitEnumerator(graph, {}, 10)
    found = set()
    for _ in range(4):
        found |= {subtask for _, subtask in splits.plan(0).ended}
    assert found == {0}
    assert {subtask for _, subtask in splits.plan_end().ended} == {1}
    assert splits.has_ended
