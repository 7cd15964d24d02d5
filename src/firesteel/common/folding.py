"""Folding of long lists into trees that are not deep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

T = TypeVar("T")

_GROUP = 64
"""Short lists keep the form that Flink shows: each part is added to those on its left."""


def fold_in_groups(combine: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Combine parts, of which there is at least one, by an associative function.

    What walks the result recursively gets no deeper than 64 times the logarithm (base 64) of their number.

    Args:
        combine: Combines neighbours; the left one comes first.
        parts: The parts.
    """
    while len(parts) > _GROUP:
        parts = [reduce(combine, parts[start : start + _GROUP]) for start in range(0, len(parts), _GROUP)]
    return reduce(combine, parts)
