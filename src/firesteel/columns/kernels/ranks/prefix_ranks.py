"""The smallest elements of the prefixes of sequences: what a Top-N would have held before each of its rows."""

from __future__ import annotations

import numpy as np

from firesteel.columns.cells import Array


class PrefixRanks:
    """Sequences whose elements are numbers from 0, less than their length, one sequence behind the other.

    A wavelet tree: on each level the elements are partitioned by one more bit of their numbers. All searches go down
    the levels together, so their cost is the logarithm of the longest sequence.

    Args:
        elements: The elements.
        starts: Where the sequence of each element begins.
        signs: 1 for an element that comes, -1 for one that goes; None if all come. Only what is there goes.
    """

    def __init__(self, elements: Array, starts: Array, signs: Array | None = None) -> None:
        sizes = np.bincount(starts)[starts] if len(starts) else starts
        self._starts, self._ends = starts, starts + sizes
        self._bits = int(elements.max(initial=0)).bit_length()  # fewer than of the length, as elements come and go
        self._sums = None if signs is None else _sums(signs)
        self._zeros: list[Array] = []
        self._counts: list[Array] = []
        begin, end = self._starts, self._ends
        for bit in reversed(range(self._bits)):
            is_one = (elements >> bit) & 1 == 1
            zeros = _sums(~is_one)
            self._zeros.append(zeros)
            self._counts.append(zeros if signs is None else _sums(np.where(is_one, 0, signs)))
            places = np.arange(len(elements))
            # `zeros` counts over all sequences; the difference to a sequence's beginning counts within it, for all at
            # once.
            before, middle = zeros[places] - zeros[begin], begin + zeros[end] - zeros[begin]
            order = np.empty(len(elements), np.int64)
            order[np.where(is_one, middle + places - begin - before, begin + before)] = places
            begin, end = np.where(is_one, middle, begin)[order], np.where(is_one, end, middle)[order]
            elements = elements[order]
            signs = None if signs is None else signs[order]

    def counts(self, places: Array, lengths: Array) -> Array:
        """Return how many elements are there after the first ones of the sequences at given places."""
        if self._sums is None:
            return lengths
        begin = self._starts[places]
        found: Array = self._sums[begin + lengths] - self._sums[begin]
        return found

    def smaller(self, places: Array, lengths: Array, elements: Array) -> Array:
        """Return how many elements that are smaller than given ones are there after the first ones of sequences.

        Args:
            places: A place in each sequence.
            lengths: The number of first elements of each sequence that count.
            elements: The elements with which they are compared.
        """
        begin, end = self._starts[places], self._ends[places]
        found = np.zeros(len(places), np.int64)
        for bit, zeros, counts in zip(reversed(range(self._bits)), self._zeros, self._counts, strict=True):
            smaller, middle = zeros[begin + lengths] - zeros[begin], begin + zeros[end] - zeros[begin]
            is_one = (elements >> bit) & 1 == 1
            found += np.where(is_one, counts[begin + lengths] - counts[begin], 0)
            lengths = np.where(is_one, lengths - smaller, smaller)
            begin, end = np.where(is_one, middle, begin), np.where(is_one, end, middle)
        return found

    def at(self, places: Array, lengths: Array, ranks: Array) -> Array:
        """Return the elements with given ranks, from 0, of those that are there after the first ones of sequences.

        Args:
            places: A place in each sequence.
            lengths: The number of first elements of each sequence that count.
            ranks: The ranks; each must be less than the number of elements that are there.
        """
        begin, end = self._starts[places], self._ends[places]
        found = np.zeros(len(places), np.int64)
        for zeros, counts in zip(self._zeros, self._counts, strict=True):
            smaller, middle = zeros[begin + lengths] - zeros[begin], begin + zeros[end] - zeros[begin]
            there = counts[begin + lengths] - counts[begin]
            is_one = ranks >= there
            found = 2 * found + is_one
            ranks, lengths = np.where(is_one, ranks - there, ranks), np.where(is_one, lengths - smaller, smaller)
            begin, end = np.where(is_one, middle, begin), np.where(is_one, end, middle)
        return found


def _sums(values: Array) -> Array:
    """Return the sums of the values before each place, and of all."""
    return np.concatenate([[0], np.cumsum(values)])
