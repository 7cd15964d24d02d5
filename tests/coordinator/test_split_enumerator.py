"""Input of batches: splits of custom sources that grow, are restored, and are reassigned to other subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.common.encoding import decoded, encoded_data
from firesteel.coordinator.source_metrics import SourceMetrics
from firesteel.coordinator.source_splits import KnownKeys, SourceSplits, deal, fill
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.functions.splits import Split, Stop
from firesteel.graph.job_graph import JobGraph
from firesteel.task.batch_plan import BatchPlan, StageReport, SubtaskReport
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
    return SplitEnumerator(graph_of(source, parallelism), {}, elements)


def read(plan: BatchPlan) -> dict[int, list[tuple[str, int, int]]]:
    """Subtask -> (split, from, to)."""
    return {
        subtask: [(part.split.split_id, part.start, part.end) for part in parts]
        for (_, subtask), parts in plan.ranges.items()
    }


def test_a_split_is_read_up_to_its_current_end() -> None:
    splits = enumerator(Growing())
    assert read(splits.plan(0)) == {0: [("a", 100, 102), ("c", 100, 102)], 1: [("b", 100, 100)]}
    assert read(splits.plan(1)) == {0: [("a", 102, 103), ("c", 102, 105)]}
    assert read(splits.plan(2)) == {}
    LENGTHS.update({"a": 4, "b": 2, "d": 1})
    assert read(splits.plan(5)) == {}, "it is not time to look again"
    assert splits.pause_s(5) == pytest.approx(0.005)
    assert read(splits.plan(10)) == {0: [("a", 103, 104)], 1: [("b", 100, 102), ("d", 100, 101)]}
    assert not splits.has_ended


def test_positions_are_restored_in_another_parallelism() -> None:
    splits = enumerator(Growing())
    splits.plan(0)
    later = enumerator(Growing(), parallelism=3)
    later.restore(splits.snapshot())
    assert read(later.plan(1)) == {0: [("a", 102, 103)], 1: [("b", 100, 100)], 2: [("c", 102, 105)]}
    LENGTHS["a"] = 7
    assert read(later.plan(20)) == {0: [("a", 103, 107)]}


class Retained(Source):
    """One split whose oldest records are deleted."""

    discovery_interval_ms = 1
    first = last = 0

    def is_bounded(self) -> bool:
        return False

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit("log", self.last, start=self.first)]

    def read_split(self, split_id: str, start: int, end: int) -> Any:
        raise NotImplementedError


def test_a_moving_start_position_skips_no_existing_record() -> None:
    source = Retained()
    source.last = 10
    splits = enumerator(source, 1, elements=6)
    assert read(splits.plan(0)) == {0: [("log", 0, 6)]}
    source.first, source.last = 3, 12
    assert read(splits.plan(1)) == {0: [("log", 6, 12)]}
    later = enumerator(source, 1, elements=6)
    later.restore(splits.snapshot())
    source.first, source.last = 20, 40
    assert read(later.plan(2)) == {0: [("log", 20, 26)]}, "what was deleted unread is gone, and nothing else"


@pytest.mark.parametrize("splits", [2, 3, 50])
def test_reading_is_fair_over_the_splits_of_a_subtask(splits: int) -> None:
    LENGTHS.clear()
    LENGTHS.update({str(number): 40 * (number + 1) for number in range(splits)})
    reader = enumerator(Growing(bounded=True), 1, elements=20)
    done = dict.fromkeys(LENGTHS, 0)
    while not reader.has_ended:
        for name, start, end in read(reader.plan(0)).get(0, ()):
            assert start == 100 + done[name], "in order, and nothing twice"
            done[name] += end - start
        begun = [done[name] for name in done if done[name] < LENGTHS[name]]
        assert not begun or max(begun) - min(begun) <= 20
    assert done == LENGTHS


def test_budget_is_shared_among_splits_and_whole_ones_starve_no_other() -> None:
    assert deal(10, [3, 100, 100], [False] * 3) == [3, 3, 3]
    assert deal(2, [5, 5, 5], [False] * 3) == [1, 1, 0]
    shares = deal(10, [100, 100, 100, 7], [True, True, False, False])
    assert shares[:2] == [100, 0]
    assert shares[2:] == [2, 2]
    assert deal(100, [10, 10, 10], [True, True, True]) == [10, 10, 10]
    assert deal(0, [10, 10], [True, False]) == [0, 0]


@pytest.mark.parametrize(
    ("strategy", "read_first"),
    [
        (WatermarkStrategy.no_watermarks(), {"a": 100, "b": 60}),
        (WatermarkStrategy.for_monotonous_timestamps(), {"a": 53, "b": 53, "c": 53}),
    ],
)
def test_files_without_watermarks_are_read_one_after_the_other(
    strategy: WatermarkStrategy, read_first: dict[str, int], tmp_path: Path
) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"0123456789" * 10)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    splits = SourceSplits(source, 1, has_watermarks=strategy.generator_kind != "none")
    splits.discover(0)
    found = {Path(part.split.path).name: part.end - part.start for part in splits.take(0, 160)}
    assert {name: units for name, units in found.items() if units} == read_first


def test_splits_are_filled_in_order() -> None:
    assert fill(10, [3, 100, 100], [False] * 3) == [3, 7, 0]
    assert fill(10, [100, 5], [True, False]) == [100, 0], "the first one is read in any case"
    assert fill(10, [4, 5, 5], [True] * 3) == [4, 5, 0]
    assert fill(10, [4, 7, 1], [False, True, False]) == [4, 0, 0], "none is read before an earlier one"
    assert fill(0, [10, 10], [True, False]) == [0, 0]


def test_finished_splits_are_forgotten() -> None:
    splits = enumerator(Growing(), elements=1_000)
    sizes = []
    for number in range(60):
        LENGTHS.clear()
        LENGTHS[f"hour {number}"] = 5
        plan = splits.plan(10 * number)
        ends = [part.is_last for parts in plan.ranges.values() for part in parts]
        assert sorted(ends) == ([False, True] if number else [False])
        sizes.append(len(splits.snapshot()))
    assert max(sizes) <= sizes[0] + 50


class Closing(Growing):
    """Reports finished splits, and keeps listing them."""

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit(name, length, is_finished=name < "c") for name, length in LENGTHS.items()]


def test_finished_split_is_read_once_although_it_is_still_listed() -> None:
    splits = enumerator(Closing(), 1, elements=100)
    first = splits.plan(0).ranges
    assert [[(p.split.split_id, p.is_last) for p in parts] for parts in first.values()] == [
        [("a", True), ("c", False), ("b", True)]
    ]
    later = enumerator(Closing(), 1)
    later.restore(splits.snapshot())
    assert read(later.plan(50)) == {0: [("c", 5, 5)]}
    assert read(later.plan(100)) == {}


def test_finished_splits_add_no_planning_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    LENGTHS.clear()
    LENGTHS.update({str(number): 1 for number in range(2_000)})
    splits = enumerator(Growing(), elements=1_000_000)
    splits.plan(0)
    calls = []
    monkeypatch.setattr(SourceSplits, "_position", lambda *args: calls.append(args))
    assert read(splits.plan(5)) == read(splits.plan(10)) == {}
    assert not calls


def ended(plan: BatchPlan) -> list[int]:
    return sorted(subtask for _, subtask in plan.ended)


def test_a_subtask_ends_when_its_own_splits_are_read() -> None:
    splits = enumerator(Growing(bounded=True), parallelism=4)
    assert ended(splits.plan(0)) == [0, 1, 3], "of a few elements, of none and without splits"
    later = enumerator(Growing(bounded=True), parallelism=4)
    later.restore(splits.snapshot())
    assert ended(later.plan(1)) == [0, 1, 2, 3], "what had ended ends once more, for operators of another job"
    assert later.has_ended


class Paced(Growing):
    """A bounded source whose splits become readable over time, up to a known end."""

    grows_to_end = True

    def __init__(self) -> None:
        super().__init__(bounded=True)

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit(name, min(length, 4), final_end=4) for name, length in LENGTHS.items()]


def test_bounded_source_that_grows_is_read_to_its_final_end() -> None:
    splits = enumerator(Paced(), parallelism=4, elements=100)
    assert not splits.endless
    plan = splits.plan(0)
    assert read(plan) == {0: [("a", 0, 3)], 1: [("b", 0, 0)], 2: [("c", 0, 4)]}
    assert ended(plan) == [2, 3]
    LENGTHS["a"] = 4
    plan = splits.plan(10)
    assert read(plan) == {0: [("a", 3, 4)]}
    assert ended(plan) == [0]
    later = enumerator(Paced(), parallelism=3, elements=100)
    later.restore(splits.snapshot())
    LENGTHS["b"] = 9
    plan = later.plan(20)
    assert read(plan) == {0: [("b", 0, 4)]}, "finished splits are not read again"
    assert later.has_ended


def test_bounded_source_that_grows_is_read_at_once_in_batch_mode() -> None:
    assert read(enumerator(Paced()).plan_all()) == {0: [("a", 0, 4), ("c", 0, 4)], 1: [("b", 0, 4)]}


def hybrid(*sources: Source) -> Source:
    builder = HybridSource.builder(sources[0])
    for source in sources[1:]:
        builder.add_source(source)
    return builder.build()


class Listed(Growing):
    """Counts how often it is listed."""

    def __init__(self, bounded: bool) -> None:
        super().__init__(bounded)
        self.times = 0

    def discover_splits(self) -> Sequence[SourceSplit]:
        self.times += 1
        return super().discover_splits()


def test_growing_last_source_of_a_hybrid_is_read_further_and_earlier_ones_are_listed_once() -> None:
    first, last = Listed(True), Listed(False)
    splits = enumerator(hybrid(NumberSequenceSource(1, 3), first, last), 2, elements=100)
    assert read(splits.plan(0)) == {0: [("1", 1, 2)], 1: [("2", 2, 4)]}
    assert read(splits.plan(1))[0] == [("a", 100, 103), ("c", 100, 105)]
    assert last.times == 0, "it begins when the one before was read in all subtasks"
    assert read(splits.plan(2))[0] == [("a", 100, 103), ("c", 100, 105)]
    later = enumerator(hybrid(NumberSequenceSource(1, 3), first, last), 2, elements=100)
    later.restore(splits.snapshot())
    LENGTHS["a"] = 8
    after = read(later.plan(20))
    assert {subtask: sorted(parts) for subtask, parts in after.items()} == {
        0: [("a", 103, 108), ("c", 105, 105)],
        1: [("b", 100, 100)],
    }
    LENGTHS["a"] = 9
    assert read(later.plan(40)) == {0: [("a", 108, 109)]}
    assert (first.times, last.times) == (1, 3)
    assert not later.has_ended
    assert later.endless


def test_monitored_directory_after_a_bounded_source_is_looked_at_again(tmp_path: Path) -> None:
    text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    monitored = text.monitor_continuously(Duration.of_millis(10)).build()
    splits = enumerator(hybrid(NumberSequenceSource(1, 3), monitored), 1, elements=100)
    (tmp_path / "a").write_text("line\n")
    assert read(splits.plan(0)) == {0: [("1", 1, 4)]}
    assert read(splits.plan(1)) == {0: [(f"{tmp_path}/a:0", 0, 5)]}
    (tmp_path / "b").write_text("line\n")
    assert read(splits.plan(5)) == {}
    assert read(splits.plan(11)) == {0: [(f"{tmp_path}/b:0", 0, 5)]}
    assert read(splits.plan(21)) == {}


def test_own_sources_of_a_hybrid_are_read_with_their_own_split_ids() -> None:
    for mode in RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(mode)
        env.set_parallelism(2)
        source = hybrid(Growing(True), hybrid(Growing(True), NumberSequenceSource(1, 2)))
        env.from_source(source, WatermarkStrategy.no_watermarks(), "own").map(str, Types.STRING()).collect_async()
        own = [f"a{100 + i}" for i in range(3)] + [f"c{100 + i}" for i in range(5)]
        assert sorted(run_local(env, batch_elements=2).elements) == sorted([*own, *own, "1", "2"])


def test_file_is_known_by_its_path_even_if_it_grows(tmp_path: Path) -> None:
    text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    splits = enumerator(text.monitor_continuously(Duration.of_millis(1)).build(), elements=1_000)
    (tmp_path / "a").write_text("line\n")
    (tmp_path / "b").write_text("")
    assert read(splits.plan(0)) == {0: [(f"{tmp_path}/a:0", 0, 5)]}
    (tmp_path / "a").write_text("line\nanother\n")
    (tmp_path / "b").write_text("line\n")
    later = enumerator(text.monitor_continuously(Duration.of_millis(1)).build(), elements=1_000)
    later.restore(splits.snapshot())
    assert read(later.plan(10)) == {1: [(f"{tmp_path}/b:0", 0, 5)]}


def test_the_state_of_many_known_files_is_small(tmp_path: Path) -> None:
    keys = KnownKeys({f"/data/in/2024-05-01/part-{number:05}.txt" for number in range(2_000)})
    packed = encoded_data(keys)
    assert len(packed) < 20_000
    assert decoded(packed).keys == keys.keys


def report(vertex_id: str, source_bytes: int, noted_part: float = 0.0) -> StageReport:
    subtask = SubtaskReport(vertex_id, 0, 0, 0, False, source_bytes=source_bytes)
    return StageReport(0, 0, [subtask], [], None, (), 0, noted_part=noted_part)


def test_batches_are_bounded_by_the_bytes_of_their_elements() -> None:
    LENGTHS.clear()
    LENGTHS["large"] = 1_000_000
    splits = SplitEnumerator(graph_of(Growing(bounded=True), 1), {})
    (((vertex, _), _),) = splits.plan(0).ranges.items()
    given = 64
    for size in (1_000_000, 1_000_000, 10_000, 1, 1, 1):
        splits.batch_ended([report(vertex, given * size)])
        splits.batch_took(0.1, 0.1)
        ((_, start, end),) = read(splits.plan(0))[0]
        given = end - start
        if size > 1:
            assert given * size <= 64 << 20
    assert given > 10_000, "small elements are bounded by time"


def test_batches_are_bounded_by_what_they_change_of_state_on_disk() -> None:
    LENGTHS.clear()
    LENGTHS["a"] = 100_000_000
    splits = SplitEnumerator(graph_of(Growing(bounded=True), 1), {})
    (((vertex, _), _),) = splits.plan(0).ranges.items()
    given, sizes = 64, []
    for entry_part in [0.000_001] * 8 + [0.0] * 4:
        splits.batch_ended([report(vertex, 0), report(vertex, 0, given * entry_part)])
        splits.batch_took(0.001 + given * 0.000_000_1, 0.1)
        ((_, start, end),) = read(splits.plan(0))[0]
        given = end - start
        sizes.append(given)
    assert max(sizes[:8]) == pytest.approx(250_000, rel=0.01)
    assert sizes[-1] > 4 * 250_000, "what changes nothing is bounded by time"


def test_a_small_batch_does_not_enlarge_the_next_one() -> None:
    splits = enumerator(Growing(), 1, elements=100)
    for _ in range(5):
        splits.plan(0)
        splits.batch_took(0.1, 0.1)
    LENGTHS["a"] = 1_000_000
    ((_, start, end),) = read(splits.plan(50))[0]
    assert end - start == 100


def test_a_batch_is_small_by_the_work_of_its_elements_however_long_the_last_one_took() -> None:
    LENGTHS.clear()
    LENGTHS["a"] = 1_000_000
    splits = enumerator(Growing(), 1, elements=100)
    small = []
    for element_s in (1.0, 0.000_01, 1.0, 0.000_01, 0.000_01):  # first the start of the operators
        ((_, start, end),) = read(splits.plan(0))[0]
        assert 1 < end - start < 20_000
        small.append(splits.is_small)
        splits.batch_took(10.0, element_s * (end - start))
    assert small == [True, True, True, False, True]


def test_a_custom_source_is_read_once_in_all_modes(tmp_path: Path) -> None:
    for parallelism in (1, 3):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        source = env.from_source(Growing(bounded=True), WatermarkStrategy.no_watermarks(), "own", Types.STRING())
        source.print()
        found = run_local(env, batch_elements=2).lines
        assert sorted(line.split("> ")[-1] for line in found) == [*(f"a{100 + i}" for i in range(3))] + [
            f"c{100 + i}" for i in range(5)
        ]


def test_unreadable_sources_are_refused_with_the_supported_ones() -> None:
    with pytest.raises(NotImplementedError, match=r"no reader for source Source: .*discover_splits\(\)"):
        enumerator(Source())


def test_the_state_of_read_files_is_bounded_by_the_directory(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("interval_s", "batch_s"), [(0, 2.08), (60, 2.08), (1, 0.908), (0.01, 0.56)])
@pytest.mark.parametrize("element_s", [0.002, 0.000_001])
def test_batches_grow_up_to_the_checkpoint_interval(interval_s: float, batch_s: float, element_s: float) -> None:
    """A checkpoint each second is on time; one each 10 ms can't be, with a fixed part of 80 ms.

    A function that takes 2 ms an element holds nothing back for minutes; one of 1 us gets large batches soon.
    """
    LENGTHS.clear()
    LENGTHS["a"] = 50_000_000
    splits = SplitEnumerator(graph_of(Growing(bounded=True), 1), {}, checkpoint_interval_s=interval_s)
    batches: list[float] = []
    for _ in range(10):
        ((_, start, end),) = read(splits.plan(0))[0]
        batches.append(0.08 + element_s * (end - start))
        splits.batch_took(batches[-1], 0.0)
    assert batches[0] < 2.2
    assert max(batches[-3:]) == pytest.approx(batch_s, rel=0.02)  # Every third one is a probe.


def test_a_batch_stops_at_the_limit_of_a_split() -> None:
    split = Split("shard", 0, 0, 900, grows=True, stops=(Stop(100, 5), Stop(400, 5), Stop(900, 10)))
    assert [split.units_after(position) for position in (0, 100, 400, 900)] == [20, 15, 10, 0]
    assert [split.stop_after(0, units) for units in (0, 1, 5, 9, 10, 1000)] == [0, 100, 100, 100, 400, 900]
    assert split.stop_after(100, 7) == 400
    assert split.grown_to(950, (*split.stops, Stop(950, 1)), grows=False).units_after(400) == 11


def left(splits: SplitEnumerator, subtask: int) -> dict[str, float]:
    """The metrics of a subtask that tell what it has left, by their names without the operator."""
    one = SubtaskReport(next(iter(splits._sources)), subtask, 0, 0, False)
    return {name.rpartition(".")[2]: value for name, value in splits.metrics_of(one).items()}


def test_the_backlog_follows_reading_growth_deletion_and_other_parallelisms() -> None:
    splits = enumerator(Growing())
    splits.plan(0)
    assert [left(splits, subtask)["pendingRecords"] for subtask in range(2)] == [4, 0]
    assert "shareRead" not in left(splits, 0), "an endless source has no share"
    LENGTHS["a"], LENGTHS["b"] = 9, 7
    splits.plan(10)
    assert [left(splits, subtask)["pendingRecords"] for subtask in range(2)] == [6, 3]
    later = enumerator(Growing(), parallelism=3)
    later.restore(splits.snapshot())
    assert sum(left(later, subtask)["pendingRecords"] for subtask in range(3)) == 9
    kept = Retained()
    kept.last = 10
    splits = enumerator(kept, parallelism=1)
    splits.plan(0)
    kept.first = kept.last = 8
    kept.last = 12
    splits._sources[next(iter(splits._sources))].splits.discover(10, at_once=True)
    assert left(splits, 0)["pendingRecords"] == 4, "what was deleted is not left"


def test_files_are_counted_in_bytes_and_the_share_goes_on_after_a_restore(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("0123456789" * 64)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "in")).build()
    splits = enumerator(source, parallelism=1, elements=2)
    assert left(splits, 0).get("shareRead") is None, "nothing was discovered yet"
    splits.plan(0)
    assert (left(splits, 0)["pendingBytes"], left(splits, 0)["shareRead"]) == (512, 0.2)
    later = enumerator(source, parallelism=1, elements=2)
    later.restore(splits.snapshot())
    later.plan(1)
    assert (left(later, 0)["pendingBytes"], left(later, 0)["shareRead"]) == (384, 0.4)


def test_sources_of_a_hybrid_have_equal_shares() -> None:
    source = hybrid(NumberSequenceSource(1, 4), NumberSequenceSource(1, 400))
    splits = enumerator(source, parallelism=1, elements=4)
    shares = []
    while not splits.has_ended:
        splits.plan(0)
        shares.append(left(splits, 0)["shareRead"])
    assert shares[0] == 0.5
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_source_is_idle_since_it_was_given_something_to_read() -> None:
    seconds = 100.0
    splits = SourceSplits(Growing(), 1)
    metrics = SourceMetrics("Source: it", splits, lambda: seconds, lambda: 5000)
    seconds += 2
    one = SubtaskReport("v", 0, 0, 0, False, metrics={"currentOutputWatermark": 4000})
    assert metrics.of(one) == {
        "Source__it.sourceIdleTime": 2000,
        "Source__it.pendingRecords": 0,
        "Source__it.totalRecordsRead": 0,
        "Source__it.watermarkLag": 1000,
    }
    metrics.batch_ended({0: 7})
    seconds += 1
    metrics.batch_ended({0: 0})
    assert metrics.of(one)["Source__it.sourceIdleTime"] == 1000
    ended = SubtaskReport("v", 0, 0, 0, True, metrics={"currentOutputWatermark": 2**63 - 1})
    assert "Source__it.watermarkLag" not in metrics.of(ended)
    assert metrics.of(ended)["Source__it.sourceIdleTime"] == 0
