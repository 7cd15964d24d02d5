"""Interval joins of two keyed streams: the result of `KeyedStream.interval_join`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from firesteel.common.checks import require
from firesteel.common.time import Duration, Time
from firesteel.common.typeinfo import TypeInformation
from firesteel.errors import InvalidProgramError
from firesteel.functions.operator_builder import add_operator, key_type_of, stream_of
from firesteel.functions.operator_descriptors import IntervalJoinOperator
from firesteel.functions.output_tag import OutputTag
from firesteel.functions.user_functions import ProcessJoinFunction
from firesteel.graph.transformations import PythonOperatorKind

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream, KeyedStream


A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")


class IntervalJoin(Generic[A, B]):
    """Two keyed streams to join, whose interval is not set yet (Flink: `KeyedStream.IntervalJoin`).

    `KeyedStream.interval_join` returns it; continue with `between`.

    Args:
        left: The stream around whose timestamps the interval lies.
        right: The other stream, with keys of the same type.

    Raises:
        TypeError: the types of the keys differ.
    """

    def __init__(self, left: KeyedStream[A, Any], right: KeyedStream[B, Any]) -> None:
        if key_type_of(left) != key_type_of(right):
            raise TypeError(
                "interval_join() needs keys of the same type, as equal keys meet; "
                f"found {key_type_of(left)!r} and {key_type_of(right)!r}"
            )
        self._left = left
        self._right = right

    def in_event_time(self) -> Self:
        """Use event time, which is the default and the only supported time."""
        return self

    def in_processing_time(self) -> NoReturn:
        """Raise an error: elements have no processing time of their own.

        Raises:
            InvalidProgramError: always.
        """
        raise InvalidProgramError(
            "interval_join() supports event time only, found processing time; "
            "assign timestamps and watermarks before key_by(), or connect() the streams and process() them with timers"
        )

    def between(self, lower_bound: Time | Duration, upper_bound: Time | Duration) -> IntervalJoined[A, B]:
        """Set the interval around a left element's timestamp in which a right element's timestamp must lie.

        Args:
            lower_bound: Start of the interval, inclusive; negative for the time before the left element.
            upper_bound: End of the interval, inclusive.

        Raises:
            ValueError: the lower bound is greater than the upper bound.
        """
        return IntervalJoined(self._left, self._right, _millis(lower_bound), _millis(upper_bound))


class IntervalJoined(Generic[A, B]):
    """Two keyed streams with the interval of their join (Flink: `KeyedStream.IntervalJoined`)."""

    def __init__(
        self, left: KeyedStream[A, Any], right: KeyedStream[B, Any], lower_bound_ms: int, upper_bound_ms: int
    ) -> None:
        if lower_bound_ms > upper_bound_ms:
            raise ValueError(
                f"between() needs a lower bound not greater than the upper bound, found {lower_bound_ms} ms and "
                f"{upper_bound_ms} ms"
            )
        self._left = left
        self._right = right
        self._lower_bound_ms = lower_bound_ms
        self._upper_bound_ms = upper_bound_ms
        self._lower_exclusive = False
        self._upper_exclusive = False
        self._left_late_tag: OutputTag[Any] | None = None
        self._right_late_tag: OutputTag[Any] | None = None

    def lower_bound_exclusive(self) -> Self:
        """Exclude the lower bound from the interval."""
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> Self:
        """Exclude the upper bound from the interval."""
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late left elements to a side output instead of dropping them."""
        require(output_tag, OutputTag, "side_output_left_late_data()")
        self._left_late_tag = output_tag
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late right elements to a side output instead of dropping them."""
        require(output_tag, OutputTag, "side_output_right_late_data()")
        self._right_late_tag = output_tag
        return self

    def process(
        self,
        process_join_function: ProcessJoinFunction[A, B, R],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function to each pair; the timestamp of a result is the later timestamp of its pair.

        Raises:
            TypeError: the argument is not a ProcessJoinFunction.
        """
        require(process_join_function, ProcessJoinFunction, "process() of an interval join")
        operator = IntervalJoinOperator(
            process_join_function,
            self._lower_bound_ms + self._lower_exclusive,
            self._upper_bound_ms - self._upper_exclusive,
            self._left_late_tag,
            self._right_late_tag,
            key_type_of(self._left),
        )
        transformation = add_operator(
            self._left,
            "Interval Join",
            operator,
            output_type,
            kind=PythonOperatorKind.KEYED_CO_PROCESS,
            other=self._right,
        )
        return stream_of(self._left, transformation)


def _millis(bound: Time | Duration) -> int:
    require(bound, (Time, Duration), "between()")
    return bound.to_milliseconds() if isinstance(bound, Time) else bound.to_millis()
