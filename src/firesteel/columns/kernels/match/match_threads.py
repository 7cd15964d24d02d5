"""Ways to match rows, as arrays: Flink's `ComputationState`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.rows.key_numbers import grown
from firesteel.columns.kernels.rows.segments import first_of_segments, ranges

_LEAST = 1024

Fields = tuple[Array, ...]
"""The states of aggregates of several threads: one array per part of a state."""


@dataclass(frozen=True, slots=True)
class Threads:
    """Ways to match the rows from a start on; those of one search come one after the other, the preferred one first.

    Attributes:
        searches: The number of the search of each.
        steps: The step of its last row.
        ends: By thread and earlier step, the place behind the last row of the step: each has the rows from the end of
            the step before it on.
        fields: The states of aggregates of its rows.
    """

    searches: Array
    steps: Array
    ends: Array
    fields: Fields

    @classmethod
    def of(cls, arrays: Iterable[Array]) -> Threads:
        """Return threads of their arrays."""
        searches, steps, ends, *fields = arrays
        return cls(searches, steps, ends, tuple(fields))

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays."""
        return self.searches, self.steps, self.ends, *self.fields

    @classmethod
    def beginning(cls, searches: Array, steps: int, fields: Fields) -> Threads:
        """Return a thread without rows for each search, given the fields of one."""
        none = np.zeros(len(searches), np.int64)
        return cls(searches, none, np.zeros((len(searches), steps), np.int64), tuple([part[none] for part in fields]))

    def __len__(self) -> int:
        return len(self.searches)

    def take(self, places: Array) -> Threads:
        """Return some of the threads."""
        return Threads.of([part[places] for part in self.arrays])


def concat_threads(parts: Sequence[Threads]) -> Threads:
    """Concatenate at least one part."""
    return Threads.of(map(np.concatenate, zip(*(part.arrays for part in parts), strict=True)))


@dataclass(frozen=True, slots=True)
class Taken:
    """Rows that matches have taken.

    Attributes:
        rows: All rows, those of a partition one after the other.
        starts: The place of the first row of each match.
        ends: By match and step, the place behind the last row of the step; of the steps before `step`.
        lasts: The place of the last row of each match.
        step: The step of the last row, or the number of steps if all ends are given.
        fields: The states of aggregates of these rows, if they are known.
    """

    rows: MatchRows
    starts: Array
    ends: Array
    lasts: Array
    step: int
    fields: Fields = ()

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, places: Array) -> Taken:
        """Return some of the matches."""
        starts, ends, lasts, *fields = (part[places] for part in (self.starts, self.ends, self.lasts, *self.fields))
        return Taken(self.rows, starts, ends, lasts, self.step, tuple(fields))

    def bounds(self, steps: Sequence[int]) -> list[tuple[Array, Array]]:
        """Return where the rows of steps begin and end, of those steps that may have rows."""
        return [
            (
                self.ends[:, step - 1] if step else self.starts,
                self.ends[:, step] if step < self.step else self.lasts + 1,
            )
            for step in steps
            if step <= self.step and step < self.ends.shape[1]
        ]

    def place(self, steps: Sequence[int], offset: int, is_last: bool) -> Array:
        """Return the place of a row of steps, counted from the first or the last one; -1 if they have not so many."""
        if is_last and not offset and self.step in steps:
            return self.lasts
        found, left = np.full(len(self), -1), np.full(len(self), offset)
        bounds = self.bounds(steps)
        for begin, end in reversed(bounds) if is_last else bounds:
            is_here = (found < 0) & (left < end - begin)
            found = np.where(is_here, end - 1 - left if is_last else begin + left, found)
            left -= end - begin
        return found

    def all_places(self, steps: Sequence[int]) -> tuple[Array, Array]:
        """Return the number of the match and the place of each row of steps, match by match."""
        bounds = self.bounds(steps)
        if not bounds:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        begin, end = (np.stack(part, axis=1) for part in zip(*bounds, strict=True))
        return np.repeat(np.arange(len(self)), (end - begin).sum(axis=1)), ranges(begin.ravel(), end.ravel())


def concat_taken(parts: Sequence[Taken]) -> Taken:
    """Concatenate at least one part, all of the same rows."""
    starts, ends, lasts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "ends", "lasts")
    )
    return Taken(parts[0].rows, starts, ends, lasts, parts[0].step)


class KeptThreads:
    """The threads of searches that wait for rows, by the number of their partition.

    Args:
        blank: Returns threads without rows, given their searches.
    """

    def __init__(self, blank: Callable[[Array], Threads]) -> None:
        self._blank = blank
        self._first = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._used = self._left = 0
        self._threads = blank(np.zeros(_LEAST, np.int64))

    def take(self, numbers: Array) -> Threads:
        """Remove and return the threads of partitions, whose places among those given count as their searches."""
        least = int(numbers.max(initial=-1)) + 1
        self._first, self._counts = (grown(part, least) for part in (self._first, self._counts))
        first, counts = self._first[numbers], self._counts[numbers]
        taken = self._threads.take(ranges(first, first + counts))
        self._counts[numbers] = 0
        self._left -= len(taken)
        return replace(taken, searches=np.repeat(np.arange(len(numbers)), counts))

    def put(self, numbers: Array, threads: Threads) -> None:
        """Keep the threads of partitions that have none, given the number of each."""
        if not len(threads):
            return
        if self._used + len(threads) > len(self._threads):
            self._compact(len(threads))
        start, stop = self._used, self._used + len(threads)
        # While threads are kept, their searches are the numbers of their partitions.
        for kept, added in zip(self._threads.arrays, replace(threads, searches=numbers).arrays, strict=True):
            kept[start:stop] = added
        firsts = np.flatnonzero(first_of_segments(numbers))
        self._first[numbers[firsts]] = start + firsts
        self._counts[numbers[firsts]] = np.diff(firsts, append=len(numbers))
        self._used, self._left = stop, self._left + len(threads)

    def _compact(self, more: int) -> None:
        """Drop the threads that have been taken, and make room for others."""
        numbers = np.flatnonzero(self._counts)
        first, counts = self._first[numbers], self._counts[numbers]
        left = self._threads.take(ranges(first, first + counts))
        room = self._blank(np.zeros(max(_LEAST, self._left + 2 * more), np.int64))
        self._threads = concat_threads([left, room])
        self._first[numbers] = np.cumsum(counts) - counts
        self._used = self._left
