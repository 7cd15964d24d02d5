"""The best rows of each key in an order, as columns: the state of a Top-N over inserted rows.

Why: `docs/decisions/0047-order-and-distinct-values-on-columns.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.ranks.rank_changes import places_of_ids
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers
from firesteel.columns.kernels.rows.row_order import Order, sort_keys
from firesteel.columns.kernels.rows.saved_rows import SavedRows
from firesteel.columns.kernels.rows.segments import distinct, ends_of_segments, ranges, starts_of_segments
from firesteel.columns.orders import lexical_order, stable_order
from firesteel.columns.runs.room import room_of


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows sorted by the number of their key; peers in the order of their arrival. `is_there` changes."""

    rows: ColumnBatch
    numbers: Array
    is_there: Array

    def left(self) -> _Run:
        """Return the rows that are there."""
        left = np.flatnonzero(self.is_there)
        return _Run(self.rows.take(left), self.numbers[left], np.ones(len(left), bool))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Known and added rows that have been among the best of their keys, sorted by key, order and arrival.

    Attributes:
        sources: Where the rows are, known ones first; a row has the index that it has in all of them together.
        known: The number of known rows.
        sorted: The indexes of the sorted rows.
        starts: Where the rows of the same key begin, for each sorted row.
    """

    sources: Sequence[tuple[ColumnBatch, Array]]
    known: int
    sorted: Array
    starts: Array

    @property
    def places(self) -> Array:
        """Return the place of each sorted row among those of its key, from 0."""
        return np.arange(len(self.sorted)) - self.starts

    def without_settled(self) -> tuple[Ranking, Array]:
        """Return the ranking without rows that stay among the best, and how many of the key of each row are not in it.

        If m rows of a key have been added, at most the m worst known ones can have left.
        """
        is_known = self.sorted < self.known
        sums = np.concatenate([[0], np.cumsum(is_known)])
        stops = ends_of_segments(self.starts)
        known = sums[stops] - sums[self.starts]
        settled = np.maximum(2 * known - (stops - self.starts), 0)
        left = ~is_known | (sums[:-1] - sums[self.starts] >= settled)
        starts = starts_of_segments(self.starts[left])
        return replace(self, sorted=self.sorted[left], starts=starts), settled[left]

    def take(self, *indexes: Array) -> tuple[ColumnBatch, list[Array]]:
        """Return the rows with some indexes, and the indexes of these in what is returned; -1 stands for no row."""
        ends = np.cumsum([len(places) for _, places in self.sources])
        needed, found = places_of_ids(ends[-1], indexes)
        stops, parts, start, offset = np.searchsorted(needed, ends), [], 0, 0
        for (rows, places), stop, end in zip(self.sources, stops.tolist(), ends.tolist(), strict=True):
            parts.append(rows.take(places[needed[start:stop] - offset]))
            start, offset = stop, end
        return concat(parts), found


class BestRows:
    """The best rows of each key of one operator.

    State: a log of rows that have been among the best, and when they were written.

    Args:
        keys: The key columns.
        order: The order; of peers the earlier row is better.
        kept: The number of rows per key.
        context: The environment of the kernel; the state has been restored.
    """

    def __init__(self, keys: tuple[int, ...], order: Order, kept: int, context: KernelContext) -> None:
        self._keys, self._order, self._kept = keys, order, kept
        self._room = room_of(context)
        self._ttl_ms, self._now_ms = context.state_ttl_ms, context.now_ms
        self._log = SavedRows(context.table("best rows"), keys, context.max_parallelism)
        self._forget()
        self._restore()

    def _forget(self) -> None:
        self._numbers = KeyNumbers(self._room.spill)
        self._written = np.zeros(0, np.int64)  # by key
        self._runs: list[_Run] = []
        self._unsaved: list[ColumnBatch] = []
        self._cleaning = CleaningTime(self._ttl_ms, self._now_ms)

    def _restore(self) -> None:
        parts = [(rows.with_columns(rows.columns[:-1]), rows.columns[-1].to_numpy()) for rows in self._log.rows()]
        numbers = [self._find(rows) for rows, _ in parts]
        is_left = iter([np.ones(rows.length, bool) for rows, _ in parts])
        if parts and self._ttl_ms:
            is_left = _without_pauses(numbers, [written for _, written in parts], self._ttl_ms)
        for (rows, written), found, left in zip(parts, numbers, is_left, strict=True):
            self._add(rows.filter(left), found[left], self._taken(distinct(found)))
            np.maximum.at(self._written, found, written)

    def add_former(self, rows: ColumnBatch, written: Array) -> None:
        """Add the rows of keys that have none, best first, which an earlier release kept in another form."""
        numbers = self._find(rows)
        np.maximum.at(self._written, numbers, written)
        self._add(rows, numbers, [])
        self._log.is_outdated = True

    def _find(self, rows: ColumnBatch) -> Array:
        numbers = self._numbers.find(rows, self._keys)
        missing = len(self._numbers) - len(self._written)
        if missing > 0:
            more = np.zeros(max(missing, len(self._written)), np.int64)
            self._written = np.concatenate([self._written, more])
        return numbers

    def add(self, rows: ColumnBatch) -> Ranking:
        """Add rows, keep the best ones, and return all that have been among the best meanwhile."""
        rows, now_ms = replace(rows, kinds=None), self._now_ms()
        numbers = self._find(rows)
        touched = distinct(numbers)
        if self._ttl_ms:
            self._remove(touched[self._written[touched] + self._ttl_ms <= now_ms])
        self._written[touched] = now_ms
        ranking = self._add(rows, numbers, self._taken(touched))
        best = ranking.sorted[ranking.places < self._kept]
        saved = np.zeros(rows.length, bool)
        saved[best[best >= ranking.known] - ranking.known] = True
        if self._ttl_ms:  # A row that is not among the best, too, tells when its key was written.
            saved[rows.length - 1 - np.unique(numbers[::-1], return_index=True)[1]] = True
        self._unsaved.append(_saved_form(rows.filter(saved), np.full(int(saved.sum()), now_ms)))
        return ranking

    def _taken(self, numbers: Array) -> list[tuple[_Run, Array]]:
        """Return the places of the rows of keys in each run."""
        return [(run, _places(run, numbers)) for run in self._runs]

    def _remove(self, numbers: Array) -> None:
        for run, places in self._taken(numbers):
            run.is_there[places] = False

    def _add(self, rows: ColumnBatch, numbers: Array, taken: list[tuple[_Run, Array]]) -> Ranking:
        sources = [*((run.rows, places) for run, places in taken), (rows, np.arange(rows.length))]
        all_numbers = np.concatenate([*(run.numbers[places] for run, places in taken), numbers])
        ranking = self._ranking(sources, all_numbers, len(all_numbers) - rows.length)
        stays = np.zeros(len(all_numbers), bool)
        stays[ranking.sorted[ranking.places < self._kept]] = True
        start = 0
        for run, places in taken:
            run.is_there[places] = stays[start : start + len(places)]
            start += len(places)
        new = np.flatnonzero(stays[start:])
        new = new[stable_order(numbers[new])]
        self._push(_Run(rows.take(new), numbers[new], np.ones(len(new), bool)))
        return ranking

    def _ranking(self, sources: Sequence[tuple[ColumnBatch, Array]], numbers: Array, known: int) -> Ranking:
        columns = [
            pa.concat_arrays([rows.columns[index].take(pa.array(places)) for rows, places in sources])
            for index, _, _ in self._order
        ]
        keys = sort_keys(columns, tuple((place, *by[1:]) for place, by in enumerate(self._order)))
        order = lexical_order([numbers, *keys])
        is_known = np.concatenate([[0], np.cumsum(order < known)])
        better = is_known[:-1] - is_known[starts_of_segments(numbers[order])]
        order = order[(order < known) | (better < self._kept)]
        return Ranking(sources, known, order, starts_of_segments(numbers[order]))

    def _push(self, added: _Run) -> None:
        if not added.rows.length:
            return
        if self._runs and self._room.should_merge(self._runs[-1].rows, added.rows):
            parts = [self._runs.pop().left(), added.left()]
            numbers = np.concatenate([part.numbers for part in parts])
            order = stable_order(numbers)
            rows = concat([part.rows for part in parts]).take(order)
            self._push(_Run(rows, numbers[order], np.ones(len(order), bool)))
        else:
            (numbers,) = self._room.arrays(added.numbers)
            self._runs.append(_Run(self._room.rows(added.rows), numbers, added.is_there))

    def flush(self) -> None:
        """Write what has changed since the last version, and forget expired keys from time to time."""
        self._log.save(self._unsaved, sum(int(run.is_there.sum()) for run in self._runs), self._all)
        self._unsaved.clear()
        if self._cleaning.is_due():
            self._clean()
            self._log.is_outdated = True  # It has rows of keys that are forgotten and may come again.
        self._room.leave_memory()

    def _all(self) -> Iterator[ColumnBatch]:
        return (_saved_form(run.rows, self._written[run.numbers]) for run in (run.left() for run in self._runs))

    def _clean(self) -> None:
        is_live = self._written[: len(self._numbers)] + self._ttl_ms > self._now_ms()
        written, kept = self._written, np.flatnonzero(is_live)
        self._remove(np.flatnonzero(~is_live))
        runs = [run.left() for run in self._runs]
        numbers = self._numbers
        self._forget()
        numbers.keep(kept)
        self._numbers, self._written = numbers, written[kept]
        self._runs = [replace(run, numbers=np.searchsorted(kept, run.numbers)) for run in runs if run.rows.length]


def _places(run: _Run, numbers: Array) -> Array:
    """Return the places of the rows of keys that are there."""
    places = ranges(np.searchsorted(run.numbers, numbers), np.searchsorted(run.numbers, numbers, "right"))
    return places[run.is_there[places]]


def _saved_form(rows: ColumnBatch, written: Array) -> ColumnBatch:
    return rows.with_columns([*rows.columns, pa.array(written)])


def _without_pauses(numbers: Sequence[Array], written: Sequence[Array], ttl_ms: int) -> Iterator[Array]:
    """Yield for each part of restored rows which had not expired when the next row of their key was written."""
    keys, times = np.concatenate(numbers), np.concatenate(written)
    order = stable_order(keys)
    is_pause = np.concatenate([[False], (np.diff(keys[order]) == 0) & (np.diff(times[order]) >= ttl_ms)])
    last = np.full(keys.max() + 1, -1)
    last[keys[order[is_pause]]] = order[is_pause]
    is_left = np.arange(len(keys)) >= last[keys]
    start = 0
    for part in numbers:
        yield is_left[start : start + len(part)]
        start += len(part)
