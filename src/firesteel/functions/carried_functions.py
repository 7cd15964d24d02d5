"""What the API prints, as jobs carry it to their slots.

It is here, as the process of a slot that imports `firesteel.datastream` for it would import the whole API.
"""

from __future__ import annotations

__all__ = ["as_text"]


def as_text(value: object) -> str:
    """Return the text that is printed for a value without a declared type.

    Example:
        >>> as_text((1, "a"))
        "(1, 'a')"
    """
    return value if isinstance(value, str) else str(value)
