"""Estimates of the memory that elements take."""

from __future__ import annotations

from collections.abc import Iterable
from sys import getsizeof
from typing import Any

from firesteel.common.types import Row

__all__ = ["SizeEstimate", "size_of"]

_MAX_GAP = 256
_SAMPLED_BYTES = 256 * 1024
_ELEMENT_OVERHEAD = 120
_MAX_DEPTH = 8


class SizeEstimate:
    """An estimate of the memory that elements take, from a sample; the larger they are, the more are measured.

    Example:
        >>> estimate = SizeEstimate()
        >>> estimate.add(["a" * 951])
        >>> estimate.bytes
        1120
    """

    __slots__ = ("_gap", "_next", "bytes", "elements")

    def __init__(self) -> None:
        self.bytes = self.elements = 0
        self._gap = 1
        self._next = 0

    def add(self, values: list[Any]) -> None:
        """Add elements; each measured one stands for those since the previous measurement."""
        position, count = self._next, len(values)
        while position < count:
            size = size_of(values[position]) + _ELEMENT_OVERHEAD
            self.bytes += size * self._gap
            self._gap = max(1, min(2 * self._gap, _MAX_GAP, _SAMPLED_BYTES // size))
            position += self._gap
        self._next = position - count
        self.elements += count

    def mean(self) -> int:
        """Return the mean number of bytes per element."""
        return max(1, self.bytes // max(1, self.elements))


def size_of(value: Any, depth: int = 0) -> int:
    """Return the bytes of a value and everything that it refers to; shared objects count each time."""
    size = getsizeof(value)
    kind = type(value)
    if kind in _FLAT or depth == _MAX_DEPTH:
        return size
    if kind is dict:
        return size + sum(size_of(k, depth + 1) + size_of(v, depth + 1) for k, v in value.items())
    return size + sum([size_of(part, depth + 1) for part in _parts(value, kind)])


_FLAT = {str, int, float, bool, bytes, bytearray, type(None)}


def _parts(value: Any, kind: type) -> Iterable[Any]:
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    if kind is Row:
        return value._values  # type: ignore[no-any-return]
    parts = [getattr(value, name, None) for name in getattr(kind, "__slots__", ())]
    return [*parts, *getattr(value, "__dict__", {}).values()]
