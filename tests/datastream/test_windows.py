from __future__ import annotations

import pickle
from io import BytesIO

import pytest

from firesteel.common import Time
from firesteel.common.constants import MIN_LONG_VALUE
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    mod_inverse,
)


class State:
    """A state of one value that reduces added values."""

    def __init__(self, reduce):
        self._reduce = reduce
        self._value = None

    def value(self):
        return self._value

    get = value

    def update(self, value):
        self._value = value

    def add(self, value):
        self._value = value if self._value is None else self._reduce(self._value, value)

    def clear(self):
        self._value = None


class Context:
    """Time, timers and state as a window operator offers them."""

    def __init__(self, watermark=MIN_LONG_VALUE, now=0):
        self.watermark = watermark
        self.now = now
        self.timers = set()
        self.states = {}

    def get_current_watermark(self):
        return self.watermark

    def get_current_processing_time(self):
        return self.now

    def register_event_time_timer(self, time):
        self.timers.add(time)

    def delete_event_time_timer(self, time):
        self.timers.discard(time)

    def get_partitioned_state(self, descriptor):
        return self.states.setdefault(descriptor.name, State(getattr(descriptor, "reduce_function", None)))

    get_state = get_partitioned_state

    def get_runtime_context(self):
        return self


@pytest.mark.parametrize(
    ("assigner", "time", "windows"),
    [
        (TumblingEventTimeWindows.of(Time.seconds(5)), 5_001, [(5_000, 10_000)]),
        (TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(1)), 5_001, [(1_000, 6_000)]),
        (TumblingEventTimeWindows.of(Time.seconds(5)), -1, [(-5_000, 0)]),
        (SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(2)), 5_000, [(4_000, 8_000), (2_000, 6_000)]),
        (EventTimeSessionWindows.with_gap(Time.seconds(3)), 1_000, [(1_000, 4_000)]),
    ],
)
def test_element_falls_into_its_windows(assigner, time, windows):
    assert [(w.start, w.end) for w in assigner.assign_windows("x", time, Context())] == windows


def test_processing_time_windows_go_by_the_clock():
    [window] = TumblingProcessingTimeWindows.of(Time.seconds(1)).assign_windows("x", MIN_LONG_VALUE, Context(now=1_500))
    assert window == TimeWindow(1_000, 2_000)


def test_event_time_window_needs_an_event_time():
    with pytest.raises(ValueError, match="call assign_timestamps_and_watermarks"):
        TumblingEventTimeWindows.of(Time.seconds(5)).assign_windows("x", MIN_LONG_VALUE, Context())


def test_count_windows_fill_one_after_the_other_or_overlap():
    context = Context()
    tumbling, sliding = CountTumblingWindowAssigner.of(2), CountSlidingWindowAssigner.of(4, 2)
    assert [[w.id for w in tumbling.assign_windows("x", 0, context)] for _ in range(4)] == [[0], [0], [1], [1]]
    context = Context()
    ids = [[w.id for w in sliding.assign_windows("x", 0, context)] for _ in range(6)]
    assert ids == [[0], [0], [1, 0], [1, 0], [2, 1], [2, 1]]


def test_adjacent_sessions_are_merged():
    merged = []

    class Callback:
        def merge(self, to_be_merged, merge_result):
            merged.append((sorted(to_be_merged), merge_result))

    windows = [TimeWindow(0, 3), TimeWindow(3, 5), TimeWindow(7, 9)]
    TimeWindow.merge_windows(windows, Callback())
    assert merged == [([TimeWindow(0, 3), TimeWindow(3, 5)], TimeWindow(0, 5))]


def test_event_time_trigger_waits_for_the_end_and_fires_for_late_elements():
    trigger, window = EventTimeTrigger(), TimeWindow(0, 10)
    context = Context()
    assert trigger.on_element("x", 1, window, context) is TriggerResult.CONTINUE
    assert context.timers == {9}
    assert trigger.on_event_time(9, window, context) is TriggerResult.FIRE
    assert trigger.on_element("x", 1, window, Context(watermark=9)) is TriggerResult.FIRE
    trigger.clear(window, context)
    assert context.timers == set()


def test_continuous_trigger_fires_at_intervals_and_at_the_end():
    trigger, window, context = ContinuousEventTimeTrigger.of(Time.milliseconds(4)), TimeWindow(0, 10), Context()
    trigger.on_element("x", 1, window, context)
    assert context.timers == {4, 9}
    assert trigger.on_event_time(4, window, context) is TriggerResult.FIRE
    assert trigger.on_event_time(8, window, context) is TriggerResult.FIRE
    assert trigger.on_event_time(9, window, context) is TriggerResult.FIRE
    assert trigger.on_event_time(5, window, context) is TriggerResult.CONTINUE


def test_count_trigger_restarts_after_it_fired():
    trigger, context = CountTrigger.of(2), Context()
    results = [trigger.on_element("x", 0, GlobalWindow.get(), context) for _ in range(4)]
    assert [result.is_fire() for result in results] == [False, True, False, True]
    assert not any(result.is_purge() for result in results)


def test_full_count_window_is_emptied_and_so_is_a_purging_one():
    full = CountTumblingWindowAssigner.of(1).get_default_trigger(None)
    assert full.on_element("x", 0, CountWindow(0), Context()) is TriggerResult.FIRE_AND_PURGE
    purging = PurgingTrigger.of(CountTrigger.of(1))
    assert purging.on_element("x", 0, GlobalWindow.get(), Context()) is TriggerResult.FIRE_AND_PURGE


def test_global_windows_never_fire_by_themselves():
    trigger = GlobalWindows.create().get_default_trigger(None)
    assert trigger.on_element("x", 0, GlobalWindow.get(), Context()) is TriggerResult.CONTINUE


@pytest.mark.parametrize("window", [TimeWindow(1, 2), CountWindow(3), GlobalWindow.get()])
def test_window_survives_pickling(window):
    assert pickle.loads(pickle.dumps(window)) == window


def test_window_survives_its_serializer():
    stream = BytesIO()
    TimeWindowSerializer().serialize(TimeWindow(-1, 2), stream)
    stream.seek(0)
    assert TimeWindowSerializer().deserialize(stream) == TimeWindow(-1, 2)


def test_mod_inverse_inverts_odd_numbers():
    assert all(x * mod_inverse(x) % 2**32 == 1 for x in (1, 3, 5, 12345))


@pytest.mark.parametrize("trigger", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
@pytest.mark.parametrize("interval", [0, -1])
def test_an_interval_without_a_length_is_refused(trigger, interval):
    with pytest.raises(ValueError, match="must be at least 1 ms"):
        trigger.of(Time.milliseconds(interval))


@pytest.mark.parametrize("make", [CountTrigger.of, CountTrigger.purging])
def test_a_count_below_one_is_refused(make):
    with pytest.raises(ValueError, match="must be at least 1"):
        make(0)
