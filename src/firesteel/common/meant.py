"""Names that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["hint_at", "meant"]


def meant(word: str, names: Iterable[str], most: int = 1) -> str:
    """Return a hint at the names that are most like a misspelt word, or nothing.

    Args:
        word: The word.
        names: Those that exist.
        most: How many of them the hint has at most.

    Example:
        >>> meant("jsn", ["csv", "json"]), meant("jsn", ["csv"])
        ("; did you mean 'json'?", '')
    """
    return hint_at(get_close_matches(word, list(names), most))


def hint_at(names: Iterable[str]) -> str:
    """Return the end of an error that asks whether one of some names is meant, or nothing if there are none.

    Example:
        >>> hint_at(["a", "b"]), hint_at([])
        ("; did you mean 'a' or 'b'?", '')
    """
    near = " or ".join(map(repr, names))
    return f"; did you mean {near}?" if near else ""
