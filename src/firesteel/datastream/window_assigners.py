"""Which windows an element belongs to: re-exported by `firesteel.datastream.window`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from math import gcd
from typing import Any, Generic, TypeVar

from firesteel.common.constants import MIN_LONG_VALUE
from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream.runtime_context import RuntimeContext
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.triggers import CountTrigger, EventTimeTrigger, NeverTrigger, ProcessingTimeTrigger, Trigger
from firesteel.datastream.windows import (
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
    """Which windows an element belongs to."""

    class WindowAssignerContext(ABC):
        """What an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Time of the machine."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The subtask, with state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of an element; `timestamp` is its event time, -2^63 if it has none."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger that is used unless another is set."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Writes the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """True if the windows end by event time, False by processing time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may merge."""

    class MergeCallback(ABC, Generic[W2]):
        """Told which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """All of `to_be_merged` become `merge_result`."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[Any]) -> None:
        """Tells `callback` which of the windows become one."""


class SessionWindowTimeGapExtractor(ABC):
    """The gap that ends a session, by element."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Milliseconds; greater than zero."""


def _milliseconds(time: Time | None) -> int:
    return 0 if time is None else time.to_milliseconds()


def _event_time(timestamp: int, assigner: object) -> int:
    if timestamp is None or timestamp <= MIN_LONG_VALUE:
        raise ValueError(
            f"{assigner} needs elements with an event time, found one without; call assign_timestamps_and_watermarks() "
            "with a TimestampAssigner before the window, or use processing time windows"
        )
    return timestamp


class _TimeWindowAssigner(WindowAssigner[Any, TimeWindow]):
    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Start and end."""
        return TimeWindowSerializer()


class _EventTimeAssigner(_TimeWindowAssigner):
    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the watermark passes the end."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """True."""
        return True

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return _event_time(timestamp, self)


class _ProcessingTimeAssigner(_TimeWindowAssigner):
    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the clock passes the end."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """False."""
        return False

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return context.get_current_processing_time()


class _SessionAssigner(MergingWindowAssigner[Any, TimeWindow]):
    def merge_windows(self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[Any]) -> None:
        """Windows that overlap or touch become one."""
        TimeWindow.merge_windows(windows, callback)


_time_window = lru_cache(maxsize=4096)(TimeWindow)
"""A window that many elements are in is one object: state is found quicker by it."""


class _TumblingAssigner(_TimeWindowAssigner):
    """Windows of a fixed size, one after the other; the time is the subclass's."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, size: int, offset: int) -> None:
        if size <= 0 or abs(offset) >= size:
            raise ValueError(f"{type(self).__name__} needs size > 0 and abs(offset) < size, found {size} and {offset}")
        self._size = size
        self._offset = offset

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """One window."""
        time = self._time(timestamp, context)
        start = time - (time - self._offset) % self._size
        return (_time_window(start, start + self._size),)

    def panes(self) -> tuple[int, int]:
        """Length and offset (milliseconds) of the parts of time whose elements are in the same windows."""
        return self._size, self._offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_TumblingAssigner, _EventTimeAssigner):
    """Windows of a fixed size, one after the other, by event time."""

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingEventTimeWindows:
        """Windows of that size; `offset` moves their start."""
        return TumblingEventTimeWindows(_milliseconds(size), _milliseconds(offset))


class TumblingProcessingTimeWindows(_TumblingAssigner, _ProcessingTimeAssigner):
    """Windows of a fixed size, one after the other, by processing time."""

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingProcessingTimeWindows:
        """Windows of that size; `offset` moves their start."""
        return TumblingProcessingTimeWindows(_milliseconds(size), _milliseconds(offset))


class _SlidingAssigner(_TimeWindowAssigner):
    """Windows of a fixed size that start at fixed distances; the time is the subclass's."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, size: int, slide: int, offset: int) -> None:
        if size <= 0 or slide <= 0 or abs(offset) >= slide:
            found = f"{size}, {slide} and {offset}"
            raise ValueError(f"{type(self).__name__} needs size > 0, slide > 0, abs(offset) < slide; found {found}")
        self._size = size
        self._slide = slide
        self._offset = offset

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The windows around the element, the latest first."""
        time = self._time(timestamp, context)
        last = time - (time - self._offset) % self._slide
        return [_time_window(start, start + self._size) for start in range(last, time - self._size, -self._slide)]

    def panes(self) -> tuple[int, int]:
        """Length and offset (milliseconds) of the parts of time whose elements are in the same windows."""
        return gcd(self._size, self._slide), self._offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_SlidingAssigner, _EventTimeAssigner):
    """Windows of a fixed size that start at fixed distances and may overlap, by event time."""

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingEventTimeWindows:
        """Windows of that size, one each `slide`; `offset` moves their start."""
        return SlidingEventTimeWindows(_milliseconds(size), _milliseconds(slide), _milliseconds(offset))


class SlidingProcessingTimeWindows(_SlidingAssigner, _ProcessingTimeAssigner):
    """Windows of a fixed size that start at fixed distances and may overlap, by processing time."""

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingProcessingTimeWindows:
        """Windows of that size, one each `slide`; `offset` moves their start."""
        return SlidingProcessingTimeWindows(_milliseconds(size), _milliseconds(slide), _milliseconds(offset))


class _GapAssigner(_SessionAssigner):
    """Sessions with a fixed gap; the time is the subclass's."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise ValueError(f"{type(self).__name__} needs a gap greater than 0, found {session_gap}")
        self._session_gap = session_gap

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """One window, to be merged with those that it touches."""
        time = self._time(timestamp, context)
        return (TimeWindow(time, time + self._session_gap),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class EventTimeSessionWindows(_GapAssigner, _EventTimeAssigner):
    """Windows that end after a time without elements, by event time."""

    @staticmethod
    def with_gap(size: Time) -> EventTimeSessionWindows:
        """Sessions that end after so long without elements."""
        return EventTimeSessionWindows(size.to_milliseconds())

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows:
        """Sessions whose gap depends on their elements."""
        return DynamicEventTimeSessionWindows(extractor)


class _DynamicGapAssigner(_SessionAssigner):
    """Sessions whose gap depends on their elements; the time is the subclass's."""

    _time: Callable[[int, WindowAssigner.WindowAssignerContext], int]

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        self._session_window_time_gap_extractor = session_window_time_gap_extractor

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """One window, to be merged with those that it touches."""
        gap = self._session_window_time_gap_extractor.extract(element)
        if gap <= 0:
            raise ValueError(f"Dynamic session time gap must be greater than 0, found {gap} for {element!r}")
        time = self._time(timestamp, context)
        return (TimeWindow(time, time + gap),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_window_time_gap_extractor})"


class DynamicEventTimeSessionWindows(_DynamicGapAssigner, _EventTimeAssigner):
    """Windows that end after a time without elements, which depends on the elements, by event time."""

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows:
        """Sessions whose gap depends on their elements."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_GapAssigner, _ProcessingTimeAssigner):
    """Windows that end after a time without elements, by processing time."""

    @staticmethod
    def with_gap(size: Time) -> ProcessingTimeSessionWindows:
        """Sessions that end after so long without elements."""
        return ProcessingTimeSessionWindows(size.to_milliseconds())

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Sessions whose gap depends on their elements."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGapAssigner, _ProcessingTimeAssigner):
    """Windows that end after a time without elements, which depends on the elements, by processing time."""

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Sessions whose gap depends on their elements."""
        return DynamicProcessingTimeSessionWindows(extractor)


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window for everything; needs a trigger of its own."""

    def __init__(self) -> None:
        pass

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        """The window."""
        return (GlobalWindow.get(),)

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        """Never fires."""
        return NeverTrigger()  # type: ignore[return-value]

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """A byte."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """False."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountAssigner(WindowAssigner[Any, CountWindow]):
    """Counts the elements of a key in its state."""

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

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        """Fires when the window is full."""
        return CountTrigger.purging(self._window_size)  # type: ignore[return-value]

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """The number."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """False."""
        return False


class CountTumblingWindowAssigner(_CountAssigner):
    """Windows of a fixed number of elements, one after the other."""

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of so many elements."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """One window."""
        return (CountWindow(self._next_number(context) // self._window_size),)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountAssigner):
    """Windows of a fixed number of elements, a new one each so many elements."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size)
        if window_slide <= 0:
            raise ValueError(f"CountSlidingWindowAssigner needs a slide greater than 0, found {window_slide}")
        self._window_slide = window_slide

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of so many elements, a new one each `window_slide`."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """The windows around the element, the latest first."""
        number = self._next_number(context)
        last = number // self._window_slide
        first = max(0, -((self._window_size - 1 - number) // self._window_slide))
        return [CountWindow(id) for id in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"
