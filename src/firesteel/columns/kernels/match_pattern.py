"""Patterns of MATCH_RECOGNIZE as a sequence of variables with how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """A variable, how often it occurs (`high` None: any number), and whether as often as possible."""

    name: str
    low: int
    high: int | None
    greedy: bool

    @property
    def is_greedy_loop(self) -> bool:
        """Return whether the variable takes every row that fits; `A?` and `A{n}` do not, in Flink."""
        return self.greedy and self.low != self.high and (self.low, self.high) != (0, 1)


def steps_of(pattern: Any) -> tuple[Step, ...]:
    """Return the steps of a pattern.

    Raises:
        ValueError: a group of several variables is repeated.
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
