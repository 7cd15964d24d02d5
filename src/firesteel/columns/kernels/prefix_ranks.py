"""The smallest elements of the prefixes of sequences: what a Top-N would have held before each of its rows."""

from __future__ import annotations

import numpy as np

from firesteel.columns.cells import Array


class PrefixRanks:
    """Sequences whose elements are numbers from 0 to their length less 1, one sequence behind the other.

    A wavelet tree: on each level the elements are partitioned by one more bit of their numbers. All searches go down
    the levels together, so their cost is the logarithm of the longest sequence.

    Args:
        elements: The elements.
        starts: Where the sequence of each element begins.
        sizes: The length of the sequence of each element.
    """

    def __init__(self, elements: Array, starts: Array, sizes: Array) -> None:
        self._starts, self._ends = starts, starts + sizes
        self._bits = int(sizes.max(initial=1) - 1).bit_length()
        self._zeros: list[Array] = []
        begin, end = self._starts, self._ends
        for bit in reversed(range(self._bits)):
            is_one = (elements >> bit) & 1 == 1
            zeros = np.concatenate([[0], np.cumsum(~is_one)])
            self._zeros.append(zeros)
            places = np.arange(len(elements))
            # `zeros` counts over all sequences; the difference to a sequence's beginning counts within it, for all at
            # once.
            before, middle = zeros[places] - zeros[begin], begin + zeros[end] - zeros[begin]
            order = np.empty(len(elements), np.int64)
            order[np.where(is_one, middle + places - begin - before, begin + before)] = places
            begin, end = np.where(is_one, middle, begin)[order], np.where(is_one, end, middle)[order]
            elements = elements[order]

    def smaller(self, places: Array, elements: Array) -> Array:
        """Return how many elements before given places of their sequences are smaller than given elements."""
        begin, end = self._starts[places], self._ends[places]
        lengths, found = places - begin, np.zeros(len(places), np.int64)
        for bit, zeros in zip(reversed(range(self._bits)), self._zeros, strict=True):
            smaller, middle = zeros[begin + lengths] - zeros[begin], begin + zeros[end] - zeros[begin]
            is_one = (elements >> bit) & 1 == 1
            found += np.where(is_one, smaller, 0)
            lengths = np.where(is_one, lengths - smaller, smaller)
            begin, end = np.where(is_one, middle, begin), np.where(is_one, end, middle)
        return found

    def at(self, places: Array, ranks: Array) -> Array:
        """Return the elements with given ranks, from 0, among those before given places of their sequences."""
        begin, end = self._starts[places], self._ends[places]
        lengths, found = places - begin, np.zeros(len(places), np.int64)
        for zeros in self._zeros:
            smaller, middle = zeros[begin + lengths] - zeros[begin], begin + zeros[end] - zeros[begin]
            is_one = ranks >= smaller
            found = 2 * found + is_one
            ranks, lengths = np.where(is_one, ranks - smaller, ranks), np.where(is_one, lengths - smaller, smaller)
            begin, end = np.where(is_one, middle, begin), np.where(is_one, end, middle)
        return found
