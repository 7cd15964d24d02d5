"""What batches read: splits of the user's own sources, as they grow, are restored and dealt to other subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.graph.job_graph import JobGraph
from firesteel.task.slot_tasks import BatchPlan
from firesteel.testing import run_local

LENGTHS: dict[str, int] = {}
"""How long the splits of `Growing` are by now."""


class Growing(Source):
    """Splits that become longer; the element at a position is the split's name and the position."""

    discovery_interval_ms = 10

    def __init__(self, bounded: bool = False) -> None:
        super().__init__()
        self.bounded = bounded

    def is_bounded(self) -> bool:
        return self.bounded

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit(name, 100 + length, start=100) for name, length in LENGTHS.items()]

    def read_split(self, split_id: str, start: int, end: int) -> Any:
        return (f"{split_id}{position}" for position in range(start, end))


@pytest.fixture(autouse=True)
def lengths() -> None:
    LENGTHS.clear()
    LENGTHS.update({"a": 3, "b": 0, "c": 5})


def graph_of(source: Any, parallelism: int = 2) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "source").uid("source").print()
    return env.get_stream_graph().get_job_graph()


def enumerator(source: Any, parallelism: int = 2, elements: int = 4) -> SplitEnumerator:
    return SplitEnumerator(graph_of(source, parallelism), elements)


def read(plan: BatchPlan) -> dict[int, list[tuple[str, int, int]]]:
    """Subtask -> (split, from, to)."""
    return {
        subtask: [(part.split.split_id, part.start, part.end) for part in parts]
        for (_, subtask), parts in plan.ranges.items()
    }


def test_a_split_is_read_as_far_as_it_has_grown_and_no_further() -> None:
    splits = enumerator(Growing())
    assert read(splits.plan(0)) == {0: [("a", 0, 3), ("c", 0, 1)]}
    assert read(splits.plan(1)) == {0: [("c", 1, 5)]}
    assert read(splits.plan(2)) == {}
    LENGTHS.update({"a": 4, "b": 2, "d": 1})
    assert read(splits.plan(5)) == {}, "it is not time to look again"
    assert splits.pause_s(5) == pytest.approx(0.005)
    assert read(splits.plan(10)) == {0: [("a", 3, 4)], 1: [("b", 0, 2), ("d", 0, 1)]}
    assert not splits.has_ended


def test_positions_are_restored_in_another_parallelism() -> None:
    splits = enumerator(Growing())
    splits.plan(0)
    later = enumerator(Growing(), parallelism=3)
    later.restore(splits.snapshot())
    assert read(later.plan(1)) == {2: [("c", 1, 5)]}
    LENGTHS["a"] = 7
    assert read(later.plan(20)) == {0: [("a", 3, 7)]}


def test_a_source_of_ones_own_is_read_once_in_all_modes(tmp_path: Path) -> None:
    for parallelism in (1, 3):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        source = env.from_source(Growing(bounded=True), WatermarkStrategy.no_watermarks(), "own", Types.STRING())
        source.print()
        found = run_local(env, batch_elements=2).lines
        assert sorted(line.split("> ")[-1] for line in found) == [*(f"a{100 + i}" for i in range(3))] + [
            f"c{100 + i}" for i in range(5)
        ]


def test_what_can_not_be_read_is_refused_with_what_can() -> None:
    with pytest.raises(NotImplementedError, match=r"no reader for source Source: .*discover_splits\(\)"):
        enumerator(Source())


def test_what_is_kept_of_read_files_is_bounded_by_the_directory(tmp_path: Path) -> None:
    text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    splits = enumerator(text.monitor_continuously(Duration.of_millis(1)).build())
    sizes = []
    for number in range(20):
        path = tmp_path / f"{number:02}"
        path.write_text("line\n")
        assert len(splits.plan(10 * number).ranges) == 1
        path.unlink()
        sizes.append(len(splits.snapshot()))
    assert sizes[-1] <= sizes[1] + 200


@pytest.mark.parametrize(("interval_s", "target_s"), [(0, 2), (60, 2), (1, 1), (0.01, 0.25)])
@pytest.mark.parametrize("element_s", [0.002, 0.000_001])
def test_batches_begin_small_and_grow_to_the_interval_of_checkpoints(
    interval_s: float, target_s: float, element_s: float
) -> None:
    """A function that takes 2 ms an element holds nothing back for minutes; one of 1 us gets large batches soon."""
    LENGTHS.update({"a": 50_000_000})
    splits = SplitEnumerator(graph_of(Growing(bounded=True), 1), checkpoint_interval_s=interval_s)
    batches: list[float] = []
    for _ in range(5):
        ((_, start, end),) = read(splits.plan(0))[0]
        batches.append(0.08 + element_s * (end - start))
        splits.batch_took(batches[-1])
    assert batches[0] < 2.2
    assert batches[-1] == pytest.approx(0.08 + target_s, rel=0.02)
