"""Parts of lists: a version writes what was appended to a list, not the whole list.

Why: `docs/decisions/0044-lists-append.md`.
"""

from __future__ import annotations

from typing import ClassVar

from firesteel.errors import FiresteelError
from firesteel.operators.state.entries import Stored


class ListPart:
    """The elements of a list from a position on; what the list had from there on before is replaced.

    Attributes:
        start: The position of the first element, which is the length of the list before it.
        elements: The elements.
    """

    __slots__ = ("elements", "start")
    DATA_FIELDS: ClassVar = ("start", "elements")

    def __init__(self, start: int, elements: list[Stored]) -> None:
        self.start = start
        self.elements = elements

    def __reduce__(self) -> tuple[type, tuple[int, list[Stored]]]:
        return ListPart, (self.start, self.elements)


class MissingPartError(FiresteelError):
    """A list of a version begins in an earlier file that does not have it."""

    def __str__(self) -> str:
        return f"a list in the state continues at element {self.args[0]}, but has only {self.args[1]} before it"


def continued(earlier: Stored, later: Stored) -> Stored:
    """Return the value of an entry after a later version: a part extends the earlier value, others replace it.

    Args:
        earlier: The value before, also a part or `DELETED`; None if the entry was absent.
        later: The value of the later version.

    Raises:
        MissingPartError: the later value is a part, and elements before it are missing.

    Example:
        >>> continued(["a", "b"], ListPart(2, ["c"]))
        ['a', 'b', 'c']
    """
    if later.__class__ is not ListPart or not later.start:
        return later.elements if later.__class__ is ListPart else later
    if earlier.__class__ is ListPart:
        return ListPart(earlier.start, _extended(earlier.elements, later.start - earlier.start, later))
    return _extended(earlier if earlier.__class__ is list else [], later.start, later)


def _extended(elements: list[Stored], length: int, part: ListPart) -> list[Stored]:
    """Cut a list to a length and append a part, in place."""
    if not 0 <= length <= len(elements):
        raise MissingPartError(part.start, len(elements))
    del elements[length:]
    elements += part.elements
    return elements
