"""Triggers: re-exported by `firesteel.datastream.window`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar, overload

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.functions.state import ReducingState, ReducingStateDescriptor, State, StateDescriptor
from firesteel.functions.windows import TimeWindow, Window
from firesteel.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """The action that a trigger requests for a window: (evaluate it, remove its elements)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Return whether the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the elements of the window are removed."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Decides when a window fires.

    A trigger is shared by all keys and windows: it must keep its data in the state of the context.

    Example:
        >>> class FireOnLarge(Trigger):
        ...     def on_element(self, element, timestamp, window, ctx):
        ...         return TriggerResult.FIRE if element > 100 else TriggerResult.CONTINUE
        ...     def on_processing_time(self, time, window, ctx):
        ...         return TriggerResult.CONTINUE
        ...     def on_event_time(self, time, window, ctx):
        ...         return TriggerResult.CONTINUE
        ...     def on_merge(self, window, ctx):
        ...         pass
        ...     def clear(self, window, ctx):
        ...         pass
        >>> numbers = env.from_collection([1, 2, 300, 4, 500], Types.INT())
        >>> windows = numbers.window_all(GlobalWindows.create()).trigger(FireOnLarge())
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [303, 807]
    """

    class TriggerContext(ABC):
        """Access to time, timers and state of one key and window; all times are in ms since the epoch."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the current processing time (the machine's clock)."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the metric group in which the trigger registers its metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the current watermark of the operator."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Register a timer that calls `on_processing_time`.

            Args:
                time: Processing time in ms since the epoch; registering the same time again has no effect.
            """

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Register a timer that calls `on_event_time`.

            Args:
                time: The watermark that fires the timer, in ms since the epoch; registering the same time again has no
                    effect.
            """

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete a processing-time timer.

            Args:
                time: Time that it was registered for; nothing happens if there is no such timer.
            """

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete an event-time timer.

            Args:
                time: Time that it was registered for; nothing happens if there is no such timer.
            """

        @overload
        def get_partitioned_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]: ...
        @overload
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State: ...

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """Return a state of the current key and window.

            Args:
                state_descriptor: Its name must be unique among the states of the trigger.
            """

    class OnMergeContext(TriggerContext):
        """The context of a window that is the result of a merge."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the merged windows into the state of the result.

            Args:
                state_descriptor: Descriptor of a list, reducing or aggregating state.
            """

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return the action for an element that was added to the window.

        Args:
            element: The element.
            timestamp: Its timestamp in ms since the epoch.
            window: The window that it was added to.
            ctx: Access to time, timers and state of the key and window.
        """

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return the action when a processing-time timer fires.

        Args:
            time: The time for which the timer was registered, in ms since the epoch.
            window: The window of the timer.
            ctx: Access to time, timers and state of the key and window.
        """

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return the action when an event-time timer fires.

        Args:
            time: The time for which the timer was registered, in ms since the epoch.
            window: The window of the timer.
            ctx: Access to time, timers and state of the key and window.
        """

    def can_merge(self) -> bool:
        """Return whether the trigger supports windows that are merged."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Update timers and state after several windows were merged into `window`.

        Args:
            window: The merged window.
            ctx: Access to time, timers and state of the key and window, and to the state of the merged windows.
        """

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Remove the state and the timers of a window that is removed.

        Args:
            window: The window.
            ctx: Gives access to the trigger's state and timers.
        """


class _TimeTrigger(Trigger[Any, W]):
    """A trigger that ignores both kinds of timers unless overridden."""

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return CONTINUE."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return CONTINUE."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True


class EventTimeTrigger(_TimeTrigger[TimeWindow]):
    """A trigger that fires when the watermark passes the end of the window, then for each late element.

    Example:
        >>> EventTimeTrigger.create().can_merge()
        True
        >>> type(TumblingEventTimeWindows.of(Time.minutes(5)).get_default_trigger(env)).__name__
        'EventTimeTrigger'
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        """Return a new trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: object, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire for a late element; otherwise wait for the end of the window."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window, but not when its allowed lateness has passed."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Register a timer for the end of the merged window."""
        # After the end, `on_element` fires: a timer would fire the window a second time.
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_TimeTrigger[TimeWindow]):
    """A trigger that fires when processing time passes the end of the window.

    Example:
        >>> type(TumblingProcessingTimeWindows.of(Time.minutes(5)).get_default_trigger(env)).__name__
        'ProcessingTimeTrigger'
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Return a new trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: object, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Register a timer for the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return FIRE."""
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Register a timer for the end of the merged window."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())


def _add(a: int, b: int) -> int:
    return a + b


class _ContinuousTrigger(_TimeTrigger[TimeWindow]):
    """A trigger that keeps the next time to fire in state; merged windows use the earliest of their times."""

    def __init__(self, interval: int) -> None:
        if interval < 1:
            raise ValueError(f"the interval of {type(self).__name__} must be at least 1 ms, found {interval} ms")
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", min, Types.LONG())

    @abstractmethod
    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        """Register a timer."""

    @abstractmethod
    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        """Delete a timer."""

    def _fire_time(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return ctx.get_partitioned_state(self.state_desc)

    def _wait(self, now: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Register a timer for the end of the current interval, unless there is one."""
        state = self._fire_time(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def _fire(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if it is time, and register the next timer."""
        state = self._fire_time(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Register a timer for the earliest time of the merged windows."""
        ctx.merge_partitioned_state(self.state_desc)
        following = self._fire_time(ctx).get()
        if following is not None:
            self._register(ctx, following)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer and the state."""
        state = self._fire_time(ctx)
        following = state.get()
        if following is not None:
            self._delete(ctx, following)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Register the next timer and store its time.

        Args:
            time: Time of the current firing in ms; the timer is one interval later, but not after the end of the
                window.
            window: The window, whose last timestamp is the latest possible time.
            ctx: Registers the timer.
            fire_timestamp_state: Stores the time of the timer.
        """
        following = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(following)
        self._register(ctx, following)


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """A trigger that fires at an interval of event time, and at the end of the window.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 11, 19], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> windows = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(20)))
        >>> sums = windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(10))).reduce(lambda a, b: a + b)
        >>> _ = sums.collect_async()
        >>> run_local(env, batch_elements=1).elements
        [16, 35]
    """

    @staticmethod
    def of(interval: Time) -> ContinuousEventTimeTrigger:
        """Return a trigger with this interval.

        Args:
            interval: The interval between two firings of a window, at least 1 ms, in event time.

        Raises:
            ValueError: the interval is shorter.
        """
        return ContinuousEventTimeTrigger(interval.to_milliseconds())

    def on_element(
        self, element: object, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire for a late element; otherwise wait for the next interval and the end of the window."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return self._wait(timestamp, window, ctx)

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at each interval and at the end of the window."""
        return TriggerResult.FIRE if time == window.max_timestamp() else self._fire(time, window, ctx)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """A trigger that fires at an interval of processing time.

    Example:
        >>> trigger = ContinuousProcessingTimeTrigger.of(Time.seconds(10))
    """

    @staticmethod
    def of(interval: Time) -> ContinuousProcessingTimeTrigger:
        """Return a trigger with this interval.

        Args:
            interval: The interval between two firings of a window, at least 1 ms, in processing time.

        Raises:
            ValueError: the interval is shorter.
        """
        return ContinuousProcessingTimeTrigger(interval.to_milliseconds())

    def on_element(
        self, element: object, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the next interval."""
        return self._wait(ctx.get_current_processing_time(), window, ctx)

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at each interval."""
        return self._fire(time, window, ctx)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_processing_time_timer(time)


class NeverTrigger(_TimeTrigger[Window]):
    """A trigger that never fires.

    Example:
        >>> type(GlobalWindows.create().get_default_trigger(env)).__name__
        'NeverTrigger'
    """

    def on_element(self, element: object, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return CONTINUE."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing."""

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Do nothing."""


class CountTrigger(_TimeTrigger[Window]):
    """A trigger that fires each time a number of elements has arrived.

    Args:
        window_size: Number of elements of a window between two firings, at least 1.

    Raises:
        ValueError: the number is less than 1.

    Example:
        >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
        >>> windows = numbers.window_all(GlobalWindows.create()).trigger(CountTrigger.of(2))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [3, 10]
    """

    _result = TriggerResult.FIRE

    def __init__(self, window_size: int) -> None:
        if window_size < 1:
            raise ValueError(f"the window size of CountTrigger must be at least 1, found {window_size}")
        self.window_size = window_size
        self.count_state_descriptor = ReducingStateDescriptor("trigger-count", _add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Return a trigger that fires each time a window has received a number of elements.

        Args:
            window_size: Number of elements between two firings, at least 1.

        Raises:
            ValueError: the number is less than 1.
        """
        return CountTrigger(window_size)

    @staticmethod
    def purging(window_size: int) -> CountTrigger:
        """Return a trigger that fires and removes the elements each time a window has received a number of them.

        It suits count windows, which receive no more elements when they are full.

        Args:
            window_size: Number of elements between two firings, at least 1.

        Raises:
            ValueError: the number is less than 1.
        """
        trigger = CountTrigger(window_size)
        trigger._result = TriggerResult.FIRE_AND_PURGE
        return trigger

    def _count(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return ctx.get_partitioned_state(self.count_state_descriptor)

    def on_element(self, element: object, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Count the element and fire when the count is reached."""
        state = self._count(ctx)
        state.add(1)
        if (state.get() or 0) < self.window_size:
            return TriggerResult.CONTINUE
        state.clear()
        return self._result

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Add up the counts of the merged windows."""
        ctx.merge_partitioned_state(self.count_state_descriptor)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Remove the count."""
        self._count(ctx).clear()


class PurgingTrigger(Trigger[Any, Window]):
    """A trigger that fires when another trigger does and then removes the elements.

    Args:
        nested_trigger: Decides when to fire, and whether windows can be merged.

    Example:
        >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
        >>> windows = numbers.window_all(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [3, 7]
    """

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Return a trigger that also removes the elements when it fires.

        Args:
            nested_trigger: Decides when to fire.
        """
        return PurgingTrigger(nested_trigger)

    @staticmethod
    def _purging(result: TriggerResult) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result

    def on_element(self, element: object, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return the result of the nested trigger, with purging."""
        return self._purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return the result of the nested trigger, with purging."""
        return self._purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return the result of the nested trigger, with purging."""
        return self._purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Return whether the nested trigger supports windows that are merged."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Call the nested trigger."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Call the nested trigger."""
        self.nested_trigger.clear(window, ctx)
