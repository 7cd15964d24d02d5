"""Functions of the API that jobs carry to their slots.

They are here, as the process of a slot that imports `firesteel.datastream` for them would import the whole API.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["as_text", "same"]

T = TypeVar("T")


def as_text(value: object) -> str:
    """Return the text that is printed for a value without a declared type.

    Example:
        >>> as_text((1, "a"))
        "(1, 'a')"
    """
    return value if isinstance(value, str) else str(value)


def same(value: T) -> T:
    """Return the value itself."""
    return value
