"""The rows that an index finds for the rows of a batch, which are searched once and then taken part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.orders import lexical_order, stable_order


class FoundIn(NamedTuple):
    """What is found in one run of an index.

    Attributes:
        begin: Where the rows begin that are found for each row of the batch.
        end: Where they end.
        numbers: The numbers of the rows of the run.
        times: Their times, which order the rows that are found for one row; None for the order of their numbers.
    """

    begin: Array
    end: Array
    numbers: Array
    times: Array | None = None


class FoundRows:
    """The rows that are found; valid until the index is changed.

    Args:
        length: The number of rows that were looked up.
        runs: What was found in each run of the index; those of a later run have greater numbers.

    Attributes:
        counts: The number of rows that are found for each one.
    """

    def __init__(self, length: int, runs: Sequence[FoundIn]) -> None:
        self._length = length
        self._runs = runs
        self.counts: Array = np.zeros(length, np.int64)
        for run in runs:
            self.counts += run.end - run.begin

    def all(self) -> tuple[Array, Array]:
        """Return all pairs, see `pairs`."""
        return self.pairs(0, self._length)

    def pairs(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return what is found for the rows from `start` up to `stop`.

        Returns:
            Positions behind `start`, ascending, and the numbers of the rows that are found for each.
        """
        places, numbers, times = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
        for run in self._runs:
            low, high = run.begin[start:stop], run.end[start:stop]
            chosen = ranges(low, high)
            places.append(np.repeat(np.arange(stop - start), high - low))
            numbers.append(run.numbers[chosen])
            if run.times is not None:
                times.append(run.times[chosen])
        place, number = np.concatenate(places), np.concatenate(numbers)
        if len(self._runs) > 1:
            # Within a run, and from run to run, numbers ascend, and stay so for the same place and time.
            order = lexical_order([place, np.concatenate(times)]) if times else stable_order(place)
            place, number = place[order], number[order]
        return place, number
