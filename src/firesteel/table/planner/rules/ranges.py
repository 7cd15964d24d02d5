"""Conditions that compare one value with several constants: the narrowest remain. Calcite: `Sarg`, `RexSimplify`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import gt, lt
from typing import Protocol

from firesteel.columns.column_types import (
    BooleanType,
    CharType,
    DateType,
    NumericType,
    TimestampType,
    TimeType,
    VarCharType,
)
from firesteel.columns.rex import Call, Literal, Rex
from firesteel.table.planner.rel.rex_tools import is_repeatable

__all__ = ["as_points", "merged_ranges"]

_ORDERED = (NumericType, CharType, VarCharType, DateType, TimeType, TimestampType, BooleanType)
"""Types whose values Python compares as SQL does."""


class _Ordered(Protocol):
    """A value of a type that is ordered."""

    def __lt__(self, other: object, /) -> bool:
        """Return whether the value comes before another one."""

    def __gt__(self, other: object, /) -> bool:
        """Return whether the value comes after another one."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A condition on a value.

    Attributes:
        function: `=`, `<>`, `<`, `<=`, `>`, `>=`, `IN` or `NOT IN`.
        constants: What the value is compared with, apart from NULL; one constant if the function is not a list's.
    """

    function: str
    constants: tuple[_Ordered, ...]
    part: Rex

    @property
    def bound(self) -> _Ordered:
        """The only constant."""
        return self.constants[0]

    @property
    def is_strict(self) -> bool:
        """Whether the bound itself is left out."""
        return self.function in ("<", ">")

    def holds(self, value: _Ordered) -> bool:
        """Return whether a value satisfies the condition."""
        match self.function:
            case "=" | "IN":
                return value in self.constants
            case "<>" | "NOT IN":
                return value not in self.constants
            case "<" | "<=":
                return lt(value, self.bound) or (not self.is_strict and value == self.bound)
        return gt(value, self.bound) or (not self.is_strict and value == self.bound)


@dataclass(slots=True)
class _Range:
    """The comparisons of one value."""

    comparisons: list[_Comparison] = field(default_factory=list)

    def of(self, *functions: str) -> list[_Comparison]:
        """Return the comparisons by these functions."""
        return [one for one in self.comparisons if one.function in functions]

    def kept(self) -> list[Rex] | None:
        """Return the conditions that are enough, None: no value satisfies all of them."""
        points = self.of("=", "IN")
        if points:
            return self._points(points)
        low, high = _narrowest(self.of(">", ">="), gt), _narrowest(self.of("<", "<="), lt)
        if low is not None and high is not None and not (high.holds(low.bound) and low.holds(high.bound)):
            return None
        bounds = [bound for bound in (low, high) if bound is not None]
        kept = [*bounds, *(hole for hole in self.of("<>", "NOT IN") if _is_within(hole, bounds))]
        ids = set(map(id, kept))
        return [one.part for one in self.comparisons if id(one) in ids]

    def _points(self, points: list[_Comparison]) -> list[Rex] | None:
        """Return the condition that the value is one of those that satisfy all comparisons."""
        fewest = min(points, key=lambda one: len(one.constants))
        possible = [value for value in fewest.constants if all(one.holds(value) for one in self.comparisons)]
        if not possible:
            return None
        return [fewest.part if len(possible) == len(fewest.constants) else _one_of(fewest.part, possible)]


def _narrowest(bounds: list[_Comparison], is_narrower: Callable[[_Ordered, _Ordered], bool]) -> _Comparison | None:
    best: _Comparison | None = None
    for one in bounds:
        if best is None or is_narrower(one.bound, best.bound) or (one.bound == best.bound and one.is_strict):
            best = one
    return best


def _is_within(hole: _Comparison, bounds: list[_Comparison]) -> bool:
    return any(all(bound.holds(value) for bound in bounds) for value in hole.constants)


def _one_of(part: Rex, possible: list[_Ordered]) -> Rex:
    """Return an IN with some of its constants."""
    assert isinstance(part, Call)
    value, *constants = part.operands
    return _points(value, [one for one in constants if isinstance(one, Literal) and one.value in possible])


def _points(value: Rex, constants: Sequence[Rex]) -> Call:
    kind = BooleanType(value.type.is_nullable)
    return Call("=" if len(constants) == 1 else "IN", (value, *constants), kind)


def merged_ranges(parts: Sequence[Rex]) -> list[Rex] | None:
    """Leave out comparisons with constants that others include; None: there is no value for some of them."""
    ranges = dict[Rex, _Range]()
    for part in parts:
        found = _comparison(part)
        if found is not None:
            ranges.setdefault(found[0], _Range()).comparisons.append(found[1])
    merged = list(parts)
    for one in ranges.values():
        if len(one.comparisons) > 1:
            kept = one.kept()
            if kept is None:
                return None
            merged = _replaced(merged, [comparison.part for comparison in one.comparisons], kept)
    return merged


def _replaced(parts: list[Rex], old: list[Rex], new: list[Rex]) -> list[Rex]:
    """Return parts with new ones instead of old ones; those that are not among the old ones take the first place."""
    before, gone = set(old), set(old) - set(new)
    first = next(place for place, part in enumerate(parts) if part in before)
    added = [part for part in new if part not in before]
    return parts[:first] + added + [part for part in parts[first:] if part not in gone]


def _comparison(part: Rex) -> tuple[Rex, _Comparison] | None:
    """Return what a condition compares with constants, and how."""
    function, call = "", part
    if isinstance(part, Call) and part.function == "NOT":
        function, call = "NOT ", part.operands[0]
    if not (isinstance(call, Call) and len(call.operands) > 1 and is_repeatable(part)):
        return None
    function += call.function
    value, constants = call.operands[0], _constants(call.operands[1:])
    if function not in _FUNCTIONS or not constants or isinstance(value, Literal):
        return None
    return value, _Comparison(function, constants, part)


_FUNCTIONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN"})


def _constants(operands: Iterable[Rex]) -> tuple[_Ordered, ...] | None:
    """Return the values of constants; None if some are none, are NULL, or have no place in the order of their type."""
    found: list[_Ordered] = []
    for rex in operands:
        if not (isinstance(rex, Literal) and isinstance(rex.type, _ORDERED)):
            return None
        if rex.value is None or rex.value != rex.value:
            return None
        found.append(rex.value)
    return tuple(found)


def as_points(choices: Sequence[Rex]) -> Rex | None:
    """Return choices that compare one value with constants for equality as an IN, None: they do not."""
    found = [_comparison(choice) for choice in choices]
    if len(choices) < 2 or not all(one is not None and one[1].function in ("=", "IN") for one in found):
        return None
    values = {one[0] for one in found if one is not None}
    if len(values) != 1:
        return None
    constants = [constant for choice in choices if isinstance(choice, Call) for constant in choice.operands[1:]]
    return _points(values.pop(), list(dict.fromkeys(constants)))
