"""Window assigners: re-exported by `firesteel.datastream.window`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from math import gcd
from typing import Any, Generic, TypeVar

from firesteel.common.checks import require
from firesteel.common.constants import MIN_LONG_VALUE
from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.functions.runtime_context import RuntimeContext
from firesteel.functions.state import ValueStateDescriptor
from firesteel.functions.triggers import CountTrigger, EventTimeTrigger, NeverTrigger, ProcessingTimeTrigger, Trigger
from firesteel.functions.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each element to windows.

    Example:
        >>> class PerDay(WindowAssigner):
        ...     def assign_windows(self, element, timestamp, context):
        ...         start = TimeWindow.get_window_start_with_offset(timestamp, 0, 86_400_000)
        ...         return [TimeWindow(start, start + 86_400_000)]
        ...     def get_default_trigger(self, env):
        ...         return EventTimeTrigger.create()
        ...     def get_window_serializer(self):
        ...         return TimeWindowSerializer()
        ...     def is_event_time(self):
        ...         return True
        >>> PerDay().assign_windows("login", 90_000_000, None)
        [TimeWindow(start=86400000, end=172800000)]
    """

    class WindowAssignerContext(ABC):
        """The context of an assigner."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the current processing time in ms since the epoch."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the runtime context, which gives access to state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of an element.

        Args:
            element: The element.
            timestamp: Its timestamp in ms since the epoch; -2^63 if it has none.
            context: Gives the current processing time and state.
        """

    @abstractmethod
    def get_default_trigger(self, env: object) -> Trigger[T, W]:
        """Return the trigger that is used unless another one is set.

        Args:
            env: The `StreamExecutionEnvironment` of the program.
        """

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return the serializer of the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether windows end by event time rather than by processing time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """A window assigner whose windows may be merged.

    Example:
        >>> assigner = EventTimeSessionWindows.with_gap(Time.seconds(1))
        >>> isinstance(assigner, MergingWindowAssigner)
        True
        >>> class Print(MergingWindowAssigner.MergeCallback):
        ...     def merge(self, to_be_merged, merge_result):
        ...         print(sorted(to_be_merged), "->", merge_result)
        >>> assigner.merge_windows([TimeWindow(0, 1000), TimeWindow(500, 1500), TimeWindow(3000, 4000)], Print())
        [TimeWindow(start=0, end=1000), TimeWindow(start=500, end=1500)] -> TimeWindow(start=0, end=1500)
    """

    class MergeCallback(ABC, Generic[W2]):
        """Receives the windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Merge windows of one key, with their elements and state.

            Args:
                to_be_merged: Present windows, and the window of the new element.
                merge_result: The window that replaces them.
            """

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[Any]) -> None:
        """Determine which windows to merge and call `callback` for each group of them.

        Args:
            windows: All windows of one key, including the window of the new element.
            callback: Called once for each group of windows that become one; windows that stay alone are not passed.
        """


class SessionWindowTimeGapExtractor(ABC):
    """Returns the session gap of an element.

    Example:
        >>> class GapOfPair(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1] * 1000
        >>> GapOfPair().extract(("user", 30))
        30000
    """

    @abstractmethod
    def extract(self, element: object) -> int:
        """Return the session gap in milliseconds.

        Args:
            element: An element of the stream.

        Returns:
            A number greater than 0; another number fails the job.
        """


def _milliseconds(time: Time | None) -> int:
    if time is None:
        return 0
    require(time, Time, "a window's size, slide, gap or offset")
    return time.to_milliseconds()


def _event_time(timestamp: int, assigner: object) -> int:
    if timestamp is None or timestamp <= MIN_LONG_VALUE:
        raise ValueError(
            f"{assigner} needs elements with a timestamp, found one without; call assign_timestamps_and_watermarks() "
            "with a TimestampAssigner before the window, or use processing time windows"
        )
    return timestamp


class _TimeWindowAssigner(WindowAssigner[Any, TimeWindow]):
    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return a serializer of start and end."""
        return TimeWindowSerializer()


class _EventTimeAssigner(_TimeWindowAssigner):
    def get_default_trigger(self, env: object) -> Trigger[Any, TimeWindow]:
        """Return a trigger that fires when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return _event_time(timestamp, self)


class _ProcessingTimeAssigner(_TimeWindowAssigner):
    def get_default_trigger(self, env: object) -> Trigger[Any, TimeWindow]:
        """Return a trigger that fires when processing time passes the end of the window."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return context.get_current_processing_time()


class _SessionAssigner(MergingWindowAssigner[Any, TimeWindow]):
    def merge_windows(self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[Any]) -> None:
        """Merge windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)


_time_window = lru_cache(maxsize=4096)(TimeWindow)
"""Share one object per window among its elements, which makes state lookups faster."""


class _TumblingAssigner(_TimeWindowAssigner):
    """Tumbling windows; a subclass supplies the time."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, size: int, offset: int) -> None:
        if size <= 0 or abs(offset) >= size:
            raise ValueError(f"{type(self).__name__} needs size > 0 and abs(offset) < size, found {size} and {offset}")
        self._size = size
        self._offset = offset

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the single window of the element."""
        time = self._time(timestamp, context)
        start = time - (time - self._offset) % self._size
        return (_time_window(start, start + self._size),)

    def panes(self) -> tuple[int, int]:
        """Return length and offset (ms) of the panes: spans of time whose elements belong to the same windows."""
        return self._size, self._offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_TumblingAssigner, _EventTimeAssigner):
    """Windows of a fixed size that do not overlap, by event time.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> windows = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [5, 12]
    """

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingEventTimeWindows:
        """Return an assigner of tumbling windows.

        Args:
            size: Length of a window.
            offset: Shifts the start of the windows, e.g. to a time zone; its absolute value must be less than `size`.
        """
        return TumblingEventTimeWindows(_milliseconds(size), _milliseconds(offset))


class TumblingProcessingTimeWindows(_TumblingAssigner, _ProcessingTimeAssigner):
    """Windows of a fixed size that do not overlap, by processing time.

    Example:
        >>> TumblingProcessingTimeWindows.of(Time.minutes(5))
        TumblingProcessingTimeWindows(300000, 0)
    """

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingProcessingTimeWindows:
        """Return an assigner of tumbling windows.

        Args:
            size: Length of a window.
            offset: Shifts the start of the windows, e.g. to a time zone; its absolute value must be less than `size`.
        """
        return TumblingProcessingTimeWindows(_milliseconds(size), _milliseconds(offset))


class _SlidingAssigner(_TimeWindowAssigner):
    """Sliding windows; a subclass supplies the time."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, size: int, slide: int, offset: int) -> None:
        if size <= 0 or slide <= 0 or abs(offset) >= slide:
            found = f"{size}, {slide} and {offset}"
            raise ValueError(f"{type(self).__name__} needs size > 0, slide > 0, abs(offset) < slide; found {found}")
        self._size = size
        self._slide = slide
        self._offset = offset

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the windows of the element, the latest first."""
        time = self._time(timestamp, context)
        last = time - (time - self._offset) % self._slide
        return [_time_window(start, start + self._size) for start in range(last, time - self._size, -self._slide)]

    def panes(self) -> tuple[int, int]:
        """Return length and offset (ms) of the panes: spans of time whose elements belong to the same windows."""
        return gcd(self._size, self._slide), self._offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_SlidingAssigner, _EventTimeAssigner):
    """Windows of a fixed size that start at a fixed interval and may overlap, by event time.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> windows = numbers.window_all(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [5, 5, 12, 12]
    """

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingEventTimeWindows:
        """Return an assigner of sliding windows.

        Args:
            size: Length of a window.
            slide: Interval between the starts of two windows.
            offset: Shifts the start of the windows; its absolute value must be less than `slide`.
        """
        return SlidingEventTimeWindows(_milliseconds(size), _milliseconds(slide), _milliseconds(offset))


class SlidingProcessingTimeWindows(_SlidingAssigner, _ProcessingTimeAssigner):
    """Windows of a fixed size that start at a fixed interval and may overlap, by processing time.

    Example:
        >>> SlidingProcessingTimeWindows.of(Time.minutes(5), Time.minutes(1))
        SlidingProcessingTimeWindows(300000, 60000, 0)
    """

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingProcessingTimeWindows:
        """Return an assigner of sliding windows.

        Args:
            size: Length of a window.
            slide: Interval between the starts of two windows.
            offset: Shifts the start of the windows; its absolute value must be less than `slide`.
        """
        return SlidingProcessingTimeWindows(_milliseconds(size), _milliseconds(slide), _milliseconds(offset))


class _GapAssigner(_SessionAssigner):
    """Session windows with a fixed gap; a subclass supplies the time."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise ValueError(f"{type(self).__name__} needs a gap greater than 0, found {session_gap}")
        self._session_gap = session_gap

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return one window, to be merged with the windows that it touches."""
        time = self._time(timestamp, context)
        return (TimeWindow(time, time + self._session_gap),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class EventTimeSessionWindows(_GapAssigner, _EventTimeAssigner):
    """Session windows, which end after a gap without elements, by event time.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 12, 13], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> windows = numbers.window_all(EventTimeSessionWindows.with_gap(Time.milliseconds(5)))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [5, 25]
    """

    @staticmethod
    def with_gap(size: Time) -> EventTimeSessionWindows:
        """Return an assigner of session windows that end after a gap of this length.

        Args:
            size: The gap, greater than 0.
        """
        return EventTimeSessionWindows(size.to_milliseconds())

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows:
        """Return an assigner of session windows whose gap depends on the element.

        Args:
            extractor: Returns the gap of an element in ms.
        """
        return DynamicEventTimeSessionWindows(extractor)


class _DynamicGapAssigner(_SessionAssigner):
    """Session windows whose gap depends on the element; a subclass supplies the time."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        self._session_window_time_gap_extractor = session_window_time_gap_extractor

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return one window, to be merged with the windows that it touches."""
        gap = self._session_window_time_gap_extractor.extract(element)
        if gap <= 0:
            raise ValueError(f"Dynamic session time gap must be greater than 0, found {gap} for {element!r}")
        time = self._time(timestamp, context)
        return (TimeWindow(time, time + gap),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_window_time_gap_extractor})"


class DynamicEventTimeSessionWindows(_DynamicGapAssigner, _EventTimeAssigner):
    """Session windows whose gap depends on the element, by event time.

    Example:
        >>> class GapOfPair(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1]
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[0])
        >>> pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        >>> visits = env.from_collection([(1, 5), (4, 2), (9, 1)], pair).assign_timestamps_and_watermarks(timed)
        >>> windows = visits.window_all(EventTimeSessionWindows.with_dynamic_gap(GapOfPair()))
        >>> _ = windows.reduce(lambda a, b: (a[0], b[1])).collect_async()
        >>> run_local(env).elements
        [(1, 2), (9, 1)]
    """

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows:
        """Return an assigner of session windows whose gap depends on the element.

        Args:
            extractor: Returns the gap of an element in ms.
        """
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_GapAssigner, _ProcessingTimeAssigner):
    """Session windows, which end after a gap without elements, by processing time.

    Example:
        >>> ProcessingTimeSessionWindows.with_gap(Time.minutes(5))
        ProcessingTimeSessionWindows(300000)
    """

    @staticmethod
    def with_gap(size: Time) -> ProcessingTimeSessionWindows:
        """Return an assigner of session windows that end after a gap of this length.

        Args:
            size: The gap, greater than 0.
        """
        return ProcessingTimeSessionWindows(size.to_milliseconds())

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Return an assigner of session windows whose gap depends on the element.

        Args:
            extractor: Returns the gap of an element in ms.
        """
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGapAssigner, _ProcessingTimeAssigner):
    """Session windows whose gap depends on the element, by processing time.

    Example:
        >>> class GapOfPair(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1]
        >>> assigner = DynamicProcessingTimeSessionWindows.with_dynamic_gap(GapOfPair())
    """

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Return an assigner of session windows whose gap depends on the element.

        Args:
            extractor: Returns the gap of an element in ms.
        """
        return DynamicProcessingTimeSessionWindows(extractor)


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """An assigner of all elements to a single window; it needs a trigger, as the default one never fires.

    Example:
        >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
        >>> windows = numbers.window_all(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [3, 7]
    """

    def __init__(self) -> None:
        pass

    @staticmethod
    def create() -> GlobalWindows:
        """Return a new assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        """Return the global window."""
        return (GlobalWindow.get(),)

    def get_default_trigger(self, env: object) -> Trigger[Any, GlobalWindow]:
        """Return a trigger that never fires."""
        return NeverTrigger()  # type: ignore[return-value]

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Return a serializer that writes one byte."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountAssigner(WindowAssigner[Any, CountWindow]):
    """An assigner that counts the elements of a key in keyed state."""

    def __init__(self, window_size: int) -> None:
        if window_size <= 0:
            raise ValueError(f"{type(self).__name__} needs a size greater than 0, found {window_size}")
        self._window_size = window_size
        self._counter = ValueStateDescriptor("assigner-count", Types.LONG())

    def _next_number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        state = context.get_runtime_context().get_state(self._counter)
        number: int = state.value() or 0
        state.update(number + 1)
        return number

    def get_default_trigger(self, env: object) -> Trigger[Any, CountWindow]:
        """Return a trigger that fires when the window is full."""
        return CountTrigger.purging(self._window_size)  # type: ignore[return-value]

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Return a serializer of the window's number."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False


class CountTumblingWindowAssigner(_CountAssigner):
    """Windows of a fixed number of elements that do not overlap.

    Example:
        >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
        >>> windows = numbers.key_by(lambda n: n > 9, Types.BOOLEAN()).window(CountTumblingWindowAssigner.of(2))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [3, 7]
    """

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Return an assigner of windows with a fixed number of elements of a key.

        Args:
            window_size: Number of elements of a window, at least 1.

        Raises:
            ValueError: `window_size` is less than 1.
        """
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """Return the single window of the element."""
        return (CountWindow(self._next_number(context) // self._window_size),)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountAssigner):
    """Windows of a fixed number of elements that start every `window_slide` elements.

    Args:
        window_size: Number of elements of a window, at least 1. Elements are counted separately for each key.
        window_slide: Number of elements between the starts of two windows, at least 1. Windows overlap if it is less
            than `window_size`; if it is greater, some elements are in no window.

    Raises:
        ValueError: one of the numbers is less than 1.

    Example:
        >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
        >>> windows = numbers.key_by(lambda n: n > 9, Types.BOOLEAN()).window(CountSlidingWindowAssigner.of(3, 1))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [6, 9, 12]
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size)
        if window_slide <= 0:
            raise ValueError(f"CountSlidingWindowAssigner needs a slide greater than 0, found {window_slide}")
        self._window_slide = window_slide

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Return an assigner of windows of `window_size` elements that start every `window_slide` elements.

        Args:
            window_size: Number of elements of a window.
            window_slide: Number of elements between the beginnings of two windows.
        """
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """Return the windows of the element, the latest first."""
        number = self._next_number(context)
        last = number // self._window_slide
        first = max(0, -((self._window_size - 1 - number) // self._window_slide))
        return [CountWindow(id) for id in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"
