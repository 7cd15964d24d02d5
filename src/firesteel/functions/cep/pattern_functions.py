"""What happens to matches: the functions that `PatternStream` takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from firesteel.functions.function_base import Function

__all__ = [
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "ProcessContext",
    "TimedOutPartialMatchHandler",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT", covariant=True)


class ProcessContext(ABC):
    """The access of a `PatternProcessFunction` to time (Flink: `PatternProcessFunction.Context`).

    Example:
        >>> class Times(PatternProcessFunction):
        ...     def process_match(self, match, ctx):
        ...         yield ctx.timestamp()
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([3, 20], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> _ = CEP.pattern(numbers, Pattern.begin("one")).process(Times()).collect_async()
        >>> run_local(env).elements
        [3, 20]
    """

    @abstractmethod
    def timestamp(self) -> int:
        """Return the time in ms of the match's last event, or at which a partial match timed out."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""


class PatternProcessFunction(Function, Generic[IN, OUT]):
    """A function that is called for each match.

    It yields results, and `(OutputTag, value)` for side outputs, where Flink's has a collector and `Context.output`.

    Example:
        >>> class Describe(PatternProcessFunction):
        ...     def process_match(self, match, ctx):
        ...         yield f"{match['low']} after {ctx.timestamp() > 0}"
        >>> low = Pattern.begin("low").where(lambda n: n < 10).times(2)
        >>> matches = CEP.pattern(env.from_collection([3, 20, 4], Types.INT()), low).in_processing_time()
        >>> _ = matches.process(Describe()).collect_async()
        >>> run_local(env).elements
        ['[3, 4] after True']
    """

    Context = ProcessContext

    @abstractmethod
    def process_match(self, match: dict[str, list[IN]], ctx: ProcessContext) -> Iterable[OUT] | None:
        """Return the results for a match.

        Args:
            match: The events by name of the part, in the order of the pattern. A part without events is missing.
            ctx: Gives the time of the match.
        """


class TimedOutPartialMatchHandler(ABC, Generic[IN]):
    """The part of a `PatternProcessFunction` that is called for partial matches whose time is over.

    Example:
        >>> late = OutputTag("late", Types.STRING())
        >>> class Pairs(PatternProcessFunction, TimedOutPartialMatchHandler):
        ...     def process_match(self, match, ctx):
        ...         yield "pair"
        ...     def process_timed_out_match(self, match, ctx):
        ...         yield late, f"{match} at {ctx.timestamp()}"
        >>> pairs = Pattern.begin("one").followed_by("two").within(Duration.of_millis(5))
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([3, 20, 24], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> processed = CEP.pattern(numbers, pairs).process(Pairs(), Types.STRING())
        >>> _ = processed.get_side_output(late).collect_async()
        >>> run_local(env).elements
        ["{'one': [3]} at 8", "{'one': [24]} at 29"]
    """

    @abstractmethod
    def process_timed_out_match(self, match: dict[str, list[IN]], ctx: ProcessContext) -> Iterable[object] | None:
        """Return pairs `(OutputTag, value)` for a partial match; Flink has no other results here either.

        Args:
            match: The events so far, by name of the part.
            ctx: Its timestamp is the time at which the partial match was too old.
        """


class PatternSelectFunction(Function, Generic[IN, OUT]):
    """A function with one result for each match.

    Example:
        >>> class Total(PatternSelectFunction):
        ...     def select(self, pattern):
        ...         return sum(pattern["low"])
        >>> low = Pattern.begin("low").where(lambda n: n < 10).times(2)
        >>> matches = CEP.pattern(env.from_collection([3, 20, 4], Types.INT()), low).in_processing_time()
        >>> _ = matches.select(Total()).collect_async()
        >>> run_local(env).elements
        [7]
    """

    @abstractmethod
    def select(self, pattern: dict[str, list[IN]]) -> OUT:
        """Return the result for a match, given as events by name of the part."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT]):
    """A function with any number of results for each match.

    Example:
        >>> class Each(PatternFlatSelectFunction):
        ...     def flat_select(self, pattern):
        ...         yield from pattern["low"]
        >>> low = Pattern.begin("low").where(lambda n: n < 10).times(2)
        >>> matches = CEP.pattern(env.from_collection([3, 20, 4], Types.INT()), low).in_processing_time()
        >>> _ = matches.flat_select(Each()).collect_async()
        >>> run_local(env).elements
        [3, 4]
    """

    @abstractmethod
    def flat_select(self, pattern: dict[str, list[IN]]) -> Iterable[OUT] | None:
        """Return the results for a match, given as events by name of the part."""


class PatternTimeoutFunction(Function, Generic[IN, OUT]):
    """A function with one result for each partial match whose time is over.

    Example:
        >>> class Missing(PatternTimeoutFunction):
        ...     def timeout(self, pattern, timeout_timestamp):
        ...         return f"{pattern} until {timeout_timestamp}"
        >>> late = OutputTag("late", Types.STRING())
        >>> pairs = Pattern.begin("one").next("two").within(Duration.of_millis(5))
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([3, 20], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> selected = CEP.pattern(numbers, pairs).select(dict, None, late, Missing())
        >>> _ = selected.get_side_output(late).collect_async()
        >>> run_local(env).elements
        ["{'one': [3]} until 8", "{'one': [20]} until 25"]
    """

    @abstractmethod
    def timeout(self, pattern: dict[str, list[IN]], timeout_timestamp: int) -> OUT:
        """Return the result for a partial match.

        Args:
            pattern: The events so far, by name of the part.
            timeout_timestamp: The time in ms at which it was too old.
        """


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT]):
    """A function with any number of results for each partial match whose time is over.

    Example:
        >>> class Missing(PatternFlatTimeoutFunction):
        ...     def timeout(self, pattern, timeout_timestamp):
        ...         yield from pattern["one"]
        >>> late = OutputTag("late", Types.LONG())
        >>> pairs = Pattern.begin("one").next("two").within(Duration.of_millis(5))
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([3, 20], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> selected = CEP.pattern(numbers, pairs).flat_select(lambda match: match["two"], None, late, Missing())
        >>> _ = selected.get_side_output(late).collect_async()
        >>> run_local(env).elements
        [3, 20]
    """

    @abstractmethod
    def timeout(self, pattern: dict[str, list[IN]], timeout_timestamp: int) -> Iterable[OUT] | None:
        """Return the results for a partial match; the arguments are those of `PatternTimeoutFunction`."""
