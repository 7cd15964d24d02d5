"""Time to live of window state, and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.datastream.functions import ProcessWindowFunction
from firesteel.datastream.state import StateTtlConfig
from firesteel.datastream.window import EventTimeSessionWindows, EventTimeTrigger, TumblingEventTimeWindows
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.operators.state.states import KeyedValueState
from firesteel.testing import ManualClock, OperatorHarness
from tests.operators.ttl_states import TTL, States, builder, reducing, value


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    with ManualClock(1_000) as manual:
        yield manual


# --- windows ---------------------------------------------------------------------------------------------------------


class CountOfWindow(ProcessWindowFunction):
    """Emits how often the window fired and how often any window of the key did, while that is remembered."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        descriptor = reducing()
        descriptor.enable_time_to_live(builder().build())
        states = [store.get_reducing_state(descriptor) for store in (context.window_state(), context.global_state())]
        for state in states:
            state.add(1)
        yield [state.get() for state in states]


def test_states_of_windows_and_of_their_key_live_apart(clock: ManualClock) -> None:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(10))
    trigger = assigner.get_default_trigger(None)
    operator = WindowOperator(assigner, trigger, 1_000, None, None, CountOfWindow())
    with OperatorHarness(operator, key_selectors=[lambda element: "k"]) as h:
        h.process(1, 5)
        h.watermark(20)
        clock.advance(60)
        h.process(2, 15)
        clock.advance(60)
        h.process(3, 5)
        h.process(4, 15)
        assert h.values == [[1, 1], [1, 2], [1, 3], [2, 4]]


class CountOfSession(EventTimeTrigger):
    """Fires at the end of a session; the session's count of elements lives for a limited time."""

    def __init__(self) -> None:
        self.descriptor = reducing()
        self.descriptor.enable_time_to_live(builder().build())
        self.counts: list[int] = []

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        ctx.get_partitioned_state(self.descriptor).add(1)
        self.counts.append(ctx.get_partitioned_state(self.descriptor).get())
        return super().on_element(element, timestamp, window, ctx)

    def on_merge(self, window: Any, ctx: Any) -> None:
        super().on_merge(window, ctx)
        ctx.merge_partitioned_state(self.descriptor)


def test_merged_windows_merge_live_values(clock: ManualClock) -> None:
    assigner, trigger = EventTimeSessionWindows.with_gap(Time.milliseconds(10)), CountOfSession()
    with OperatorHarness(
        WindowOperator(assigner, trigger, 0, None, lambda a, b: a + b, None), key_selectors=[lambda element: "k"]
    ) as h:
        h.process(1, 0)
        h.process(1, 5)
        clock.advance(TTL - 1)
        h.process(1, 8)
        clock.advance(1)
        h.process(1, 12)
        clock.advance(TTL)
        h.process(1, 15)
        assert trigger.counts == [1, 2, 3, 4, 1]


# --- states and settings ---------------------------------------------------------------------------------------------


def test_state_without_time_to_live_is_of_the_plain_class() -> None:
    states = States(value(), None)
    assert type(states.harness.operator.function.state) is KeyedValueState  # type: ignore[attr-defined]


def test_time_to_live_must_be_positive() -> None:
    with pytest.raises(ValueError, match="must be positive, found 0 ms"):
        StateTtlConfig.new_builder(Time.milliseconds(0)).build()


def test_incremental_cleanup_of_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="size must be 0 or more, found -1"):
        builder().cleanup_incrementally(-1, False)


def test_incremental_cleanup_of_size_0_removes_nothing(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(0, True))
    states.do(lambda s: s.update(1))
    clock.advance(TTL)
    states.do(lambda s: s.value(), "unknown")
    assert states.size() == 1
