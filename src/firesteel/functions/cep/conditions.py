"""Conditions of pattern parts: functions of an event, and of the events that a partial match has taken before."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from firesteel.common.checks import with_class
from firesteel.functions.function_base import Function
from firesteel.functions.user_functions import FilterFunction

__all__ = ["Clause", "ConditionContext", "IterativeCondition", "SimpleCondition", "condition_clause", "functions_in"]

T = TypeVar("T")


class ConditionContext(ABC):
    """The access of a condition to time and to earlier events (Flink: `IterativeCondition.Context`).

    Example:
        >>> same = Pattern.begin("one").next("two").where(lambda n, ctx: ctx.get_events_for_pattern("one") == [n])
        >>> matches = CEP.pattern(env.from_collection([1, 2, 2], Types.INT()), same).in_processing_time()
        >>> _ = matches.select(dict).collect_async()
        >>> run_local(env).elements
        [{'one': [2], 'two': [2]}]
    """

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> list[object]:
        """Return the events that the partial match has taken for the part `name`, in order."""

    @abstractmethod
    def timestamp(self) -> int:
        """Return the time of the event in ms: its event time, or when it arrived if the pattern uses that."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""


class IterativeCondition(Function, Generic[T]):
    """A condition that may depend on the events which a partial match has taken so far.

    Flink: `IterativeCondition` and `RichIterativeCondition`; `open` and `close` may be overridden here as in all
    functions. The condition must give the same answer for the same event and the same earlier events: it is evaluated
    once for each event and partial match, even if several transitions depend on it.

    Example:
        >>> class Rising(IterativeCondition):
        ...     def filter(self, value, context):
        ...         return all(value > earlier for earlier in context.get_events_for_pattern("rise"))
        >>> rising = Pattern.begin("rise").where(Rising()).times(3)
        >>> matches = CEP.pattern(env.from_collection([1, 2, 1, 5], Types.INT()), rising).in_processing_time()
        >>> _ = matches.select(lambda match: match["rise"]).collect_async()
        >>> run_local(env).elements
        [[1, 2, 5]]
    """

    Context = ConditionContext

    @abstractmethod
    def filter(self, value: T, context: ConditionContext) -> bool:
        """Return whether the event belongs to the part.

        Args:
            value: The event; do not change it.
            context: Gives the events that the partial match has taken.
        """


class SimpleCondition(FilterFunction[T], Generic[T]):
    """A condition on the event alone, which is evaluated once for each event, whatever the number of partial matches.

    A plain function of one argument is the same.

    Example:
        >>> class Large(SimpleCondition):
        ...     def filter(self, value):
        ...         return value > 100
        >>> numbers, large = env.from_collection([7, 300], Types.INT()), Pattern.begin("large").where(Large())
        >>> _ = CEP.pattern(numbers, large).in_processing_time().select(dict).collect_async()
        >>> run_local(env).elements
        [{'large': [300]}]
    """

    @staticmethod
    def of(function: Callable[[T], bool]) -> Callable[[T], bool]:
        """Return the function itself: `where` takes functions (Flink: `SimpleCondition.of`)."""
        return function


class Clause(ABC):
    """A condition, as the automaton evaluates it."""

    @property
    def is_simple(self) -> bool:
        """Whether it depends on the event alone."""
        return True

    @abstractmethod
    def is_true(self, value: object, context: ConditionContext) -> bool:
        """Return whether an event satisfies the condition; errors of user code name the `value` of this frame."""


@dataclass(frozen=True, eq=False)
class Simple(Clause):
    """A function of the event."""

    function: object
    call: Callable[[object], object]

    def is_true(self, value: object, context: ConditionContext) -> bool:
        """Call the function."""
        return bool(self.call(value))


@dataclass(frozen=True, eq=False)
class Iterative(Clause):
    """A function of the event and of earlier ones."""

    function: object
    call: Callable[[object, ConditionContext], object]

    @property
    def is_simple(self) -> bool:
        """Whether it depends on the event alone: no."""
        return False

    def is_true(self, value: object, context: ConditionContext) -> bool:
        """Call the function."""
        return bool(self.call(value, context))


@dataclass(frozen=True, eq=False)
class IsInstance(Clause):
    """Whether the event is an instance of a class."""

    kind: type

    def is_true(self, value: object, context: ConditionContext) -> bool:
        """Check the class of the event."""
        return isinstance(value, self.kind)


@dataclass(frozen=True, eq=False)
class Combined(Clause):
    """Two conditions joined by AND or OR; the second is evaluated only if the first does not decide."""

    first: Clause
    second: Clause
    is_and: bool

    @property
    def is_simple(self) -> bool:
        """Whether both are."""
        return self.first.is_simple and self.second.is_simple

    def is_true(self, value: object, context: ConditionContext) -> bool:
        """Evaluate the conditions."""
        if self.first.is_true(value, context) is self.is_and:
            return self.second.is_true(value, context)
        return not self.is_and


def condition_clause(condition: object, call: str) -> Clause:
    """Return the clause of a user's condition.

    Args:
        condition: An `IterativeCondition`, a `FilterFunction`, or a function of the event, or of the event and the
            context.
        call: The method that was given it.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(condition, IterativeCondition):
        return Iterative(condition, condition.filter)
    if isinstance(condition, FilterFunction):
        return Simple(condition, condition.filter)
    if callable(condition):
        if _takes(condition, 1):
            return Simple(condition, condition)
        if _takes(condition, 2):
            return Iterative(condition, condition)
    raise TypeError(
        f"{call} takes an IterativeCondition, a SimpleCondition, or a function of the event or of the event and the "
        f"context; found {with_class(condition)}"
    )


def _takes(function: Callable[..., object], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a function of a C library does not tell
        return count == 1
    return True


def functions_in(clause: Clause) -> Iterator[object]:
    """Yield the users' functions of a clause."""
    waiting = [clause]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Combined):
            waiting += [part.second, part.first]
        elif isinstance(part, Simple | Iterative):
            yield part.function
