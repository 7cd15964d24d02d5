"""How often a part of a pattern occurs, and which events may lie between its events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from firesteel.functions.cep.cep_errors import MalformedPatternError

__all__ = ["ConsumingStrategy", "Quantifier"]


class ConsumingStrategy(Enum):
    """Which events a part skips before it takes one (Flink: `Quantifier.ConsumingStrategy`)."""

    STRICT = "next"
    SKIP_TILL_NEXT = "followed_by"
    SKIP_TILL_ANY = "followed_by_any"
    NOT_NEXT = "not_next"
    NOT_FOLLOW = "not_followed_by"

    @property
    def is_not(self) -> bool:
        """Whether the part must not occur."""
        return self in (ConsumingStrategy.NOT_NEXT, ConsumingStrategy.NOT_FOLLOW)


@dataclass(frozen=True)
class Quantifier:
    """The number of events of a part (Flink: `Quantifier` and `Quantifier.Times`).

    Attributes:
        strategy: Which events are skipped before the first event.
        inner: Which events are skipped between the events.
        low: Minimum number of events, at least 1, if there are any.
        high: Maximum number of events; None if there is none.
        is_single: Whether no quantifier has been applied.
        is_optional: Whether the part may have no events.
        is_greedy: Whether the part takes each event that it can, before the next part may.
    """

    strategy: ConsumingStrategy
    inner: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT
    low: int = 1
    high: int | None = 1
    is_single: bool = True
    is_optional: bool = False
    is_greedy: bool = False

    @property
    def is_looping(self) -> bool:
        """Whether the number of events has no maximum."""
        return self.high is None

    def repeated(self, low: int, high: int | None) -> Quantifier:
        """Return the quantifier of a part with `low` to `high` events."""
        self._check_not_negated("a quantifier")
        if not self.is_single:
            raise MalformedPatternError(f"a part has one quantifier; it already has {self.text()}")
        if self.is_optional:
            raise MalformedPatternError("optional() comes after times(), one_or_more() and times_or_more()")
        if low < 0 or (high is not None and high < max(low, 1)):
            raise ValueError(f"times: the numbers must be 0 <= from <= to and 1 <= to, found {low} and {high}")
        return replace(self, low=max(low, 1), high=high, is_single=False, is_optional=low == 0)

    def optional(self) -> Quantifier:
        """Return the quantifier of a part that may also be missing."""
        if self.is_optional:
            raise MalformedPatternError("optional() was already called for this part")
        self._check_not_negated("optional()")
        return replace(self, is_optional=True)

    def greedy(self) -> Quantifier:
        """Return the quantifier of a part that takes as many events as it can."""
        self._check_not_negated("greedy()")
        if self.is_single:
            raise MalformedPatternError("greedy() needs times(), one_or_more() or times_or_more() before it")
        if self.inner is ConsumingStrategy.SKIP_TILL_ANY:
            raise MalformedPatternError("greedy() and allow_combinations() exclude each other")
        return replace(self, is_greedy=True)

    def between(self, inner: ConsumingStrategy, call: str) -> Quantifier:
        """Return the quantifier with another strategy between its events."""
        if self.is_single:
            raise MalformedPatternError(f"{call} needs times(), one_or_more() or times_or_more() before it")
        if self.inner is inner:
            raise MalformedPatternError(f"{call} was already called for this part")
        if self.inner is not ConsumingStrategy.SKIP_TILL_NEXT:
            raise MalformedPatternError("a part has either consecutive() or allow_combinations(), not both")
        return replace(self, inner=inner)

    def _check_not_negated(self, call: str) -> None:
        if self.strategy.is_not:
            raise MalformedPatternError(f"{call} is not applicable to {self.strategy.value}()")

    def text(self) -> str:
        """Return the calls that make this quantifier."""
        if self.high is None:
            return "one_or_more()" if self.low == 1 else f"times_or_more({self.low})"
        return f"times({self.low})" if self.low == self.high else f"times({self.low}, {self.high})"
