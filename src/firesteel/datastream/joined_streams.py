"""Two streams joined by key and window: re-exported by `firesteel.datastream.data_stream`.

Both streams are tagged with the side they come from and united, and one window operator on the union sees the elements
of both: so windows, triggers, lateness and state are those of any window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    RuntimeContext,
    WindowFunction,
)
from firesteel.datastream.operator_descriptors import TagAndKeyByOperator
from firesteel.datastream.stream_base import check_function, type_or_pickled
from firesteel.datastream.window import Trigger, WindowAssigner
from firesteel.datastream.windowed_streams import WindowedStream

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

CoGroup = Callable[[list[Any], list[Any]], Iterable[Any] | None]
A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
R = TypeVar("R")
W = TypeVar("W", bound="_WithWindow")

WindowsOf = Callable[[WindowedStream[Any, Any, Any]], W]
"""Makes the windows of two streams of those of their union."""


class CoGroupWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Hands a window's tagged elements to `co_group`, apart by side; `function` is the user's, to open and close."""

    def __init__(self, function: Any, co_group: CoGroup) -> None:
        self._function = function
        self._co_group = co_group

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function where it can be opened."""
        if hasattr(self._function, "open"):
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the user's function where it can be closed."""
        if hasattr(self._function, "close"):
            self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """The results of both sides' elements."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        return self._co_group(*sides) or ()


@dataclass(frozen=True, slots=True)
class _KeyedSide:
    """One of the streams, with how its key is found; `key_type` None: not declared on this side."""

    stream: DataStream[Any]
    key_selector: KeySelector[Any, Any] | Callable[[Any], Any]
    key_type: TypeInformation[Any] | None


class _WithWindow:
    """Both streams cut into the same windows."""

    def __init__(self, windowed: WindowedStream[Any, Any, Any]) -> None:
        self._windowed = windowed

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Decides when windows fire, instead of the assigner's default; it sees elements as pairs `(side, element)`.

        Raises:
            ValueError: the windows merge and the trigger can't.
        """
        self._windowed.trigger(trigger)
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Keeps windows so many milliseconds after their end, for late elements.

        Raises:
            ValueError: it is negative.
        """
        self._windowed.allowed_lateness(time_ms)
        return self

    def _apply(self, function: Any, co_group: CoGroup, output_type: TypeInformation[Any] | None) -> DataStream[Any]:
        return self._windowed.apply(CoGroupWindowFunction(function, co_group), output_type)


class JoinedWindows(_WithWindow, Generic[A, B]):
    """Two streams in windows, to be joined (Flink: `JoinedStreams.WithWindow`)."""

    def apply(
        self,
        function: JoinFunction[A, B, R] | FlatJoinFunction[A, B, R] | Callable[[A, B], R],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """What the function makes of each pair with the same key and window; what finds no partner is dropped.

        Args:
            function: A JoinFunction or a callable gives one result per pair, a FlatJoinFunction any number.
            output_type: Type of the results.

        Raises:
            TypeError: the function is nothing of that.
        """
        check_function(function, JoinFunction, "join", "apply() of joined streams")
        join: Any = getattr(function, "join", function)
        each = _any_per_pair if isinstance(function, FlatJoinFunction) else _one_per_pair
        return self._apply(function, each(join), output_type)


class CoGroupedWindows(_WithWindow, Generic[A, B]):
    """Two streams in windows, to be co-grouped (Flink: `CoGroupedStreams.WithWindow`)."""

    def apply(
        self,
        function: CoGroupFunction[A, B, R] | Callable[[list[A], list[B]], Iterable[R] | None],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """What the function makes of all elements with the same key and window, also where one side has none.

        Raises:
            TypeError: the function is neither a CoGroupFunction nor callable.
        """
        check_function(function, CoGroupFunction, "co_group", "apply() of co-grouped streams")
        co_group: Any = getattr(function, "co_group", function)
        return self._apply(function, co_group, output_type)


class EqualTo(Generic[W]):
    """Two streams with their keys (Flink: `JoinedStreams.Where.EqualTo`, `CoGroupedStreams.Where.EqualTo`)."""

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
        """Cuts both streams into the same windows; the assigner sees elements as pairs `(side, element)`."""
        tagged = self._tagged(0).union(self._tagged(1))
        return self._with_window(tagged._keyed_by_elements(self._key_type).window(assigner))

    def _tagged(self, number: int) -> DataStream[Any]:
        """Elements of one side as `(key, (side, element))`: one operator where Flink has one, and an exchange less."""
        side = self._sides[number]
        stream = side.stream._values()
        operator = TagAndKeyByOperator(number, side.key_selector, self._key_type)
        return stream._like_input(stream._operator("Map", operator, None))


class Where(Generic[B, K, W]):
    """Two streams and the first one's key (Flink: `JoinedStreams.Where`, `CoGroupedStreams.Where`)."""

    def __init__(self, with_window: WindowsOf[W], first: _KeyedSide, stream2: DataStream[B]) -> None:
        self._with_window = with_window
        self._first = first
        self._stream2 = stream2

    def equal_to(
        self, key_selector: KeySelector[B, K] | Callable[[B], K], key_type: TypeInformation[K] | None = None
    ) -> EqualTo[W]:
        """Says what of the second stream's elements is to equal the first one's key.

        Raises:
            TypeError: the key type is declared on both sides and differs.
        """
        check_function(key_selector, KeySelector, "get_key", "equal_to()")
        return EqualTo(self._with_window, self._first, _KeyedSide(self._stream2, key_selector, key_type))


class _TwoStreams(ABC, Generic[A, B, W]):
    """Two streams that will meet by key and window."""

    def __init__(self, stream1: DataStream[A], stream2: DataStream[B]) -> None:
        self._stream1 = stream1
        self._stream2 = stream2

    @abstractmethod
    def _in_windows(self, windowed: WindowedStream[Any, Any, Any]) -> W:
        """Return both streams cut into windows."""

    def where(
        self, key_selector: KeySelector[A, K] | Callable[[A], K], key_type: TypeInformation[K] | None = None
    ) -> Where[B, K, W]:
        """Says what of the first stream's elements is the key; without type it is that of `equal_to`, or pickled."""
        check_function(key_selector, KeySelector, "get_key", "where()")
        return Where(self._in_windows, _KeyedSide(self._stream1, key_selector, key_type), self._stream2)


class JoinedStreams(_TwoStreams[A, B, JoinedWindows[A, B]]):
    """Two streams whose elements are joined where key and window are the same: an inner join.

    Flink: `streaming.api.datastream.JoinedStreams` (Java only). A result has the timestamp of its window's end.
    """

    def _in_windows(self, windowed: WindowedStream[Any, Any, Any]) -> JoinedWindows[A, B]:
        return JoinedWindows(windowed)


class CoGroupedStreams(_TwoStreams[A, B, CoGroupedWindows[A, B]]):
    """Two streams whose elements meet as two lists per key and window: inner, outer and other joins.

    Flink: `streaming.api.datastream.CoGroupedStreams` (Java only). A result has the timestamp of its window's end.
    """

    def _in_windows(self, windowed: WindowedStream[Any, Any, Any]) -> CoGroupedWindows[A, B]:
        return CoGroupedWindows(windowed)


def _one_per_pair(join: Callable[[Any, Any], Any]) -> CoGroup:
    return lambda first, second: (join(a, b) for a in first for b in second)


def _any_per_pair(join: Callable[[Any, Any], Iterable[Any] | None]) -> CoGroup:
    return lambda first, second: (result for a in first for b in second for result in join(a, b) or ())
