"""A map of entries as sorted runs: those in memory change in place, files are written once and merged.

A log-structured merge tree. Why: `docs/decisions/0063-groups-are-written-from-arrays.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.runs.entries import Entries, merged
from firesteel.columns.runs.run_file import RunFile

_MERGED_AT_ONCE = 1 << 18
"""About the number of entries in a part of a file, and of those that are merged at once."""

_SMALL = 4096
"""Entries of a run in memory that is merged with any other: searching one more run would take longer."""

_MAPPED_PART = 4
"""The part of the memory for entries that pages of files may take beside it."""


class Spill(Protocol):
    """The memory that a store may take, and where it writes what has no room there.

    Attributes:
        directory: A directory on the local disk.
        used: About how many bytes the store takes.
    """

    directory: str
    used: int

    def allowed(self) -> int:
        """Return how many bytes it may take now."""


@dataclass(slots=True, eq=False)
class MemoryRun:
    """Entries in memory, whose values are changed in place.

    Attributes:
        entries: The entries.
        are_changed: Which have come or changed since the last version.
    """

    entries: Entries
    are_changed: Array

    def __len__(self) -> int:
        return len(self.entries)

    def between(self, first: int, last: int) -> list[Entries]:
        """Return the entries whose hashes are in a range, with both ends."""
        return [self.entries.between(first, last)]


class Hit(NamedTuple):
    """Some of the sought keys in a run.

    Attributes:
        to: Their positions among the sought ones; ascending if these are all.
        entries: The entries of a run in memory, or a copy of some entries of a file.
        places: Their places there.
        run: The run if it is in memory.
        are_all: Whether all sought keys are here.
    """

    to: Array
    entries: Entries
    places: Array
    run: MemoryRun | None
    are_all: bool

    def values(self, column: int) -> Array:
        """Return the values of the keys in a column."""
        found: Array = self.entries.values[column][self.places]
        return found


class RunStore:
    """Entries, and which of them have come or changed since the last version.

    Args:
        spill: Where entries go that have no room in memory; None keeps all there.
        are_needed: Returns which of some entries are needed if there are no older ones with the same keys.
    """

    def __init__(self, spill: Spill | None, are_needed: Callable[[Entries], Array]) -> None:
        self._spill = spill
        self._are_needed = are_needed
        self._memory: list[MemoryRun] = []
        self._files: list[RunFile] = []
        self._unsealed: list[RunFile] = []

    def find(self, sought: Entries, order: Array) -> list[Hit]:
        """Return where the entries with some keys are; those that are in no hit are not there.

        Args:
            sought: The keys.
            order: Their positions among the sought ones, by which hits name them.
        """
        hits: list[Hit] = []
        total = len(sought)
        # The newest first, which has the value of a key that several have.
        runs: list[MemoryRun | RunFile] = [*self._memory[::-1], *self._files[::-1]]
        for run in runs:
            is_left = np.ones(len(sought), bool)
            for start, entries, places in _search(run, sought):
                found = np.flatnonzero(places >= 0)
                if len(found):
                    is_left[start + found] = False
                    hits.append(_hit(order[start + found], entries, places[found], run, total))
            if not is_left.any():
                break
            sought, order = sought.where(is_left), order[is_left]
        return hits

    def update(self, sought: Entries, order: Array, hits: Iterable[Hit], columns: Sequence[Array]) -> None:
        """Set the values of keys that `find` has sought."""
        is_left = np.ones(len(sought), bool)
        for hit in hits:
            if hit.run is not None:
                for values, column in zip(hit.entries.values, columns, strict=True):
                    values[hit.places] = column if hit.are_all else column[hit.to]
                hit.run.are_changed[hit.places] = True
                is_left[hit.to] = False
        rest = np.flatnonzero(is_left[order])
        if len(rest):
            places = order[rest]
            self.insert(sought.take(rest).with_values(*(column[places] for column in columns)), True)

    def insert(self, entries: Entries, are_changed: bool) -> None:
        """Add entries whose keys are not in memory."""
        if not len(entries):
            return
        added = MemoryRun(entries, np.full(len(entries), are_changed))
        # Each is more than twice the next one, so that there are few, and each entry is copied a few times.
        while self._memory and len(self._memory[-1]) <= max(2 * len(added), _SMALL):
            added = _merged([added, self._memory.pop()])
        self._memory.append(added)
        self._limit_memory()

    # --- versions ----------------------------------------------------------------------------------------------------

    def seal(self) -> list[Entries]:
        """Begin a new version, and return what has changed since the last one, in parts."""
        if self._unsealed:
            self._spill_all()
            changed, self._unsealed = self._file(_by_hash(self._unsealed)).chunks, []
            return changed
        changed = []
        for run in self._memory:
            places = np.flatnonzero(run.are_changed)
            if len(places):
                changed.append(run.entries.take(places))
                run.are_changed[places] = False
        self._limit_memory()
        return changed

    def all(self) -> list[Entries]:
        """Merge all entries, and return them in parts; nothing must have changed since the last version."""
        if not self._files and self._memory:
            entries = _merged(self._memory).entries
            self._memory = []
            self.insert(entries.where(self._are_needed(entries)), False)
        if not self._files:  # Values may have grown since they were added, so that there is one now.
            return [run.entries for run in self._memory]
        self._spill_all()
        if len(self._files) > 1:
            self._files = [self._merged_files(self._files)]
        return self._files[0].chunks

    def clear(self) -> None:
        """Forget all entries."""
        self._memory, self._files, self._unsealed = [], [], []

    # --- memory ------------------------------------------------------------------------------------------------------

    def _limit_memory(self) -> None:
        """Write the runs to a file if they take more than half of what is allowed: merging copies them."""
        if self._spill is not None:
            self._spill.used = 2 * sum(run.entries.nbytes for run in self._memory)
            if self._spill.used > self._spill.allowed():
                self._spill_all()

    def _spill_all(self) -> None:
        """Write the runs in memory to a file."""
        if not self._memory or self._spill is None:
            return
        changed = [run.entries.where(run.are_changed) for run in self._memory if run.are_changed.any()]
        if changed:
            self._unsealed.append(self._file(_by_hash([MemoryRun(entries, entries.hashes) for entries in changed])))
        self._files.append(self._file(_by_hash(self._memory)))
        self._memory, self._spill.used = [], 0
        first = len(self._files) - 1
        # A file has less than half as many entries as the one before, so each entry is copied a few times.
        while first and len(self._files[first - 1]) <= 2 * sum(map(len, self._files[first:])):
            first -= 1
        if first < len(self._files) - 1:
            self._files[first:] = [self._merged_files(self._files[first:])]

    def _merged_files(self, files: Sequence[RunFile]) -> RunFile:
        """Return files as one; if there are no others, without entries that are not needed."""
        parts = _by_hash(files)
        # In another file there may be an older entry of the key, which the one that is not needed hides.
        if len(files) == len(self._files):
            parts = (part.where(self._are_needed(part)) for part in parts)
        return self._file(parts)

    def _file(self, parts: Iterable[Entries]) -> RunFile:
        assert self._spill is not None
        return RunFile(self._spill.directory, parts, self._spill.allowed() // _MAPPED_PART)


def _hit(to: Array, entries: Entries, places: Array, run: MemoryRun | RunFile, total: int) -> Hit:
    in_memory = run if isinstance(run, MemoryRun) else None
    if in_memory is None:  # Pages of files do not stay in memory, so that what is there is read now.
        entries, places = entries.take(places).decoded(), np.arange(len(places))
    if len(to) < total:
        return Hit(to, entries, places, in_memory, False)
    in_order = np.empty(total, np.int64)
    in_order[to] = places
    return Hit(np.arange(total), entries, in_order, in_memory, True)


def _merged(runs: Sequence[MemoryRun]) -> MemoryRun:
    """Return runs, which have no key in common, as one."""
    found = merged([run.entries.with_values(run.are_changed) for run in runs])
    *values, are_changed = found.values
    return MemoryRun(Entries(found.hashes, found.keys, tuple(values)), are_changed)


def _search(run: MemoryRun | RunFile, sought: Entries) -> Iterator[tuple[int, Entries, Array]]:
    """Yield the places of sought keys in each part of a run, after the position of the first of them."""
    if isinstance(run, MemoryRun):
        yield 0, run.entries, run.entries.find(sought)
    else:
        for start, end, chunk in run.parts_of(sought):
            yield start, chunk, chunk.find(sought.slice(start, end))


def _by_hash(runs: Sequence[MemoryRun | RunFile]) -> Iterator[Entries]:
    """Yield the entries of runs, the latest of which wins, by ranges of hashes."""
    count = max(sum(map(len, runs)) // _MERGED_AT_ONCE, 1)
    bounds = [number * 2**64 // count for number in range(count + 1)]
    for first, end in pairwise(bounds):
        parts = [part for run in runs[::-1] for part in run.between(first, end - 1)]
        if parts:
            yield merged(parts)
        for run in runs:
            if isinstance(run, RunFile):
                run.leave_memory()
