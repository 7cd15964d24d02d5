"""The function that does nothing: the conversion of what needs none."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def unchanged(value: T) -> T:
    """Return the value itself.

    >>> unchanged(1)
    1
    """
    return value
