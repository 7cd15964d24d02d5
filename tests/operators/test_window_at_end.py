"""Windows that fire only at their end: batches of elements, and the state in versions."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Time, Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import ProcessWindowFunction
from firesteel.datastream.window import (
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.operators.chain.factory import make_operator
from firesteel.operators.chain.operator import Output, TaskInfo
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.operators.state.disk_pairs import WindowsDict
from firesteel.operators.state.keyed_state_backend import TIMERS_TABLE, KeyedStateBackend
from firesteel.operators.state.list_part import ListPart
from firesteel.operators.state.state_table import DELETED
from firesteel.operators.windows.window_at_end import WindowAtEndRunner
from firesteel.operators.windows.window_base import CONTENTS_TABLE
from firesteel.testing import ManualClock, OperatorHarness

LATE = OutputTag("late")
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
ON_DISK = {"state.backend.type": "rocksdb"}
BACKENDS = pytest.mark.parametrize("configuration", [{}, ON_DISK], ids=["memory", "disk"])


class Show(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, [value for _, value in elements]


def windows(assigner: Any, *, lateness: int = 0, **settings: Any) -> OperatorHarness:
    """Elements are `(key, value)`."""
    trigger = assigner.get_default_trigger(None)
    descriptor = WindowOperator(assigner, trigger, lateness, LATE, None, Show())
    return OperatorHarness(descriptor, key_selectors=[lambda e: e[0]], **settings)


def backend_of(harness: OperatorHarness) -> KeyedStateBackend:
    assert isinstance(harness.operator, WindowAtEndRunner)
    return harness.operator.backend


def contents(harness: OperatorHarness) -> dict[Any, Any]:
    """Return the changes of the windows' table since the last call; of a grown list only what it grew by."""
    changes = {e: v for name, part in backend_of(harness).delta() if name == CONTENTS_TABLE for e, v in part.items()}
    return {e: (v.start, v.elements) if isinstance(v, ListPart) else v for e, v in changes.items()}


@given(
    size=st.integers(1, 40),
    slide=st.integers(1, 40),
    offset=st.integers(-39, 39),
    time=st.integers(-200, 200) | st.integers(10**12, 10**12 + 100),
)
def test_all_times_of_a_pane_are_in_its_windows(size: int, slide: int, offset: int, time: int) -> None:
    shift = Time.milliseconds(offset % slide)
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide), shift)
    tumbling = TumblingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(offset % size))
    for assigner in (sliding, tumbling):
        length, start = assigner.panes()
        first = time - (time - start) % length
        windows = [list(assigner.assign_windows(None, t, None)) for t in range(first, first + length)]  # type: ignore[arg-type]
        assert windows == [windows[0]] * length


@BACKENDS
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (25, 10), (7, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_elements_in_batches_as_one_by_one(size: int, slide: int, seed: int, configuration: dict[str, str]) -> None:
    chosen = random.Random(seed)
    elements = [((chosen.choice("abc"), i), chosen.randrange(i, i + 30)) for i in range(300)]
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))
    together, alone = windows(assigner, configuration=configuration), windows(assigner)
    for start in range(0, 300, 50):
        part = elements[start : start + 50]
        together.process_batch([value for value, _ in part], [time for _, time in part])
        for value, time in part:
            alone.process(value, time)
        for harness in (together, alone):
            harness.watermark(start + 85)
    together.end()
    alone.end()
    assert together.elements == alone.elements != []
    assert together.side_output(LATE) == alone.side_output(LATE) != []


def test_an_element_that_is_late_for_one_of_its_windows_counts_in_the_other() -> None:
    with windows(SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))) as h:
        h.watermark(19)
        h.process_batch([("a", 1), ("a", 2)], [15, 5])
        h.end()
        assert (h.values, h.side_output(LATE)) == ([("a", 10, [1])], [("a", 2)])


@BACKENDS
def test_a_version_has_changes_and_removed_windows(configuration: dict[str, str]) -> None:
    first, second = TimeWindow(0, 10), TimeWindow(10, 20)
    with windows(TEN, configuration=configuration) as h:
        h.process_batch([("a", 1), ("b", 2), ("a", 3)], [1, 2, 11])
        assert contents(h) == {
            ("a", first): [("a", 1)],
            ("b", first): [("b", 2)],
            ("a", second): [("a", 3)],
        }
        h.process_batch([("a", 4), ("c", 5)], [3, 4])
        assert contents(h) == {("a", first): (1, [("a", 4)]), ("c", first): [("c", 5)]}
        h.process(("d", 6), 5)
        h.watermark(9)
        # No version has known of d; on disk nothing notes that, and removing what is not there does no harm.
        gone = "abcd" if configuration else "abc"
        assert contents(h) == {(key, first): DELETED for key in gone}
        assert contents(h) == {}
        assert h.num_keyed_state_entries() == 1


@BACKENDS
@pytest.mark.parametrize("cut", range(1, 6))
def test_state_is_restored_from_the_changes_of_each_batch(cut: int, configuration: dict[str, str]) -> None:
    chosen = random.Random(cut)
    batches = [[((chosen.choice("ab"), i), 10 * n + chosen.randrange(25)) for i in range(8)] for n in range(6)]

    def feed(harness: OperatorHarness, n: int) -> None:
        harness.process_batch([value for value, _ in batches[n]], [time for _, time in batches[n]])
        harness.watermark(10 * n)

    whole, before = windows(TEN, configuration=configuration), windows(TEN, configuration=configuration)
    deltas = []
    for n in range(6):
        feed(whole, n)
    for n in range(cut):
        feed(before, n)
        deltas += backend_of(before).delta()
    after = windows(TEN, configuration=configuration)
    for delta in deltas:
        backend_of(after).load(delta)
    for n in range(cut, 6):
        feed(after, n)
    whole.end()
    after.end()
    assert sorted(before.elements + after.elements) == sorted(whole.elements)


def test_a_window_that_fired_and_waited_for_late_elements_does_not_fire_again_where_none_are_allowed() -> None:
    with windows(TEN, lateness=20) as h:
        h.process_batch([("a", 1), ("a", 2)], [5, 15])
        h.watermark(9)
        assert h.values == [("a", 0, [1])]
        with windows(TEN, snapshot=h.snapshot()) as other:
            other.end()
            assert other.values == [("a", 10, [2])]


def test_windows_by_the_clock_end_by_it_and_need_no_timers() -> None:
    assigner = TumblingProcessingTimeWindows.of(Time.milliseconds(100))
    with ManualClock(1000) as clock, windows(assigner) as h:
        h.process_batch([("a", 1), ("b", 2)])
        assert h.operator.next_processing_time() == 1099
        clock.advance(50)
        h.process(("a", 3))
        clock.advance(49)
        h.advance_processing_time(clock.now_ms)
        assert h.elements == [(("a", 1000, [1, 3]), 1099), (("b", 1000, [2]), 1099)]
        assert h.operator.next_processing_time() is None


def test_processing_time_windows_are_restored_with_and_without_lateness() -> None:
    assigner = TumblingProcessingTimeWindows.of(Time.milliseconds(100))
    with ManualClock(1000) as clock, windows(assigner) as h:
        h.process(("a", 1))
        with (
            windows(assigner, lateness=5, snapshot=h.snapshot()) as late,
            windows(assigner, snapshot=late.snapshot()) as again,
        ):
            clock.advance(99)
            for other in (late, again):
                other.advance_processing_time(clock.now_ms)
                assert other.values == [("a", 1000, [1])]


def test_an_error_before_the_first_key_of_a_window_is_raised_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(self: Any, entry: Any) -> Any:
        raise OSError("damaged")

    with windows(TEN, configuration=ON_DISK) as h:
        h.process(("a", 1), 5)
        monkeypatch.setattr(WindowsDict, "items_of", damaged)
        with pytest.raises(UserFunctionError, match="damaged"):
            h.watermark(9)
        monkeypatch.undo()


def test_a_custom_window_assigner_is_called_for_each_element() -> None:
    class Even(TumblingEventTimeWindows):
        def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
            return super().assign_windows(element, timestamp, context) if element[1] % 2 == 0 else ()

    descriptor = WindowOperator(Even(10, 0), EventTimeTrigger(), 0, LATE, None, Show())
    with OperatorHarness(descriptor, key_selectors=[lambda e: e[0]], output_type=Types.PICKLED_BYTE_ARRAY()) as h:
        h.process_batch([("a", 1), ("a", 2), ("a", 4), ("a", 5)], [1, 2, 3, 4])
        h.end()
        assert (h.values, h.side_output(LATE)) == ([("a", 0, [2, 4])], [])


@BACKENDS
def test_windows_that_another_trigger_has_fired_do_not_fire_again(configuration: dict[str, str]) -> None:
    small = configuration | {"state.backend.rocksdb.memory.fixed-per-slot": "1b"}
    with windows(TEN, lateness=100, configuration=configuration) as before:
        for number in range(30):
            before.process((number % 7, number), number)
        before.watermark(15)
        with windows(TEN, configuration=small, snapshot=before.snapshot()) as after:
            after.end()
            assert sorted(after.values) == sorted(
                (key, start, [number for number in range(start, start + 10) if number % 7 == key])
                for key in range(7)
                for start in (10, 20)
            )
            assert list(after.operator.timers.registered()) == []


def test_timers_of_another_trigger_are_not_read_into_memory() -> None:
    limit = 1 << 20
    configuration = ON_DISK | {"state.backend.rocksdb.memory.fixed-per-slot": f"{limit}b"}
    descriptor = WindowOperator(TEN, EventTimeTrigger(), 0, None, None, Show())
    task = TaskInfo("job", "vertex", "vertex", 0, 1, 128, 0, False, configuration)
    operator = make_operator(descriptor, "operator", task, Output(None))
    window = TimeWindow(0, 10)
    for begin in range(0, 40_000, 1000):
        keys = range(begin, begin + 1000)
        operator.load_keyed((CONTENTS_TABLE, {(key, window): [key] for key in keys}))
        operator.load_keyed((TIMERS_TABLE, {(key, 0, window, 30): True for key in keys}))
        operator.load_keyed((TIMERS_TABLE, {(key, 0, window, 9): True for key in keys if key % 2}))
    tracemalloc.start()
    operator.open()
    assert tracemalloc.get_traced_memory()[1] < 5 * limit
    tracemalloc.stop()
    assert isinstance(operator, WindowAtEndRunner)
    assert len(operator.backend.tables[CONTENTS_TABLE]) == 20_000
    operator.close()
