"""Patterns of MATCH_RECOGNIZE as a sequence of variables with quantifiers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Step:
    """A variable with its quantifier.

    Attributes:
        high: The maximum number of rows, or None if unbounded.
    """

    name: str
    low: int
    high: int | None
    greedy: bool

    @cached_property
    def is_greedy_loop(self) -> bool:
        """Return whether the variable takes every row that fits; in Flink `A?` and `A{n}` do not."""
        return self.greedy and self.low != self.high and (self.low, self.high) != (0, 1)


Pattern = tuple[object, ...]
"""Nested tuples: `("var", name)`, `("concat", parts)` and others; see `MatchRecognize` of queries."""


def steps_of(pattern: Pattern) -> tuple[Step, ...]:
    """Return the steps of a pattern.

    Raises:
        ValueError: The pattern has a quantifier on a group of several variables.
    """
    match pattern:
        case ("var", str(name)):
            return (Step(name, 1, 1, True),)
        case ("concat", tuple(parts)):
            return tuple(step for part in parts for step in steps_of(part))
        case ("repeat", tuple(part), int(low), int() | None as high, bool(greedy)):
            inner = steps_of(part)
            if len(inner) == 1 and (inner[0].low, inner[0].high) == (1, 1):
                return (Step(inner[0].name, low, high, greedy),)
            if low == high:
                return inner * low
    raise ValueError("Groups of pattern variables with a quantifier are not supported")
