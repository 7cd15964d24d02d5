"""Texts with halves of surrogate pairs, which escapes of four digits name and UTF-8 does not have."""

from __future__ import annotations

__all__ = ["without_surrogates"]


def without_surrogates(text: str) -> str:
    """Return a text with its pairs as characters, and `?` for each half alone, as Java encodes it.

    Example:
        >>> without_surrogates("a" + chr(0xD83D) + chr(0xDE00)) == "a" + chr(0x1F600), without_surrogates(chr(0xD83D))
        (True, '?')
    """
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode(errors="replace").decode()
