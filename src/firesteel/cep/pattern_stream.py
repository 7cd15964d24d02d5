"""Patterns over streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from firesteel.common.checks import require, require_function, require_one_result
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream
from firesteel.functions.cep.pattern import Pattern
from firesteel.functions.cep.pattern_checks import check_pattern
from firesteel.functions.cep.pattern_functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from firesteel.functions.cep.select_functions import Selecting, SelectingWithTimeouts
from firesteel.functions.operator_builder import add_operator, is_keyed, key_type_of, keyed_by_nothing, stream_of
from firesteel.functions.operator_descriptors import CepOperator
from firesteel.functions.output_tag import OutputTag
from firesteel.graph.transformations import PythonOperatorKind

__all__ = ["CEP", "PatternStream"]

T = TypeVar("T")
R = TypeVar("R")
L = TypeVar("L")

Match = dict[str, list[T]]


class CEP:
    """The entry point of event patterns (Flink: `org.apache.flink.cep.CEP`).

    Example:
        >>> rise = Pattern.begin("low").where(lambda n: n < 10).next("high").where(lambda n: n > 100)
        >>> numbers = env.from_collection([1, 5, 500, 3], Types.INT())
        >>> matches = CEP.pattern(numbers, rise).in_processing_time().select(lambda match: match["low"] + match["high"])
        >>> _ = matches.collect_async()
        >>> run_local(env).elements
        [[5, 500]]
    """

    @staticmethod
    def pattern(
        input_stream: DataStream[T], pattern: Pattern[T], comparator: Callable[[T, T], int] | None = None
    ) -> PatternStream[T]:
        """Match a pattern in a stream.

        Args:
            input_stream: The events. A keyed stream is matched per key; any other is matched in one subtask.
            pattern: The pattern.
            comparator: Returns a number below, equal to or above 0 that orders two events of the same time; by default
                they are in the order of arrival.

        Raises:
            MalformedPatternError: the pattern makes no sense.
        """
        require(input_stream, DataStream, "CEP.pattern()")
        require(pattern, Pattern, "CEP.pattern()")
        if comparator is not None and not callable(comparator):
            raise TypeError(f"CEP.pattern() takes a function of two events as comparator, found {comparator!r}")
        check_pattern(pattern)
        return PatternStream(input_stream, pattern, comparator)


@dataclass(frozen=True)
class PatternStream(Generic[T]):
    """A stream with the pattern to match in it; methods that set something return a new one, as in Flink.

    Example:
        >>> two = Pattern.begin("two").times(2).consecutive()
        >>> numbers = env.from_collection([1, 2, 3], Types.INT())
        >>> _ = CEP.pattern(numbers, two).in_processing_time().flat_select(lambda match: match["two"]).collect_async()
        >>> run_local(env).elements
        [1, 2, 2, 3]
    """

    input_stream: DataStream[T]
    event_pattern: Pattern[T]
    comparator: Callable[[T, T], int] | None = None
    is_processing_time: bool = False
    late_data_tag: OutputTag[T] | None = None

    def in_event_time(self) -> PatternStream[T]:
        """Match the events in the order of event time, which is the default; those before the watermark are late."""
        return replace(self, is_processing_time=False)

    def in_processing_time(self) -> PatternStream[T]:
        """Match the events as they arrive."""
        return replace(self, is_processing_time=True)

    def side_output_late_data(self, late_data_output_tag: OutputTag[T]) -> PatternStream[T]:
        """Send late events to a side output instead of dropping them."""
        require(late_data_output_tag, OutputTag, "side_output_late_data()")
        return replace(self, late_data_tag=late_data_output_tag)

    def process(
        self, pattern_process_function: PatternProcessFunction[T, R], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]:
        """Call a function for each match, and for partial matches too old if it is a `TimedOutPartialMatchHandler`.

        Args:
            pattern_process_function: The function.
            output_type: Type of the results; None pickles them.
        """
        require(pattern_process_function, PatternProcessFunction, "process() of a pattern")
        return self._with(pattern_process_function, output_type)

    def select(
        self,
        pattern_select_function: PatternSelectFunction[T, R] | Callable[[Match[T]], R],
        output_type: TypeInformation[R] | None = None,
        timed_out_partial_matches_tag: OutputTag[L] | None = None,
        pattern_timeout_function: PatternTimeoutFunction[T, L] | Callable[[Match[T], int], L] | None = None,
    ) -> DataStream[R]:
        """Map each match to one result.

        Args:
            pattern_select_function: Returns the result for a match.
            output_type: Type of the results; None pickles them.
            timed_out_partial_matches_tag: The side output of `pattern_timeout_function`.
            pattern_timeout_function: Returns the result for a partial match that is too old and the time of that.
        """
        select, timeout = pattern_select_function, pattern_timeout_function
        require_function(select, PatternSelectFunction, "select()")
        select_one = select.select if isinstance(select, PatternSelectFunction) else select
        require_one_result(select_one, "select()", "flat_select()")
        tag = timed_out_partial_matches_tag
        if timeout is None or tag is None:
            _check_both(timeout, tag)
            return self._with(Selecting((select,), lambda match: (select_one(match),)), output_type)
        require_function(timeout, PatternTimeoutFunction, "select()")
        time_out = timeout.timeout if isinstance(timeout, PatternTimeoutFunction) else timeout
        require_one_result(time_out, "select()", "flat_select()")
        function: SelectingWithTimeouts[T, R, L] = SelectingWithTimeouts(
            (select, timeout), lambda match: (select_one(match),), tag, lambda match, time: (time_out(match, time),)
        )
        return self._with(function, output_type)

    def flat_select(
        self,
        pattern_flat_select_function: PatternFlatSelectFunction[T, R] | Callable[[Match[T]], Iterable[R] | None],
        output_type: TypeInformation[R] | None = None,
        timed_out_partial_matches_tag: OutputTag[L] | None = None,
        pattern_flat_timeout_function: PatternFlatTimeoutFunction[T, L]
        | Callable[[Match[T], int], Iterable[L] | None]
        | None = None,
    ) -> DataStream[R]:
        """Map each match to any number of results; the arguments are those of `select`."""
        select, timeout = pattern_flat_select_function, pattern_flat_timeout_function
        require_function(select, PatternFlatSelectFunction, "flat_select()")
        select_all = select.flat_select if isinstance(select, PatternFlatSelectFunction) else select
        tag = timed_out_partial_matches_tag
        if timeout is None or tag is None:
            _check_both(timeout, tag)
            return self._with(Selecting((select,), select_all), output_type)
        require_function(timeout, PatternFlatTimeoutFunction, "flat_select()")
        time_out = timeout.timeout if isinstance(timeout, PatternFlatTimeoutFunction) else timeout
        return self._with(SelectingWithTimeouts((select, timeout), select_all, tag, time_out), output_type)

    def _with(self, function: PatternProcessFunction[T, R], output_type: TypeInformation[R] | None) -> DataStream[R]:
        """Add the operator; as in Flink, it runs in one subtask if the stream has no keys."""
        has_keys = is_keyed(self.input_stream)
        stream = self.input_stream if has_keys else keyed_by_nothing(self.input_stream)
        operator = CepOperator(
            cast("Pattern[object]", self.event_pattern),
            cast("PatternProcessFunction[object, object]", function),
            self.is_processing_time,
            cast("Callable[[object, object], int] | None", self.comparator),
            cast("OutputTag[object] | None", self.late_data_tag),
            key_type_of(stream),
        )
        name = "CepOperator" if has_keys else "GlobalCepOperator"
        matches = stream_of(
            stream, add_operator(stream, name, operator, output_type, kind=PythonOperatorKind.KEYED_PROCESS)
        )
        return matches if has_keys else matches.force_non_parallel()


def _check_both(timeout: object, tag: object) -> None:
    if timeout is not tag:
        raise TypeError("a timeout function needs a side output, and the other way round; found only one of them")
