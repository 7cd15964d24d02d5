"""Patterns of MATCH_RECOGNIZE as a sequence of variables with quantifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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

    @property
    def is_greedy_loop(self) -> bool:
        """Return whether the variable takes every row that fits; in Flink `A?` and `A{n}` do not."""
        return self.greedy and self.low != self.high and (self.low, self.high) != (0, 1)


def steps_of(pattern: Any) -> tuple[Step, ...]:
    """Return the steps of a pattern.

    Raises:
        ValueError: The pattern has a quantifier on a group of several variables.
    """
    kind = pattern[0]
    if kind == "var":
        return (Step(pattern[1], 1, 1, True),)
    if kind == "concat":
        return tuple(step for part in pattern[1] for step in steps_of(part))
    _, part, low, high, greedy = pattern
    inner = steps_of(part)
    if len(inner) == 1 and (inner[0].low, inner[0].high) == (1, 1):
        return (Step(inner[0].name, low, high, greedy),)
    if low == high:
        return inner * int(low)
    raise ValueError("Groups of pattern variables with a quantifier are not supported")
