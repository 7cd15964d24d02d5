"""The watermark of a source subtask is the least of its splits' that are not idle (FLIP-27)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from firesteel.common import Duration, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.functions.operator_descriptors import SourceOperator
from firesteel.functions.splits import WITHOUT_SPLITS, Idleness, Split, SplitRange
from firesteel.operators.sources.source_runner import SourceRunner
from firesteel.testing import ManualClock, OperatorHarness

INTERVAL_MS = 200
ASCENDING = WatermarkStrategy.for_monotonous_timestamps()


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Positions(Source):
    """The element at a position is the position."""

    def discover_splits(self) -> Sequence[SourceSplit]:
        return []

    def read_split(self, split_id: str, start: int, end: int) -> Any:
        return range(start, end)


class Reader:
    """A source subtask whose input the test provides."""

    def __init__(self, strategy: WatermarkStrategy = ASCENDING, **settings: Any) -> None:
        strategy = strategy.with_timestamp_assigner(Itself())
        self.harness = OperatorHarness(SourceOperator(Positions(), strategy), **settings)

    @property
    def operator(self) -> SourceRunner:
        assert isinstance(self.harness.operator, SourceRunner)
        return self.harness.operator

    def read(
        self,
        *parts: tuple[str, int, int] | tuple[str, int, int, bool],
        idle: set[str] | None = None,
        passed: int | None = None,
    ) -> list[Any]:
        ranges = [SplitRange(Split(name, 0, 0, 1 << 40), *where) for name, *where in parts]
        for _ in self.operator.read(ranges, None if idle is None else Idleness(frozenset(idle), passed)):
            pass
        return self.harness.take()

    def tick(self, clock: ManualClock) -> list[int]:
        """The watermarks since the last tick, after the next interval."""
        clock.advance(INTERVAL_MS)
        self.operator.advance_processing_time(clock.now_ms)
        found, self.harness.watermarks = self.harness.watermarks, []
        return found


def test_an_unread_split_holds_back_the_watermark() -> None:
    with ManualClock(0) as clock:
        reader = Reader()
        reader.read(("a", 0, 100), ("b", 0, 0))
        assert reader.tick(clock) == []
        reader.read(("b", 0, 11))
        assert reader.tick(clock) == [9]
        reader.read(("b", 11, 301))
        assert reader.tick(clock) == [98]


def test_finished_split_does_not_hold_back_others_and_is_forgotten() -> None:
    with ManualClock(0) as clock:
        reader = Reader()
        reader.read(("a", 0, 100), ("b", 0, 11))
        assert reader.tick(clock) == [9]
        reader.read(("b", 11, 21, True))
        assert reader.tick(clock) == [98]
        reader.read(("a", 100, 101, True), ("c", 0, 5))
        assert reader.tick(clock) == []
        reader.read(("c", 5, 500))
        assert reader.tick(clock) == [498]
        splits, *_ = reader.operator.snapshot()[0]
        assert list(splits) == ["c"]


def test_snapshot_does_not_grow_with_the_splits_that_were_finished() -> None:
    reader = Reader()
    sizes = []
    for number in range(2_000):
        reader.read((str(number), 0, 1, True), ("live", number, number + 1))
        sizes.append(len(pickle.dumps(reader.operator.snapshot())))
    assert max(sizes) <= sizes[0] + 20


def test_idle_split_does_not_hold_back_others_and_all_idle_ones_make_the_subtask_idle() -> None:
    with ManualClock(0) as clock:
        reader = Reader(ASCENDING.with_idleness(Duration.of_millis(500)))
        reader.read(("slow", 0, 10), ("fast", 0, 100))
        assert reader.tick(clock) == [8]
        clock.advance(3_600_000)
        assert reader.tick(clock) == []
        assert reader.operator.next_processing_time() is None, "the enumerator decides"
        reader.read(("fast", 100, 200), idle={"slow"})
        assert reader.tick(clock) == [98, 198]
        assert reader.harness.idle_changes == []
        reader.read(idle={"slow", "fast"})
        assert reader.tick(clock) == []
        assert reader.harness.idle_changes == [True]
        assert reader.operator.alignment_watermark is None
        reader.read(("slow", 10, 20), idle={"fast"})
        assert reader.harness.idle_changes == [True, False]
        assert reader.tick(clock) == [], "never backwards"
        assert reader.operator.alignment_watermark == 198


def test_split_that_awakes_holds_back_the_others_before_any_element_is_read() -> None:
    with ManualClock(0) as clock:
        reader = Reader(ASCENDING.with_idleness(Duration.of_millis(500)))
        reader.read(("slow", 0, 10), ("fast", 0, 100))
        assert reader.tick(clock) == [8]
        reader.read(idle={"slow"})
        assert reader.tick(clock) == [98]
        reader.read(("fast", 100, 200), ("slow", 10, 20), idle=set())
        assert reader.tick(clock) == []
        reader.read(("slow", 20, 151))
        assert reader.tick(clock) == [149]


def test_subtask_that_awakes_catches_up_with_its_receivers() -> None:
    with ManualClock(0) as clock:
        reader = Reader(ASCENDING.with_idleness(Duration.of_millis(500)))
        reader.read(("a", 0, 10))
        assert reader.tick(clock) == [8]
        reader.read(idle={"a"})
        reader.read(idle=set(), passed=700)
        assert (reader.harness.idle_changes, reader.tick(clock)) == ([True, False], [700])
        reader.read(("a", 10, 700), idle=set(), passed=900)
        assert reader.tick(clock) == [], "it is awake"


def test_subtask_without_splits_turns_idle() -> None:
    reader = Reader(ASCENDING.with_idleness(Duration.of_millis(500)))
    reader.read(("a", 0, 10, True))
    assert reader.harness.idle_changes == []
    reader.read(idle={WITHOUT_SPLITS})
    assert (reader.harness.idle_changes, reader.operator.next_processing_time()) == ([True], None)
    reader.read(("b", 0, 0), idle=set())
    assert reader.harness.idle_changes == [True, False]


def test_restored_splits_continue_with_their_generators() -> None:
    with ManualClock(0) as clock:
        first = Reader()
        first.read(("a", 0, 100), ("b", 0, 50))
        assert first.tick(clock) == [48]
        second = Reader(snapshot=first.harness.snapshot())
        second.read(("b", 50, 200))
        assert second.tick(clock) == [98]


class EachEvent:
    """Emits the timestamp of each event at once, and counts periods."""

    made: ClassVar[list[EachEvent]] = []

    def __init__(self) -> None:
        self.periods = 0
        EachEvent.made.append(self)

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        self.periods += 1
        output.emit_watermark(1_000 + self.periods)


def custom() -> WatermarkStrategy:
    EachEvent.made = []
    return WatermarkStrategy.for_generator(EachEvent)  # type: ignore[arg-type]


def test_each_split_has_a_generator_and_its_watermarks_are_combined_at_once() -> None:
    reader = Reader(custom())
    reader.read(("a", 0, 3), ("b", 0, 2))
    assert len(EachEvent.made) == 2
    assert reader.harness.watermarks == [0, 1]


def test_a_custom_generator_is_called_periodically_without_elements() -> None:
    with ManualClock(0) as clock:
        reader = Reader(custom())
        reader.read(("a", 0, 0))
        for period in range(1, 4):
            assert reader.operator.next_processing_time() == period * INTERVAL_MS
            assert reader.tick(clock) == [1_000 + period]
        built_in = Reader()
        built_in.read(("a", 0, 1))
        assert built_in.operator.next_processing_time() is None, "it has nothing to say while nothing comes"


def test_chunks_of_splits_take_turns() -> None:
    reader = Reader()
    found = reader.read(("a", 0, 20_000), ("b", 50_000, 70_000))
    turns = [value < 50_000 for value in found]
    changes = sum(before != after for before, after in pairwise(turns))
    assert changes > 5
    assert [v for v in found if v < 50_000] == list(range(20_000)), "in order"


@pytest.mark.parametrize("settings", [{"is_batch": True}, {}])
def test_without_watermarks_nothing_is_kept_of_splits(settings: Any) -> None:
    strategy = ASCENDING if settings else WatermarkStrategy.no_watermarks()
    reader = Reader(strategy, **settings)
    reader.read(("a", 0, 5), ("b", 0, 5))
    assert reader.operator.snapshot()[0][0] == {}


class Large(Positions):
    def read_split(self, split_id: str, start: int, end: int) -> Any:
        return (b"x" * 1_000_000 for _ in range(start, end))


def test_chunks_are_bounded_by_bytes() -> None:
    harness = OperatorHarness(SourceOperator(Large(), WatermarkStrategy.no_watermarks()))
    assert isinstance(harness.operator, SourceRunner)
    sizes = []
    for _ in harness.operator.read([SplitRange(Split("a", 0, 0, 100), 0, 100)]):
        sizes.append(len(harness.take()))
    assert sum(sizes) == 100
    assert max(sizes) <= 16
    assert 90_000_000 < harness.operator.bytes_read < 110_000_000


def test_chains_that_enlarge_elements_emit_few_at_once() -> None:
    reader = Reader(WatermarkStrategy.no_watermarks())
    sizes: list[int] = []
    element_bytes = 0

    def read(end: int) -> list[int]:
        sizes.clear()
        for _ in reader.operator.read([SplitRange(Split("a", 0, 0, 1 << 40), 0, end)]):
            sizes.append(len(reader.harness.take()))
        assert sum(sizes) == end
        return sizes

    sent = 0

    def bytes_sent() -> int:
        return sent

    class Sends:
        def process(self, values: list[Any], timestamps: Any) -> None:
            nonlocal sent
            sent += element_bytes * len(values)

    reader.operator.bytes_sent = bytes_sent
    reader.operator.output.connect(Sends(), None)  # type: ignore[arg-type]
    assert max(read(20_000)) == 4096
    element_bytes = 1_000_000
    assert read(10_000)[0] == 16, "what the source itself begins with"
    assert max(sizes[2:]) <= 4
    element_bytes = 1
    assert max(read(20_000)) == 4096
