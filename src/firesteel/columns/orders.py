"""Stable orders of integers: those of `np.argsort(kind="stable")` and `np.lexsort`, in a fraction of their time.

numpy sorts integers of 64 bits by vector instructions, unless the sort has to be stable. Here each number is sorted
together with its place, so that no two are equal and any sort is stable.

Why: `docs/decisions/0069-sorts-hashes-and-memory.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array

_FEW = 128
"""Up to so many numbers, a single call of numpy is faster than several."""

_RUNS = 16
"""Numbers in so few ascending runs are merged by numpy's stable sort, which is faster still."""

_BITS = 64


class _Offsets(NamedTuple):
    """Numbers from 0 in the order of others.

    Attributes:
        values: The numbers, unsigned.
        bits: How many bits they take.
    """

    values: Array
    bits: int


def stable_order(numbers: Array) -> Array:
    """Return the places of integers in ascending order, of equal ones the first place first."""
    count = len(numbers)
    if count <= _FEW or numbers.itemsize <= 2 or np.count_nonzero(numbers[1:] < numbers[:-1]) < _RUNS:
        found: Array = np.argsort(numbers, kind="stable")
        return found
    offsets = _offsets(numbers)
    if offsets.bits + _width(count) <= _BITS:
        return _order_of_pairs(offsets.values, np.arange(count))
    order = np.argsort(numbers)
    codes = _codes(numbers[order])
    return order if codes[-1] + 1 == count else _order_of_pairs(codes, order)


def is_ascending(numbers: Array) -> bool:
    """Return whether no number is less than the one before it; then an order of places changes nothing."""
    return bool((numbers[1:] >= numbers[:-1]).all())


def lexical_order(keys: Sequence[Array]) -> Array:
    """Return the places of rows in the order of some keys, the most significant one first; of equal ones as they come.

    Args:
        keys: Integers or booleans.
    """
    if len(keys[0]) <= _FEW:
        found: Array = np.lexsort(keys[::-1])
        return found
    return stable_order(reduce(paired, keys))


def paired(major: Array, minor: Array) -> Array:
    """Return a number for each of at least one pair, in the order of the pairs; equal pairs have equal numbers."""
    high, low = _offsets(major), _offsets(minor)
    room = _BITS - _width(len(major))  # so that `stable_order` can add the place
    for _ in range(2):
        if high.bits + low.bits > room:
            high, low = (_dense(high), low) if high.bits >= low.bits else (high, _dense(low))
    return (high.values << np.uint64(low.bits)) | low.values


def _offsets(numbers: Array) -> _Offsets:
    least, most = int(numbers.min()), int(numbers.max())
    values = numbers.astype(np.uint64)
    values -= np.uint64(least % (1 << _BITS))
    return _Offsets(values, (most - least).bit_length())


def _dense(offsets: _Offsets) -> _Offsets:
    """Return numbers without gaps."""
    order = np.argsort(offsets.values)
    codes, values = _codes(offsets.values[order]), np.empty(len(order), np.uint64)
    values[order] = codes
    return _Offsets(values, _width(int(codes[-1]) + 1))


def _codes(ascending: Array) -> Array:
    """Return a number for each value, from 0."""
    codes = np.zeros(len(ascending), np.uint64)
    np.cumsum(ascending[1:] != ascending[:-1], out=codes[1:])
    return codes


def _order_of_pairs(values: Array, places: Array) -> Array:
    """Return places in the order of unsigned values, those with the same value in ascending order."""
    width = np.uint64(_width(len(places)))
    pairs = values << width
    pairs |= places.view(np.uint64)
    pairs.sort()
    pairs &= (np.uint64(1) << width) - np.uint64(1)
    return pairs.view(np.int64)


def _width(count: int) -> int:
    """Return how many bits the numbers below a count take."""
    return (count - 1).bit_length()
