"""Delays that grow with each try."""

from __future__ import annotations


def grown(first: float, factor: float, times: int, most: float) -> float:
    """Return a delay that was multiplied by a factor a number of times, or `most` if that is less.

    Example:
        >>> grown(100, 2.0, 3, 1000), grown(100, 2.0, 5000, 1000)
        (800.0, 1000)
    """
    try:
        return min(first * factor**times, most)
    except OverflowError:  # Powers of floats have an end, which some programs reach.
        return most if first else first
