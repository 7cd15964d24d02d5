"""What compares two values in a filter of a JSON path. A value is one of JSON, `ABSENT` or a `Pattern`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation


class _Absent:
    """What a path has that leads nowhere; it equals nothing."""


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression between slashes."""

    regex: re.Pattern[str]


class NotComparable(ValueError):
    """Operands that an operator does not take: the filter has no match."""


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a number; true and false are none."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(value: object) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _equal(left: object, right: object) -> bool:
    if isinstance(left, str) and is_number(right):
        return left == str(right)
    if is_number(left) and isinstance(right, str):
        try:
            return _number(left) == Decimal(right)
        except InvalidOperation:
            return False
    if is_number(left) and is_number(right):
        return _number(left) == _number(right)
    return type(left) is type(right) and left is not ABSENT and _is_same_json(left, right)


def _is_same_json(left: object, right: object) -> bool:
    """Return whether two values are the same JSON, in which 1 and true differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same_json(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same_json, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and left == right


def _kind(value: object) -> object:
    return "number" if is_number(value) else type(value)


def _ordered(compare: Callable[[int], bool]) -> Callable[[object, object], bool]:
    def test(left: object, right: object) -> bool:
        if is_number(left) and is_number(right):
            a, b = _number(left), _number(right)
            return compare((a > b) - (a < b))
        if isinstance(left, str) and isinstance(right, str):
            return compare((left > right) - (left < right))
        return False

    return test


def _elements(value: object) -> list[object] | None:
    """Return the elements of an array; None for an object.

    Raises:
        NotComparable: It is neither.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return None
    raise NotComparable("a list is expected")


def _holds(elements: list[object], value: object) -> bool:
    return any(_equal(element, value) for element in elements)


def _in(left: object, right: object) -> bool:
    elements = _elements(right)
    return elements is not None and _holds(elements, left)


def _contains(left: object, right: object) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return right in left
    return isinstance(left, list) and _holds(left, right)


def _size(left: object, right: object) -> bool:
    if not is_number(right) or not isinstance(left, str | list):
        return False
    return len(left) <= _number(right) < len(left) + 1


def _empty(left: object, right: object) -> bool:
    if not isinstance(left, str | list | dict):
        return False
    if not isinstance(right, bool):
        raise NotComparable("a boolean value is expected")
    return (not left) is right


def _matches(left: object, right: object) -> bool:
    if isinstance(left, Pattern) is isinstance(right, Pattern):
        return False
    pattern, value = (left, right) if isinstance(left, Pattern) else (right, left)
    assert isinstance(pattern, Pattern)
    return any(pattern.regex.fullmatch(_matched_text(one)) for one in (value if isinstance(value, list) else [value]))


def _matched_text(value: object) -> str:
    """Return what a pattern is compared with; other values are as the empty text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value) if is_number(value) else ""


def _of_lists(test: Callable[[list[object], list[object]], bool]) -> Callable[[object, object], bool]:
    def compare(left: object, right: object) -> bool:
        others, ours = _elements(right), _elements(left)
        return ours is not None and others is not None and test(ours, others)

    return compare


OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "===": lambda left, right: _kind(left) == _kind(right) and _equal(left, right),
    "!==": lambda left, right: not (_kind(left) == _kind(right) and _equal(left, right)),
    "<": _ordered(lambda order: order < 0),
    "<=": _ordered(lambda order: order <= 0),
    ">": _ordered(lambda order: order > 0),
    ">=": _ordered(lambda order: order >= 0),
    "=~": _matches,
    "IN": _in,
    "NIN": lambda left, right: not _in(left, right),
    "CONTAINS": _contains,
    "SIZE": _size,
    "EMPTY": _empty,
    "SUBSETOF": _of_lists(lambda ours, others: all(_holds(others, one) for one in ours)),
    "ANYOF": _of_lists(lambda ours, others: any(_holds(others, one) for one in ours)),
    "NONEOF": _of_lists(lambda ours, others: not any(_holds(others, one) for one in ours)),
}
"""What may stand between two values of a filter."""
