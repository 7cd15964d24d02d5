"""Aggregations and windows of `KeyedStream`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.common.checks import require
from firesteel.datastream.streams.stream_base import StreamBase, check_function
from firesteel.datastream.streams.windowed_streams import WindowedStream
from firesteel.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    Window,
    WindowAssigner,
)
from firesteel.functions import operator_descriptors as op
from firesteel.functions.accumulators import accumulator
from firesteel.functions.user_functions import ReduceFunction

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

T = TypeVar("T")
K = TypeVar("K")
W = TypeVar("W", bound=Window)


class KeyedOperators(StreamBase[T], Generic[T, K]):
    """The part of `KeyedStream` that aggregates elements and assigns windows."""

    def reduce(self, func: ReduceFunction[T] | Callable[[T, T], T]) -> DataStream[T]:
        """Combine each element with the reduced value of its key so far.

        A streaming job emits the new value after every element, a batch job only the last value of each key.

        Args:
            func: A `ReduceFunction` or a function of two values.

        Example:
            >>> numbers = env.from_collection([1, 2, 3, 4], Types.INT())
            >>> _ = numbers.key_by(lambda n: n % 2, Types.INT()).reduce(lambda a, b: a + b).collect_async()
            >>> run_local(env).elements
            [1, 2, 4, 6]
        """
        check_function(func, ReduceFunction, "reduce", "reduce()")
        own_type = self.get_type()
        operator = op.ReduceOperator(func, own_type, self._key_type)
        return self._new_stream(self._element_operator("Reduce", operator, own_type))

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Emit the running sum of a field per key.

        Args:
            position_to_sum: Index or name of the field.
        """
        return self.reduce(accumulator("sum", position_to_sum))

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Emit the running minimum of a field per key; the other fields are those of the first element.

        Args:
            position_to_min: Index of a field of a tuple, list or Row, or its name in a Row; numbers have position 0
                only.

        Raises:
            TypeError: `position_to_min` is neither int nor str; a missing field fails the job instead.
        """
        return self.reduce(accumulator("min", position_to_min))

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Emit the running maximum of a field per key; the other fields are those of the first element.

        Args:
            position_to_max: Index of a field of a tuple, list or Row, or its name in a Row; numbers have position 0
                only.

        Raises:
            TypeError: `position_to_max` is neither int nor str; a missing field fails the job instead.
        """
        return self.reduce(accumulator("max", position_to_max))

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Emit the element with the smallest value of a field so far, per key.

        Args:
            position_to_min_by: Index or name of the field, as for `min`; among equal values the first element stays.

        Raises:
            TypeError: `position_to_min_by` is neither int nor str; a missing field fails the job instead.
        """
        return self.reduce(accumulator("min_by", position_to_min_by))

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Emit the element with the largest value of a field so far, per key.

        Args:
            position_to_max_by: Index or name of the field, as for `max`; among equal values the first element stays.

        Raises:
            TypeError: `position_to_max_by` is neither int nor str; a missing field fails the job instead.
        """
        return self.reduce(accumulator("max_by", position_to_max_by))

    def window(self, window_assigner: WindowAssigner[Any, W]) -> WindowedStream[T, K, W]:
        """Assign the elements of each key to windows.

        Args:
            window_assigner: Such as `TumblingEventTimeWindows.of(Time.minutes(5))`; it also supplies the default
                trigger.

        Raises:
            TypeError: `window_assigner` is not a `WindowAssigner`.

        Example:
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
            >>> numbers = env.from_collection([1, 3, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
            >>> by_rest = numbers.key_by(lambda n: n % 2, Types.LONG())
            >>> windows = by_rest.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
            >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
            >>> sorted(run_local(env).elements)
            [4, 4, 12]
        """
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[T, K, CountWindow]:
        """Assign the elements of each key to windows of a fixed number of elements.

        Args:
            size: Number of elements of a window.
            slide: Number of elements between the starts of two windows; 0 makes tumbling windows.

        Example:
            >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
            >>> windows = numbers.key_by(lambda n: "all", Types.STRING()).count_window(2)
            >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
            >>> run_local(env).elements
            [3, 7]
        """
        for number in (size, slide):
            require(number, int, "count_window()")
        if slide == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))
