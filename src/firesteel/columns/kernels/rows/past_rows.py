"""The last rows of each key, as columns: what frames reach back to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.kernel import MIN_WATERMARK, KernelContext
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers, grown
from firesteel.columns.kernels.rows.saved_rows import LEAST, SavedRows
from firesteel.columns.kernels.rows.segments import bisect_right, ranges, starts_of_segments
from firesteel.columns.orders import is_ascending, lexical_order
from firesteel.columns.runs.room import Room, room_of


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows of keys.

    Attributes:
        rows: The rows.
        numbers: The number of the key of each row.
        places: The place of each row among those of its key, from 1.
        times: The time of each row (ms).
    """

    rows: ColumnBatch
    numbers: Array
    places: Array
    times: Array

    def take(self, chosen: Array) -> PlacedRows:
        """Return some of the rows."""
        return PlacedRows(self.rows.take(chosen), self.numbers[chosen], self.places[chosen], self.times[chosen])

    def slice(self, start: int, stop: int) -> PlacedRows:
        """Return the rows from one place to another."""
        parts = (part[start:stop] for part in (self.numbers, self.places, self.times))
        return PlacedRows(self.rows.slice(start, stop), *parts)

    def sorted(self) -> PlacedRows:
        """Return the rows by key and place."""
        order = lexical_order([self.numbers, self.places])
        return self if is_ascending(order) else self.take(order)

    def settled(self, room: Room) -> PlacedRows:
        """Return the rows where there is room for them."""
        return PlacedRows(room.rows(self.rows), *room.arrays(self.numbers, self.places, self.times))


def concat_placed(parts: list[PlacedRows]) -> PlacedRows:
    """Concatenate at least one part."""
    names = ("numbers", "places", "times")
    numbers, places, times = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return PlacedRows(concat([part.rows for part in parts]), numbers, places, times)


class FoundRows(NamedTuple):
    """Rows of some keys among others, which are sorted by key and place.

    Attributes:
        rows: All rows.
        begins: The place of the first row of each key.
        ends: The place behind its last one.
    """

    rows: PlacedRows
    begins: Array
    ends: Array

    @classmethod
    def of(cls, rows: PlacedRows, numbers: Array) -> FoundRows:
        """Return the rows of keys."""
        return cls(rows, np.searchsorted(rows.numbers, numbers), np.searchsorted(rows.numbers, numbers, "right"))

    def taken(self) -> PlacedRows:
        """Return these rows only, key by key."""
        if len(self.begins) == 1:
            return self.rows.slice(int(self.begins[0]), int(self.ends[0]))
        return self.rows.take(ranges(self.begins, self.ends))


class PastRows:
    """The last rows of each key of one operator.

    State: a log of the rows with their places, times, and when they were written; a second one of keys of which rows
    are gone, with the place of the last one, until the first one is written anew.

    Args:
        keys: The key columns of the rows.
        kept: The number of rows per key, at least 1.
        context: The environment of the kernel; the state has been restored.
    """

    def __init__(self, keys: tuple[int, ...], kept: int, context: KernelContext) -> None:
        self._keys = keys
        self._kept = kept
        self._room = room_of(context)
        self._ttl_ms, self._now_ms = context.state_ttl_ms, context.now_ms
        self._log = SavedRows(context.table("past rows"), self._keys, context.max_parallelism)
        self._ended_log = SavedRows(context.table("ended keys"), self._keys, context.max_parallelism)
        self._unsaved_ends: list[ColumnBatch] = []
        self._ended = 0
        self._forget()
        self._restore()

    def _restore(self) -> None:
        found, writes = [], []
        for rows in self._ended_log.rows():
            numbers, places = self.find(rows, self._keys), rows.columns[-1].to_numpy()
            np.maximum.at(self._counts, numbers, places)
            np.maximum.at(self._expired, numbers, places)
            self._ended += rows.length
        for rows in self._log.rows():
            places, times, written = (column.to_numpy() for column in rows.columns[-3:])
            rows = rows.with_columns(rows.columns[:-3])
            found.append(PlacedRows(rows, self.find(rows, self._keys), places, times))
            writes.append(written)
        if found and self._ttl_ms:
            self._expire_before_pauses(found, np.concatenate(writes))
        for placed, written in zip(found, writes, strict=True):
            self.add(placed, written)
        self._unsaved.clear()

    def _expire_before_pauses(self, parts: list[PlacedRows], written: Array) -> None:
        """Note which restored rows had expired when the next one of their key was written."""
        numbers = np.concatenate([part.numbers for part in parts])
        places = np.concatenate([part.places for part in parts])
        np.maximum.at(self._written, numbers, written)
        order = lexical_order([numbers, places])
        numbers, places, written = numbers[order], places[order], written[order]
        is_pause = (np.diff(numbers) == 0) & (np.diff(written) >= self._ttl_ms)
        np.maximum.at(self._expired, numbers[:-1][is_pause], places[:-1][is_pause])

    def _forget(self) -> None:
        self._numbers = KeyNumbers(self._room.spill)
        self._runs: list[PlacedRows] = []
        self._unsaved: list[tuple[PlacedRows, int]] = []  # with the time of their writing
        self._cleaning = CleaningTime(self._ttl_ms, self._now_ms)
        # By key: the rows so far, those of them that have expired, the last time, and when it was written.
        self._counts, self._expired = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._lasts, self._written = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def find(self, rows: ColumnBatch, columns: tuple[int, ...]) -> Array:
        """Return the number of the key of each row."""
        numbers = self._numbers.find(rows, columns)
        arrays = (self._counts, self._expired, self._written)
        self._counts, self._expired, self._written = (grown(array, len(self._numbers)) for array in arrays)
        self._lasts = grown(self._lasts, len(self._numbers), MIN_WATERMARK)
        return numbers

    def counts(self, numbers: Array) -> Array:
        """Return how many rows keys have had."""
        return self._counts[numbers]

    def next_places(self, numbers: Array) -> Array:
        """Return the places of further rows, given the numbers of their keys, sorted."""
        places: Array = self._counts[numbers] + np.arange(1, len(numbers) + 1) - starts_of_segments(numbers)
        return places

    def lasts(self, numbers: Array) -> Array:
        """Return the times of the last rows of keys."""
        self._expire(numbers)
        return self._lasts[numbers]

    def _expire(self, numbers: Array) -> None:
        if self._ttl_ms:
            expired = numbers[self._written[numbers] + self._ttl_ms <= self._now_ms()]
            self._expired[expired], self._lasts[expired] = self._counts[expired], MIN_WATERMARK

    def _first(self, numbers: Array) -> Array:
        """Return the place of the first row of keys that is kept, less 1."""
        self._expire(numbers)
        return np.maximum(self._counts[numbers] - self._kept, self._expired[numbers])

    def forget_until(self, numbers: Array, places: Array) -> None:
        """Forget rows of keys up to places."""
        np.maximum.at(self._expired, numbers, places)

    def end(self, rows: ColumnBatch, numbers: Array) -> None:
        """Forget all rows of keys, given a row of each."""
        self.pass_by(rows, numbers, self._counts[numbers])
        self._lasts[numbers] = MIN_WATERMARK

    def pass_by(self, rows: ColumnBatch, numbers: Array, places: Array) -> None:
        """Forget rows of keys up to places, also in what has been saved, given a row of each."""
        self.forget_until(numbers, places)
        # In the columns of rows, as the log of those, but only the keys count.
        columns = (
            column if index in self._keys else pa.nulls(rows.length, column.type)
            for index, column in enumerate(rows.columns)
        )
        self._unsaved_ends.append(rows.with_columns([*columns, pa.array(places)]))
        self._ended += rows.length

    def take(self, numbers: Array) -> PlacedRows | None:
        """Return the rows of keys, given in ascending order, or None if there are none."""
        parts = self.found(numbers)
        return concat_placed([part.taken() for part in parts]) if parts else None

    def found(self, numbers: Array) -> list[FoundRows]:
        """Return the rows of keys, given in ascending order, in the parts that have any, older ones first."""
        first, found = self._first(numbers), []
        for run in self._runs:
            _, low, high = FoundRows.of(run, numbers)
            if (low < high).any():
                found.append(FoundRows(run, bisect_right(run.places, low, high, first), high))
        return found

    def add(self, added: PlacedRows, written: Array | None = None) -> None:
        """Add rows; those that are too many are forgotten, oldest first."""
        np.maximum.at(self._counts, added.numbers, added.places)
        now_ms = self._now_ms()
        np.maximum.at(self._written, added.numbers, now_ms if written is None else written)
        kept = self._left(added)
        np.maximum.at(self._lasts, kept.numbers, kept.times)
        self._unsaved.append((kept, now_ms))
        self._push(kept)

    def add_former(self, rows: ColumnBatch, times: Array, written: Array) -> None:
        """Add one row of each of some keys that have none, which an earlier release kept in another form."""
        numbers = self.find(rows, self._keys)
        self.add(PlacedRows(rows, numbers, np.ones(rows.length, np.int64), times), written)
        self._log.is_outdated = True  # As it does not tell when these rows were written.

    def _push(self, added: PlacedRows) -> None:
        if self._runs and self._room.should_merge(self._runs[-1].rows, added.rows):
            self._push(self._left(concat_placed([self._runs.pop(), added])))
        else:
            self._runs.append(added.sorted().settled(self._room))

    def _left(self, rows: PlacedRows) -> PlacedRows:
        is_kept = rows.places > self._first(rows.numbers)
        return rows if is_kept.all() else rows.take(np.flatnonzero(is_kept))

    def flush(self) -> None:
        """Write what has changed since the last version, and forget expired keys from time to time."""
        unsaved = [_saved_form(left, np.full(left.rows.length, ms)) for left, ms in self._left_unsaved()]
        left = sum(run.rows.length for run in self._runs)
        self._log.is_outdated |= self._ended > 2 * left + LEAST
        if self._log.save(unsaved, left, self._all):
            # A log that was written anew has no rows of keys that have ended, so it need not be told of their ends.
            self._ended, self._ended_log.is_outdated = 0, True
            self._ended_log.save([], 0, list)
        else:
            for ends in self._unsaved_ends:
                self._ended_log.add(ends)
        self._unsaved.clear()
        self._unsaved_ends.clear()
        if self._cleaning.is_due():
            self._clean()
            self._log.is_outdated = True  # It has rows of keys that are forgotten and may come again.
        self._room.leave_memory()

    def forget_ended_keys(self) -> bool:
        """Forget the numbers of keys that have ended, if these are most; then numbers held elsewhere are invalid."""
        if len(self._numbers) <= 2 * sum(run.rows.length for run in self._runs) + LEAST:
            return False
        self._clean()
        self._log.is_outdated = True  # A key that comes again begins with place 1.
        return True

    def parts(self) -> Iterator[PlacedRows]:
        """Return all rows, in parts; those of a key may be in several."""
        return map(self._left, self._runs)

    def _left_unsaved(self) -> Iterator[tuple[PlacedRows, int]]:
        return ((self._left(rows), written_ms) for rows, written_ms in self._unsaved)

    def _all(self) -> Iterator[ColumnBatch]:
        return (_saved_form(left, self._written[left.numbers]) for left in self.parts())

    def _clean(self) -> None:
        parts = [(rows, self._written[rows.numbers]) for rows in self.parts()]
        self._forget()
        for rows, written in parts:
            numbers = self.find(rows.rows, self._keys)
            self.add(PlacedRows(rows.rows, numbers, rows.places, rows.times), written)
        self._unsaved.clear()


def _saved_form(rows: PlacedRows, written: Array) -> ColumnBatch:
    added = map(pa.array, (rows.places, rows.times, written))
    return rows.rows.with_columns([*rows.rows.columns, *added])
