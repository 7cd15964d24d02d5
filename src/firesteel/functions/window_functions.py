"""Window functions: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from firesteel.functions.function_base import Function
from firesteel.functions.runtime_context import KeyedStateStore
from firesteel.functions.windows import Window

IN = TypeVar("IN", contravariant=True)
OUT = TypeVar("OUT", covariant=True)
KEY = TypeVar("KEY", contravariant=True)
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """A function of all elements of a keyed window.

    Example:
        >>> class Count(WindowFunction):
        ...     def apply(self, key, window, inputs):
        ...         yield key, len(list(inputs))
        >>> words = env.from_collection(["to", "be", "to", "be"], Types.STRING())
        >>> windows = words.key_by(lambda word: word, Types.STRING()).window(CountTumblingWindowAssigner.of(2))
        >>> _ = windows.apply(Count(), Types.TUPLE([Types.STRING(), Types.INT()])).collect_async()
        >>> run_local(env).elements
        [('to', 2), ('be', 2)]
    """

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Return the results of a window; called each time the window fires.

        Args:
            key: The key of the window.
            window: The window.
            inputs: The elements of the window, or its single aggregate.
        """


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """A function of all elements of a non-keyed window.

    Example:
        >>> class Sum(AllWindowFunction):
        ...     def apply(self, window, inputs):
        ...         yield sum(inputs)
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> _ = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(Sum()).collect_async()
        >>> run_local(env).elements
        [5, 12]
    """

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Return the results of a window; called each time the window fires.

        Args:
            window: The window.
            inputs: The elements of the window, or its single aggregate.
        """


class _WindowContext(ABC, Generic[W2]):
    @abstractmethod
    def window(self) -> W2:
        """Return the window."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """Return the state of this key and window; `clear` has to remove it."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """Return the state of this key, which all its windows share."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """A function of all elements of a keyed window, with access to time and state.

    Example:
        >>> class Count(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         yield key, context.window().end, len(list(elements))
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 3, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> keyed = numbers.key_by(lambda n: n % 2 == 0, Types.BOOLEAN())
        >>> _ = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(Count()).collect_async()
        >>> run_local(env).elements
        [(False, 10, 2), (True, 20, 1)]
    """

    class Context(_WindowContext[W2], ABC):
        """The context of a window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the current processing time in ms since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the current watermark of this operator in ms since the epoch."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Return the results of a window; called each time the window fires.

        Args:
            key: The key of the window.
            context: Access to the window, to time and to state.
            elements: The elements of the window, or its single aggregate.
        """

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        """Clear the state kept in `window_state`; called when the window is removed.

        Args:
            context: Window, time and state; only `window_state` is removed with the window.
        """


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """A function of all elements of a non-keyed window, with access to state.

    Example:
        >>> class Sum(ProcessAllWindowFunction):
        ...     def process(self, context, elements):
        ...         yield context.window().start, sum(elements)
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> _ = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(Sum()).collect_async()
        >>> run_local(env).elements
        [(0, 5), (10, 12)]
    """

    class Context(_WindowContext[W2], ABC):
        """The context of a window."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Return the results of a window; called each time the window fires.

        Args:
            context: Access to the window, to time and to state.
            elements: The elements of the window, or its single aggregate.
        """

    def clear(self, context: ProcessAllWindowFunction.Context[Any]) -> None:
        """Clear the state kept in `window_state`; called when the window is removed.

        Args:
            context: Window and state; only `window_state` is removed with the window.
        """
