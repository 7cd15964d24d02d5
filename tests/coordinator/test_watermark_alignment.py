"""Sources of an alignment group wait for each other."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Configuration, Duration, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.task.batch_plan import StageReport, SubtaskReport
from firesteel.testing import run_local

DRIFT = 5_000
COUNT = 50_000


class Times(TimestampAssigner):
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * self.factor


def program(groups: tuple[str | None, str | None], parallelism: int = 1) -> StreamExecutionEnvironment:
    """Two sources; time passes ten times as fast in the first as in the second."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(parallelism)
    streams = []
    for group, factor in zip(groups, (10, 1), strict=True):
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times(factor))
        if group is not None:
            strategy = strategy.with_watermark_alignment(group, Duration.of_millis(DRIFT))
        source = NumberSequenceSource(0, COUNT - 1)
        streams.append(env.from_source(source, strategy, f"times {factor}", Types.LONG()))
    streams[0].union(streams[1]).map(lambda n: 1, Types.INT()).collect_async()
    return env


class Simulation:
    """Runs the plans of an enumerator as if each element moved its reader's watermark as the program says."""

    def __init__(self, env: StreamExecutionEnvironment, elements: int) -> None:
        graph = env.get_stream_graph().get_job_graph()
        self.enumerator = SplitEnumerator(graph, {}, elements)
        self.factors = {v.id: 10 if "times 10" in v.name else 1 for v in graph.vertices if not v.inputs}
        self.watermarks = dict.fromkeys(self.factors, 0)
        self.read = dict.fromkeys(self.factors, 0)
        self.largest_drift = self.batches = 0

    def run(self, idle: str | None = None) -> None:
        while not self.enumerator.has_ended:
            plan = self.enumerator.plan(0)
            assert plan.ranges or plan.ended, "everybody waits"
            for (vertex, _), parts in plan.ranges.items():
                self.read[vertex] += sum(part.end - part.start for part in parts)
                self.watermarks[vertex] = max(part.end for part in parts) * self.factors[vertex]
            fast, slow = self.watermarks.values()
            if all(read < COUNT for read in self.read.values()):
                self.largest_drift = max(self.largest_drift, abs(fast - slow))
            self.batches += 1
            reports = [
                SubtaskReport(vertex, 0, 0, 0, read == COUNT, None if read == COUNT or vertex == idle else watermark)
                for (vertex, watermark), read in zip(self.watermarks.items(), self.read.values(), strict=True)
            ]
            self.enumerator.batch_ended([StageReport(0, 0, reports, [], None, (), 0)])


@pytest.mark.parametrize("elements", [1_000, 20_000])
def test_aligned_sources_stay_together_and_are_read_to_their_ends(elements: int) -> None:
    simulation = Simulation(program(("g", "g")), elements)
    simulation.run()
    assert set(simulation.read.values()) == {COUNT}
    assert simulation.largest_drift <= 10_000 + DRIFT  # The first batch reads 1000 elements, as the pace is not known.


@pytest.mark.parametrize("groups", [(None, None), ("one", "other"), ("g", None)])
def test_sources_that_share_no_group_do_not_wait(groups: Any) -> None:
    simulation = Simulation(program(groups), 1_000)
    simulation.run()
    assert simulation.largest_drift > 400_000
    assert simulation.batches == COUNT // 1_000


def test_idle_source_does_not_hold_back_others() -> None:
    simulation = Simulation(program(("g", "g")), 1_000)
    slow = next(vertex for vertex, factor in simulation.factors.items() if factor == 1)
    simulation.run(idle=slow)
    assert simulation.batches == COUNT // 1_000


def test_aligned_job_gives_all_results_in_more_batches() -> None:
    found = {groups: run_local(program(groups, 2), batch_elements=10_000) for groups in (("g", "g"), (None, None))}
    aligned, free = found["g", "g"], found[None, None]
    assert len(aligned.elements) == len(free.elements) == 2 * COUNT
    assert aligned.batches > 2 * free.batches
