"""JSON paths over parsed JSON, with the semantics of Jayway's JsonPath."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.columns.functions.json_path_operators import ABSENT
from firesteel.columns.functions.json_path_steps import (
    Filter,
    JsonPathError,
    Scan,
    Search,
    Step,
    children,
    is_definite,
    is_found_in,
)


class JsonPath:
    """A compiled path.

    Args:
        steps: What it does one after another.
        of_document: Whether it starts at the whole document, `$`, and not at the value that a filter asks, `@`.
        lax: Whether a path that matches nothing returns NULL; a path without a mode is strict.

    Attributes:
        definite: Whether the path identifies one value; otherwise the result is the list of all matches.
    """

    def __init__(self, steps: list[Step], of_document: bool = True, lax: bool = False) -> None:
        self._steps = tuple(steps)
        self.of_document = of_document
        self.lax = lax
        kinds = [is_definite(step, place + 1 == len(steps)) for place, step in enumerate(steps)]
        self._definite = [all(kinds[:place]) for place in range(len(kinds) + 1)]
        self.definite = self._definite[-1]

    def find(self, value: object) -> object:
        """Return the value at the path, or the list of all matches of an indefinite path.

        Raises:
            JsonPathError: The path matches nothing.
        """
        return self.search(value, Search(value, self.lax))

    def search(self, item: object, search: Search) -> object:
        """Return what the path gives for a document, or for the value that a filter asks."""
        found = list(self._walk(0, search.document if self.of_document else item, search))
        if not self.definite:
            return found
        if not found and not search.lax:
            raise JsonPathError("the path leads nowhere")
        return found[-1] if found else None

    def _walk(self, place: int, value: object, search: Search) -> Iterator[object]:
        """Yield the matches of the steps from a place on."""
        if place == len(self._steps):
            yield value
            return
        step, is_last = self._steps[place], place + 1 == len(self._steps)
        if isinstance(step, Scan):
            yield from self._scan(place + 1, value, search)
            return
        for found in step.find(value, search, self._definite[place], is_last):
            yield from self._walk(place + 1, found, search)

    def _scan(self, place: int, value: object, search: Search) -> Iterator[object]:
        """Yield the matches of the steps from a place on, in all objects and arrays of a value."""
        if not isinstance(value, dict | list):
            return
        step = self._steps[place]
        if is_found_in(step, value, search):
            if isinstance(step, Filter) and isinstance(value, list) and place + 1 < len(self._steps):
                # What Jayway does: an array that has what is asked gives all its elements.
                for one in value:
                    yield from self._walk(place + 1, one, search)
            else:
                yield from self._walk(place, value, search)
        for child in children(value):
            yield from self._scan(place, child, search)


@dataclass(frozen=True, slots=True)
class PathValue:
    """A path; `exists` is False behind `!`."""

    path: JsonPath
    exists: bool

    def value(self, item: object, search: Search) -> object:
        """Return what is at the path, for a comparison."""
        try:
            return self.path.search(item, search)
        except JsonPathError:
            return ABSENT

    def test(self, item: object, search: Search) -> bool:
        """Return whether there is something at the path, or nothing behind `!`."""
        try:
            self.path.search(item, Search(search.document, lax=False))
        except JsonPathError:
            return not self.exists
        return self.exists


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that a filter names."""

    content: object

    def value(self, item: object, search: Search) -> object:
        """Return it."""
        return self.content
