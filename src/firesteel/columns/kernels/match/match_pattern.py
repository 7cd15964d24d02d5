"""Patterns of MATCH_RECOGNIZE as a sequence of variables with quantifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

ALL_ROWS = "*"
"""The name of all rows of a match."""


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

    @cached_property
    def counted(self) -> int:
        """Return up to which number it matters how many rows the variable has."""
        return self.low if self.high is None else self.high


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


class Groups:
    """What rows of a match are called by: variables, subsets of them, and `ALL_ROWS`.

    Args:
        steps: The steps of the pattern.
        subsets: The names of subsets with their variables.
    """

    def __init__(self, steps: Iterable[Step], subsets: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self._names = [step.name for step in steps]
        self._subsets: Mapping[str, tuple[str, ...]] = dict(subsets)

    def steps(self, name: str) -> list[int]:
        """Return the places of the steps whose rows are called by a name."""
        members = self._subsets.get(name, (name,))
        return [place for place, step in enumerate(self._names) if name == ALL_ROWS or step in members]
