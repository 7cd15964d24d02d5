"""An index of the numbers of rows by the hash of their key, in which the rows of a key have an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.kernels.rows.hash_index import HashIndex
from firesteel.columns.kernels.rows.segments import ranges, segments_of
from firesteel.columns.orders import lexical_order
from firesteel.columns.runs.room import Room


class OrderIndex(HashIndex):
    """Finds the first rows of keys without a look at those behind them.

    Args:
        room: Holds the runs.
        sort_keys: Returns arrays by which rows are sorted, the most significant one first, given their numbers.
    """

    def __init__(self, room: Room, sort_keys: Callable[[Array], Sequence[Array]]) -> None:
        super().__init__(room)
        self._sort_keys = sort_keys

    def _order(self, hashes: Hashes, numbers: Array) -> Array:
        # Stable: rows with the same sort keys stay in the order of their numbers.
        return lexical_order([hashes, *self._sort_keys(numbers)])

    def first(self, hashes: Hashes, limits: Array, are_there: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return the first rows of each hash: all that are among so many, and maybe some more.

        Args:
            hashes: The hashes.
            limits: The number of rows for each hash.
            are_there: Returns which of some rows are there.

        Returns:
            The places of the hashes and the numbers of their rows, in the order of the numbers.
        """
        places, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for run in self._sorted():
            begin, end = segments_of(run.hashes, run.ends, hashes)
            end = _end_of_first(begin, end, limits, partial(_are_there, are_there, run.numbers))
            found = run.numbers[ranges(begin, end)]
            is_there = are_there(found)
            places.append(np.repeat(np.arange(len(hashes)), end - begin)[is_there])
            numbers.append(found[is_there])
        place, number = np.concatenate(places), np.concatenate(numbers)
        order = np.argsort(number)
        return place[order], number[order]


def _are_there(are_there: Callable[[Array], Array], numbers: Array, places: Array) -> Array:
    return are_there(numbers[places])


def _end_of_first(begin: Array, end: Array, limits: Array, are_there: Callable[[Array], Array]) -> Array:
    """Return where parts of ranges end that begin with them and have as many places that are there as a limit.

    The parts are doubled until they do, so what is skipped costs no more than what is found, about.
    """
    stop: Array = np.minimum(begin + limits, end)
    short = np.flatnonzero(stop < end)
    while len(short):
        low, high = begin[short], stop[short]
        counts = np.concatenate([[0], np.cumsum(are_there(ranges(low, high)))])
        ends = np.cumsum(high - low)
        found = counts[ends] - counts[ends - (high - low)]
        short = short[found < limits[short]]
        stop[short] = np.minimum(2 * stop[short] - begin[short], end[short])
        short = short[stop[short] < end[short]]
    return stop
