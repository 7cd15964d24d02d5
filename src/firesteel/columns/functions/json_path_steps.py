"""The steps of JSON paths: members, elements, all descendants, filters and functions.

Each has `find(value, search, definite, is_last)`. Where the steps before are `definite`, a search that is not lax must
find something, and there is a `JsonPathError` if it does not. Jayway's JsonPath has the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from firesteel.columns.functions.json_path_operators import is_number


class JsonPathError(ValueError):
    """A text that is not JSON, or a path that matches nothing."""


@dataclass(frozen=True, slots=True)
class Search:
    """How a document is searched.

    Attributes:
        document: The whole document.
        lax: Whether a step into nothing has no matches; otherwise it is an error.
    """

    document: object
    lax: bool


def children(value: object) -> Sequence[object]:
    """Return the values in an object or an array; nothing for others."""
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Members:
    """`.name`, or `['name', 'other']`, whose last step gives an object of the members that there are."""

    names: tuple[str, ...]

    def find(self, value: object, search: Search, definite: bool, is_last: bool) -> Iterator[object]:
        """Yield the members."""
        if not isinstance(value, dict):
            if definite and not search.lax:
                raise JsonPathError("the path asks for members of what is no object")
            return
        found = {name: value[name] for name in self.names if name in value}
        if is_last and len(self.names) > 1:
            yield found
            return
        if definite and not search.lax and not is_last and not found:
            raise JsonPathError("the path leads nowhere")
        yield from found.values()


def _array(value: object, is_needed: bool) -> list[object]:
    if isinstance(value, list):
        return value
    if is_needed:
        raise JsonPathError("the path asks for elements of what is no array")
    return []


@dataclass(frozen=True, slots=True)
class Elements:
    """`[0]` or `[0, -1]`; negative indices count from the end."""

    indices: tuple[int, ...]

    def find(self, value: object, search: Search, definite: bool, is_last: bool) -> Iterator[object]:
        """Yield the elements at the indices."""
        found = _array(value, definite and not search.lax)
        yield from (found[index] for index in self.indices if -len(found) <= index < len(found))


@dataclass(frozen=True, slots=True)
class Slice:
    """`[1:3]`, `[-2:]` or `[:2]`; between two bounds, Jayway counts none from the end."""

    first: int | None
    last: int | None

    def find(self, value: object, search: Search, definite: bool, is_last: bool) -> Iterator[object]:
        """Yield the elements between the bounds."""
        found = _array(value, definite and not search.lax)
        if self.first is None or self.last is None:
            yield from found[self.first : self.last]
            return
        for index in range(self.first, min(self.last, len(found))):
            if -len(found) <= index:
                yield found[index]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`.*` or `[*]`: all members or elements."""

    def find(self, value: object, search: Search, definite: bool, is_last: bool) -> Iterator[object]:
        """Yield all members or elements."""
        yield from children(value)


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(...)]`: an object itself, or the elements of an array, if they have what the condition asks."""

    condition: Callable[[object, Search], bool]

    def find(self, value: object, search: Search, definite: bool, is_last: bool) -> Iterator[object]:
        """Yield what the condition accepts."""
        if isinstance(value, dict | list):
            values = [value] if isinstance(value, dict) else value
            yield from (one for one in values if self.condition(one, search))
        elif definite:
            raise JsonPathError("the path filters what is neither object nor array")


@dataclass(frozen=True, slots=True)
class Scan:
    """`..`: the next step at all objects and arrays in a value."""


def _numbers(value: object) -> list[float]:
    numbers = [float(one) for one in (value if isinstance(value, list) else []) if is_number(one)]
    if not numbers:
        raise JsonPathError("the path asks for an aggregate of no numbers")
    return numbers


def _deviation(numbers: list[float]) -> float:
    count = len(numbers)
    return math.sqrt(sum(one * one for one in numbers) / count - sum(numbers) * sum(numbers) / count / count)


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, dict | list) else None


def _end(index: int) -> Callable[[object], object]:
    def end(value: object) -> object:
        if not isinstance(value, list) or not value:
            raise JsonPathError("the path asks for an element of what has none")
        return value[index]

    return end


AGGREGATES: dict[str, Callable[[object], object]] = {
    "length": _length,
    "size": _length,
    "min": lambda value: min(_numbers(value)),
    "max": lambda value: max(_numbers(value)),
    "sum": lambda value: sum(_numbers(value)),
    "avg": lambda value: sum(numbers := _numbers(value)) / len(numbers),
    "stddev": lambda value: _deviation(_numbers(value)),
    "first": _end(0),
    "last": _end(-1),
}
"""Functions that a path may call, without arguments."""


@dataclass(frozen=True, slots=True)
class PathCall:
    """`.length()`: a function of the value."""

    name: str

    def find(self, value: object, search: Search, definite: bool, is_last: bool) -> Iterator[object]:
        """Yield the result."""
        yield AGGREGATES[self.name](value)


Step = Members | Elements | Slice | Wildcard | Filter | PathCall | Scan
"""A step of a path."""


def is_definite(step: Step, is_last: bool) -> bool:
    """Return whether a step leads to at most one value."""
    match step:
        case Members(names=names):
            return is_last or len(names) == 1
        case Elements(indices=indices):
            return len(indices) == 1
        case PathCall():
            return True
        case _:
            return False


def is_found_in(step: Step, value: object, search: Search) -> bool:
    """Return whether `..` tries the step that follows it in an object or array."""
    match step:
        case Members(names=names):
            return isinstance(value, dict) and (len(names) > 1 or names[0] in value)
        case Elements() | Slice():
            return isinstance(value, list)
        case Filter(condition=condition):
            return condition(value, search)
        case _:
            return True
