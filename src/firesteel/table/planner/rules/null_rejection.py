"""Values that are not NULL where a condition is TRUE. Calcite: `Strong`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firesteel.columns.rex import Call, InputRef, Rex
from firesteel.table.planner.rel.rex_tools import conjuncts, disjuncts, is_repeatable

__all__ = ["needs_one_of", "without_null_tests"]

# Not AND, OR and CASE: another operand may decide them.
_STRICT = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "NOT", "CAST", "LIKE", "NEGATE"})
"""Functions that are NULL where an operand is."""


def without_null_tests(parts: Sequence[Rex]) -> list[Rex] | None:
    """Leave out IS NOT NULL of values that other conditions need; None: there is an IS NULL of such a value."""
    found = list[Rex]()
    for place, part in enumerate(parts):
        value = _tested(part, "IS NOT NULL") or _tested(part, "IS NULL")
        others = (other for at, other in enumerate(parts) if at != place)
        if value is None or not is_repeatable(value) or not any(value in _needed(other) for other in others):
            found.append(part)
        elif _tested(part, "IS NULL") is not None:
            return None
    return found


def needs_one_of(part: Rex, columns: range) -> bool:
    """Return whether a condition is not TRUE where all these columns are NULL."""
    choices = disjuncts(part)
    if len(choices) > 1:
        return all(any(needs_one_of(one, columns) for one in conjuncts(choice)) for choice in choices)
    return any(isinstance(value, InputRef) and value.index in columns for value in _needed(part))


def _tested(part: Rex, test: str) -> Rex | None:
    return part.operands[0] if isinstance(part, Call) and part.function == test else None


def _needed(part: Rex) -> Iterator[Rex]:
    """Yield the values without which a condition is not TRUE."""
    value = _tested(part, "IS NOT NULL")
    if value is None:
        yield from _strict_parts(part)
    else:
        yield from _strict_parts(value)


def _strict_parts(rex: Rex) -> Iterator[Rex]:
    yield rex
    if isinstance(rex, Call) and rex.function in _STRICT:
        for operand in rex.operands:
            yield from _strict_parts(operand)
    elif isinstance(rex, Call) and rex.function == "IN":
        yield from _strict_parts(rex.operands[0])
