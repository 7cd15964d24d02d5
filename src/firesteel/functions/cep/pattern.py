"""Patterns of events as users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, Union

from firesteel.common.checks import require
from firesteel.common.time import Duration, Time
from firesteel.functions.cep.cep_errors import MalformedPatternError
from firesteel.functions.cep.conditions import (
    Clause,
    Combined,
    ConditionContext,
    IsInstance,
    IterativeCondition,
    condition_clause,
)
from firesteel.functions.cep.parts import Part, WithinType, may_be_missing
from firesteel.functions.cep.quantifier import ConsumingStrategy, Quantifier
from firesteel.functions.cep.skip_strategies import AfterMatchSkipStrategy
from firesteel.functions.user_functions import FilterFunction

__all__ = ["GroupPattern", "Pattern"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers bundle it; it is not needed at run time

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

Condition = Union[  # noqa: UP007 - the forward references need it
    IterativeCondition[T], FilterFunction[T], Callable[[T], object], Callable[[T, ConditionContext], object]
]


class Pattern(Generic[T]):
    """A sequence of parts that events must match (Flink: `org.apache.flink.cep.pattern.Pattern`).

    As in Flink, methods on the last part change the pattern and return it; methods that add a part return a new one.

    Attributes:
        parts: The parts, first to last.
        skip_strategy: What a match does to others.

    Example:
        >>> pattern = Pattern.begin("small").where(lambda n: n < 10).followed_by("large").where(lambda n: n > 100)
        >>> matches = CEP.pattern(env.from_collection([5, 50, 500], Types.INT()), pattern).in_processing_time()
        >>> _ = matches.select(lambda match: (match["small"], match["large"])).collect_async()
        >>> run_local(env).elements
        [([5], [500])]
    """

    def __init__(self, parts: tuple[Part, ...], skip_strategy: AfterMatchSkipStrategy) -> None:
        self.parts = parts
        self.skip_strategy = skip_strategy

    @staticmethod
    def begin(first: str | Pattern[T], skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern[T]:
        """Begin a pattern.

        Args:
            first: Name of the first part, or a pattern that becomes a group.
            skip_strategy: What a match does to others; by default, nothing.
        """
        strategy = AfterMatchSkipStrategy.no_skip() if skip_strategy is None else skip_strategy
        require(strategy, AfterMatchSkipStrategy, "begin()")
        return _with_part((), strategy, first, ConsumingStrategy.STRICT)

    # --- conditions of the last part -------------------------------------------------------------------------------

    def where(self, condition: Condition[T]) -> Self:
        """Require a condition of the events of the last part; several are joined by AND.

        Args:
            condition: An `IterativeCondition`, a `SimpleCondition`, or a function of the event, or of the event and a
                `ConditionContext`.
        """
        return self._and(condition_clause(condition, "where()"), is_and=True)

    def or_where(self, condition: Condition[T]) -> Self:
        """Allow another condition as well (Flink: `Pattern.or`)."""
        return self._and(condition_clause(condition, "or_where()"), is_and=False)

    def subtype(self, subtype_class: type) -> Self:
        """Require that the events of the last part are instances of a class."""
        require(subtype_class, type, "subtype()")
        return self._and(IsInstance(subtype_class), is_and=True)

    def until(self, condition: Condition[T]) -> Self:
        """End the loop of the last part at the first event that satisfies a condition.

        Raises:
            MalformedPatternError: the part has no one_or_more() or times_or_more(), or an until() already.
        """
        part = self._last
        if part.until is not None:
            raise MalformedPatternError("until() was already called for this part")
        if not part.quantifier.is_looping:
            raise MalformedPatternError("until() needs one_or_more() or times_or_more() before it")
        part.until = condition_clause(condition, "until()")
        return self

    def within(self, window_time: Time | Duration, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Self:
        """Limit the time of a match; the smallest limit of all parts counts.

        Args:
            window_time: The time, exclusive.
            within_type: The events between which it counts: the first and the last one of the match, or the previous
                one and that of the last part.
        """
        require(window_time, (Time, Duration), "within()")
        require(within_type, WithinType, "within()")
        time_ms = window_time.to_milliseconds() if isinstance(window_time, Time) else window_time.to_millis()
        if time_ms <= 0:
            raise ValueError(f"within() takes a time greater than 0, found {time_ms} ms")
        if within_type is WithinType.FIRST_AND_LAST:
            self._last.within_ms = time_ms
        else:
            self._last.within_previous_ms = time_ms
        return self

    # --- further parts -----------------------------------------------------------------------------------------------

    def next(self, following: str | Pattern[T]) -> Pattern[T]:
        """Add a part, or a group, whose event follows directly."""
        return _with_part(self.parts, self.skip_strategy, following, ConsumingStrategy.STRICT)

    def followed_by(self, following: str | Pattern[T]) -> Pattern[T]:
        """Add a part, or a group, whose event is the next one that satisfies its condition."""
        return _with_part(self.parts, self.skip_strategy, following, ConsumingStrategy.SKIP_TILL_NEXT)

    def followed_by_any(self, following: str | Pattern[T]) -> Pattern[T]:
        """Add a part, or a group, whose event is any later one that satisfies its condition."""
        return _with_part(self.parts, self.skip_strategy, following, ConsumingStrategy.SKIP_TILL_ANY)

    def not_next(self, name: str) -> Pattern[T]:
        """Add a part that must not follow directly.

        Raises:
            MalformedPatternError: the part before it is optional.
        """
        return self._not_followed(name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern[T]:
        """Add a part that must not occur before the next part does, or, as the last one, within the time of the match.

        Raises:
            MalformedPatternError: the part before it is optional.
        """
        return self._not_followed(name, ConsumingStrategy.NOT_FOLLOW)

    # --- quantifiers of the last part --------------------------------------------------------------------------------

    def optional(self) -> Self:
        """Allow that the last part is missing.

        Raises:
            MalformedPatternError: the part before it is greedy.
        """
        if len(self.parts) > 1 and self.parts[-2].quantifier.is_greedy:
            raise MalformedPatternError("an optional() part cannot follow a greedy() one")
        return self._quantify(self._last.quantifier.optional())

    def one_or_more(self) -> Self:
        """Let the last part have one event or more, with others in between unless `consecutive` is called."""
        return self._quantify(self._last.quantifier.repeated(1, None))

    def times_or_more(self, times: int) -> Self:
        """Let the last part have at least so many events."""
        require(times, int, "times_or_more()")
        if times < 1:
            raise ValueError(f"times_or_more() takes a number of 1 or more, found {times}")
        return self._quantify(self._last.quantifier.repeated(times, None))

    def times(self, from_times: int, to_times: int | None = None) -> Self:
        """Let the last part have so many events, or a number in a range; from 0 makes it optional."""
        require(from_times, int, "times()")
        to = from_times if to_times is None else to_times
        require(to, int, "times()")
        return self._quantify(self._last.quantifier.repeated(from_times, to))

    def greedy(self) -> Self:
        """Let the last part take each event that it can, before the next part may."""
        if self._last.members:
            raise MalformedPatternError("greedy() is not applicable to a group")
        return self._quantify(self._last.quantifier.greedy())

    def allow_combinations(self) -> Self:
        """Let the events of the last part skip others that would match, too."""
        return self._quantify(self._last.quantifier.between(ConsumingStrategy.SKIP_TILL_ANY, "allow_combinations()"))

    def consecutive(self) -> Self:
        """Let the events of the last part follow each other directly."""
        return self._quantify(self._last.quantifier.between(ConsumingStrategy.STRICT, "consecutive()"))

    @property
    def _last(self) -> Part:
        return self.parts[-1]

    def _quantify(self, quantifier: Quantifier) -> Self:
        self._last.quantifier = quantifier
        return self

    def _and(self, clause: Clause, is_and: bool) -> Self:
        part = self._last
        part.condition = clause if part.condition is None else Combined(part.condition, clause, is_and)
        return self

    def _not_followed(self, name: str, strategy: ConsumingStrategy) -> Pattern[T]:
        require(name, str, f"{strategy.value}()")
        if not self._last.quantifier.strategy.is_not and may_be_missing(self._last):
            raise MalformedPatternError(
                f"{strategy.value}({name!r}) cannot follow a part that may be missing, {self._last.text()}; use two "
                "patterns, with and without that part"
            )
        return _with_part(self.parts, self.skip_strategy, name, strategy)


class GroupPattern(Pattern[T]):
    """A pattern whose last part is a group, which has quantifiers but no condition of its own.

    Example:
        >>> low_high = Pattern.begin("low").where(lambda n: n < 10).next("high").where(lambda n: n >= 10)
        >>> numbers = env.from_collection([1, 20, 2, 30], Types.INT())
        >>> matches = CEP.pattern(numbers, Pattern.begin(low_high).times(2)).in_processing_time()
        >>> _ = matches.select(dict).collect_async()
        >>> run_local(env).elements
        [{'low': [1, 2], 'high': [20, 30]}]
    """

    def where(self, condition: object) -> NoReturn:
        """Raise an error."""
        raise MalformedPatternError("where() is not applicable to a group; call it on the parts of the group")

    def or_where(self, condition: object) -> NoReturn:
        """Raise an error."""
        raise MalformedPatternError("or_where() is not applicable to a group; call it on the parts of the group")

    def subtype(self, subtype_class: type) -> NoReturn:
        """Raise an error."""
        raise MalformedPatternError("subtype() is not applicable to a group; call it on the parts of the group")


def _with_part(
    before: tuple[Part, ...], skip_strategy: AfterMatchSkipStrategy, part: str | Pattern[T], strategy: ConsumingStrategy
) -> Pattern[T]:
    if isinstance(part, Pattern):
        return GroupPattern((*before, Part("", Quantifier(strategy), part.parts)), skip_strategy)
    require(part, (str, Pattern), f"{strategy.value}()")
    return Pattern((*before, Part(part, Quantifier(strategy))), skip_strategy)
