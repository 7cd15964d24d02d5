"""When windows fire: re-exported by `firesteel.datastream.window`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ReducingState, ReducingStateDescriptor, State, StateDescriptor
from firesteel.datastream.windows import TimeWindow, Window
from firesteel.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """What happens to a window: (evaluate it, remove its elements)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """True if the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """True if its elements are removed."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Decides when a window fires. Everything it keeps lives in the state of its context: triggers are shared."""

    class TriggerContext(ABC):
        """Time, timers and state of one key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Time of the machine."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where metrics are registered."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Watermark of the operator."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Calls `on_processing_time` when the clock passes `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Calls `on_event_time` when the watermark passes `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Takes the timer back."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Takes the timer back."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """State of this key and window."""

    class OnMergeContext(TriggerContext):
        """The context of a window that others were merged into."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merges the state of the merged windows into that of this one."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called for each element added to the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called for a timer."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called for a timer."""

    def can_merge(self) -> bool:
        """True if it can be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Called when windows were merged into `window`."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Removes state and timers of a window that is removed."""


class _TimeTrigger(Trigger[Any, W]):
    """Ignores both kinds of time unless overridden."""

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """It can."""
        return True


class EventTimeTrigger(_TimeTrigger[TimeWindow]):
    """Fires when the watermark passes the end of the window, then for each late element."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires for late elements, else waits for the end."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the end, and not again when the lateness is over."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Waits for the end of the merged window."""
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Removes the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_TimeTrigger[TimeWindow]):
    """Fires when the clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Waits for the end."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires."""
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Waits for the end of the merged window."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Removes the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())


def _add(a: int, b: int) -> int:
    return a + b


class _ContinuousTrigger(_TimeTrigger[TimeWindow]):
    """Keeps the next time to fire in state: of several (merged) ones the first."""

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", min, Types.LONG())

    def _fire_time(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return ctx.get_partitioned_state(self.state_desc)  # type: ignore[return-value]

    def _next(self, time: int, window: TimeWindow, state: ReducingState[int]) -> int:
        following = min(time + self.interval, window.max_timestamp())
        state.add(following)
        return following


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires each time the watermark passes another interval, and at the end of the window."""

    @staticmethod
    def of(interval: Time) -> ContinuousEventTimeTrigger:
        """Fires at that interval."""
        return ContinuousEventTimeTrigger(interval.to_milliseconds())

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires for late elements, else waits for the next interval and the end."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        state = self._fire_time(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(timestamp - timestamp % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the end and at the intervals."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = self._fire_time(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Waits for the first of the merged times."""
        ctx.merge_partitioned_state(self.state_desc)
        following = self._fire_time(ctx).get()
        if following is not None:
            ctx.register_event_time_timer(following)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Removes timer and state."""
        state = self._fire_time(ctx)
        following = state.get()
        if following is not None:
            ctx.delete_event_time_timer(following)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Waits for the interval after `time`."""
        ctx.register_event_time_timer(self._next(time, window, fire_timestamp_state))


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires each time the clock passes another interval."""

    @staticmethod
    def of(interval: Time) -> ContinuousProcessingTimeTrigger:
        """Fires at that interval."""
        return ContinuousProcessingTimeTrigger(interval.to_milliseconds())

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Waits for the next interval."""
        now = ctx.get_current_processing_time()
        state = self._fire_time(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the intervals."""
        state = self._fire_time(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Waits for the first of the merged times."""
        ctx.merge_partitioned_state(self.state_desc)
        following = self._fire_time(ctx).get()
        if following is not None:
            ctx.register_processing_time_timer(following)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Removes timer and state."""
        state = self._fire_time(ctx)
        following = state.get()
        if following is not None:
            ctx.delete_processing_time_timer(following)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Waits for the interval after `time`."""
        ctx.register_processing_time_timer(self._next(time, window, fire_timestamp_state))


class NeverTrigger(_TimeTrigger[Window]):
    """Never fires."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Nothing."""

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Nothing."""


class CountTrigger(_TimeTrigger[Window]):
    """Fires after so many elements since the last time."""

    _result = TriggerResult.FIRE

    def __init__(self, window_size: int) -> None:
        self.window_size = window_size
        self.count_state_descriptor = ReducingStateDescriptor("trigger-count", _add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Fires after so many elements."""
        return CountTrigger(window_size)

    @staticmethod
    def purging(window_size: int) -> CountTrigger:
        """Fires after so many elements and removes them: for count windows, which get no more once they are full."""
        trigger = CountTrigger(window_size)
        trigger._result = TriggerResult.FIRE_AND_PURGE
        return trigger

    def _count(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return ctx.get_partitioned_state(self.count_state_descriptor)  # type: ignore[return-value]

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Counts; fires when there are enough."""
        state = self._count(ctx)
        state.add(1)
        if (state.get() or 0) < self.window_size:
            return TriggerResult.CONTINUE
        state.clear()
        return self._result

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Adds the counts."""
        ctx.merge_partitioned_state(self.count_state_descriptor)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Removes the count."""
        self._count(ctx).clear()


class PurgingTrigger(Trigger[Any, Window]):
    """Fires when another trigger does, and then removes the elements."""

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Makes any trigger remove the elements when it fires."""
        return PurgingTrigger(nested_trigger)

    @staticmethod
    def _purging(result: TriggerResult) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """As the nested trigger."""
        return self._purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """As the nested trigger."""
        return self._purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """As the nested trigger."""
        return self._purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """As the nested trigger."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """As the nested trigger."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """As the nested trigger."""
        self.nested_trigger.clear(window, ctx)
