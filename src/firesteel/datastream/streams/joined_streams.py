"""Window joins of two streams: re-exported by `firesteel.datastream.data_stream`.

The elements of both streams are tagged with their side and united. One window operator processes the union, so windows,
triggers, lateness and state work as for any other window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from firesteel.common.checks import require_one_result
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.streams.stream_base import check_function, type_or_pickled
from firesteel.datastream.streams.windowed_streams import WindowedStream
from firesteel.datastream.window import Trigger, WindowAssigner
from firesteel.functions.operator_builder import add_operator, keyed_by_elements, stream_like_input, values_of
from firesteel.functions.operator_descriptors import TagAndKeyByOperator
from firesteel.functions.user_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    RuntimeContext,
    WindowFunction,
)

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

CoGroup = Callable[[list[Any], list[Any]], Iterable[Any] | None]
A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
R = TypeVar("R")
W = TypeVar("W", bound="_WithWindow")

WindowsOf = Callable[[WindowedStream[Any, Any, Any]], W]
"""Wraps the windowed union of two streams."""


class CoGroupWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Splits a window's tagged elements by side and passes them to `co_group`.

    `function` is the user's function, which is opened and closed.
    """

    def __init__(self, function: object, co_group: CoGroup) -> None:
        self._function = function
        self._co_group = co_group

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function if it has an `open` method."""
        if hasattr(self._function, "open"):
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the user's function if it has a `close` method."""
        if hasattr(self._function, "close"):
            self._function.close()

    def apply(self, key: object, window: object, inputs: Iterable[Any]) -> Iterable[Any]:
        """Return the results for the elements of both sides."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        results = self._co_group(*sides)
        return () if results is None else results


@dataclass(frozen=True, slots=True)
class _KeyedSide:
    """One of the two streams with its key selector; `key_type` is None if it is not declared on this side."""

    stream: DataStream[Any]
    key_selector: KeySelector[Any, Any] | Callable[[Any], Any]
    key_type: TypeInformation[Any] | None


class _WithWindow:
    """Two streams whose elements are assigned to the same windows."""

    def __init__(self, windowed: WindowedStream[Any, Any, Any]) -> None:
        self._windowed = windowed

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger; it sees elements as pairs `(side, element)`.

        Raises:
            ValueError: the assigner merges windows and the trigger does not support that.
        """
        self._windowed.trigger(trigger)
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Set how long windows are kept after their end for late elements.

        Args:
            time_ms: Milliseconds, 0 or more (default 0).

        Raises:
            ValueError: `time_ms` is negative.
        """
        self._windowed.allowed_lateness(time_ms)
        return self

    def _apply(self, function: object, co_group: CoGroup, output_type: TypeInformation[Any] | None) -> DataStream[Any]:
        return self._windowed.apply(CoGroupWindowFunction(function, co_group), output_type)


class JoinedWindows(_WithWindow, Generic[A, B]):
    """Two windowed streams to join (Flink: `JoinedStreams.WithWindow`)."""

    def apply(
        self,
        function: JoinFunction[A, B, R] | FlatJoinFunction[A, B, R] | Callable[[A, B], R],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function to each pair of elements with the same key and window; drop elements without a partner.

        Args:
            function: A JoinFunction or a callable returns one result per pair, a FlatJoinFunction any number.
            output_type: Type of the results; None pickles them.

        Raises:
            TypeError: `function` is none of these.
        """
        check_function(function, JoinFunction, "join", "apply() of joined streams")
        join: Any = getattr(function, "join", function)
        if not isinstance(function, FlatJoinFunction):
            require_one_result(join, "apply() of joined streams", "a FlatJoinFunction")
        each = _any_per_pair if isinstance(function, FlatJoinFunction) else _one_per_pair
        return self._apply(function, each(join), output_type)


class CoGroupedWindows(_WithWindow, Generic[A, B]):
    """Two windowed streams to co-group (Flink: `CoGroupedStreams.WithWindow`)."""

    def apply(
        self,
        function: CoGroupFunction[A, B, R] | Callable[[list[A], list[B]], Iterable[R] | None],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function to all elements with the same key and window, even if one side has none.

        Args:
            function: A CoGroupFunction or a callable that takes both lists and returns any number of results.
            output_type: Type of the results; None pickles them.

        Raises:
            TypeError: `function` is neither a CoGroupFunction nor callable.
        """
        check_function(function, CoGroupFunction, "co_group", "apply() of co-grouped streams")
        co_group: Any = getattr(function, "co_group", function)
        return self._apply(function, co_group, output_type)


class EqualTo(Generic[W]):
    """Two streams with their key selectors (Flink: `JoinedStreams.Where.EqualTo`, `CoGroupedStreams.Where.EqualTo`)."""

    def __init__(self, with_window: WindowsOf[W], first: _KeyedSide, second: _KeyedSide) -> None:
        self._with_window = with_window
        self._sides = (first, second)
        declared = [side.key_type for side in self._sides if side.key_type is not None]
        if len(declared) == 2 and declared[0] != declared[1]:
            raise TypeError(
                "where() and equal_to() need keys of the same type, as equal keys meet; "
                f"found {declared[0]!r} and {declared[1]!r}"
            )
        self._key_type = type_or_pickled(declared[0] if declared else None)

    def window(self, assigner: WindowAssigner[Any, Any]) -> W:
        """Assign the elements of both streams to windows; the assigner sees elements as pairs `(side, element)`."""
        tagged = self._tagged(0).union(self._tagged(1))
        return self._with_window(keyed_by_elements(tagged, self._key_type).window(assigner))

    def _tagged(self, number: int) -> DataStream[Any]:
        """Return one side as `(key, (side, element))`: one operator as in Flink, and one exchange less."""
        side = self._sides[number]
        stream = values_of(side.stream)
        operator = TagAndKeyByOperator(number, side.key_selector, self._key_type)
        return stream_like_input(stream, add_operator(stream, "Map", operator, None))


class Where(Generic[B, K, W]):
    """Two streams with the first one's key selector (Flink: `JoinedStreams.Where`, `CoGroupedStreams.Where`)."""

    def __init__(self, with_window: WindowsOf[W], first: _KeyedSide, stream2: DataStream[B]) -> None:
        self._with_window = with_window
        self._first = first
        self._stream2 = stream2

    def equal_to(
        self, key_selector: KeySelector[B, K] | Callable[[B], K], key_type: TypeInformation[K] | None = None
    ) -> EqualTo[W]:
        """Set the key selector of the second stream.

        Args:
            key_selector: A `KeySelector` or a function that returns the key of an element.
            key_type: Type of the keys; None uses the type declared by `where`.

        Raises:
            TypeError: both sides declare a key type and the types differ.
        """
        check_function(key_selector, KeySelector, "get_key", "equal_to()")
        return EqualTo(self._with_window, self._first, _KeyedSide(self._stream2, key_selector, key_type))


class _TwoStreams(ABC, Generic[A, B, W]):
    """Two streams to match by key and window."""

    def __init__(self, stream1: DataStream[A], stream2: DataStream[B]) -> None:
        self._stream1 = stream1
        self._stream2 = stream2

    @abstractmethod
    def _in_windows(self, windowed: WindowedStream[Any, Any, Any]) -> W:
        """Return the windowed pair of streams."""

    def where(
        self, key_selector: KeySelector[A, K] | Callable[[A], K], key_type: TypeInformation[K] | None = None
    ) -> Where[B, K, W]:
        """Set the key selector of the first stream.

        Args:
            key_selector: A `KeySelector` or a function that returns the key of an element.
            key_type: Type of the keys; None uses the type declared by `equal_to`, or pickles the keys.
        """
        check_function(key_selector, KeySelector, "get_key", "where()")
        return Where(self._in_windows, _KeyedSide(self._stream1, key_selector, key_type), self._stream2)


class JoinedStreams(_TwoStreams[A, B, JoinedWindows[A, B]]):
    """An inner join of two streams by key and window.

    Flink: `streaming.api.datastream.JoinedStreams` (Java only). The timestamp of a result is the last one of its
    window.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> left = env.from_collection([1, 2, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> right = env.from_collection([4, 15], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> joined = left.join(right).where(lambda n: n % 2).equal_to(lambda n: n % 2)
        >>> windows = joined.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        >>> _ = windows.apply(lambda a, b: (a, b)).collect_async()
        >>> run_local(env).elements
        [(2, 4)]
    """

    def _in_windows(self, windowed: WindowedStream[Any, Any, Any]) -> JoinedWindows[A, B]:
        return JoinedWindows(windowed)


class CoGroupedStreams(_TwoStreams[A, B, CoGroupedWindows[A, B]]):
    """A co-group of two streams by key and window, for inner, outer and other joins.

    Flink: `streaming.api.datastream.CoGroupedStreams` (Java only). The timestamp of a result is the last one of its
    window.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> left = env.from_collection([1, 2, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> right = env.from_collection([4, 15], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> grouped = left.co_group(right).where(lambda n: n % 2).equal_to(lambda n: n % 2)
        >>> windows = grouped.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        >>> _ = windows.apply(lambda a, b: [(list(a), list(b))]).collect_async()
        >>> sorted(run_local(env).elements)
        [([], [15]), ([1], []), ([2], [4]), ([12], [])]
    """

    def _in_windows(self, windowed: WindowedStream[Any, Any, Any]) -> CoGroupedWindows[A, B]:
        return CoGroupedWindows(windowed)


def _one_per_pair(join: Callable[[Any, Any], Any]) -> CoGroup:
    return lambda first, second: (join(a, b) for a in first for b in second)


def _any_per_pair(join: Callable[[Any, Any], Iterable[Any] | None]) -> CoGroup:
    def co_group(first: list[A], second: list[B]) -> Iterable[object]:
        for a in first:
            for b in second:
                results = join(a, b)
                if results is not None:
                    yield from results

    return co_group
