"""Names that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["meant"]


def meant(word: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint at the name that is most like a misspelt word, or nothing.

    Args:
        word: The word.
        names: Those that exist.
        cutoff: How much alike they are at least, from 0 to 1.

    Example:
        >>> meant("jsn", ["csv", "json"]), meant("jsn", ["csv"])
        ("; did you mean 'json'?", '')
    """
    near = get_close_matches(word, sorted(names), 1, cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""
