"""The rows of each key in the order in which they came, where a row may take the place of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.hashing import groups_of, row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.rows.hash_index import HashIndex
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.live_rows import are_equal
from firesteel.columns.kernels.rows.row_store import RowStore
from firesteel.columns.kernels.rows.saved_rows import SavedRows, latest
from firesteel.columns.orders import lexical_order
from firesteel.columns.runs.room import room_of


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of keys.

    Attributes:
        rows: The rows.
        keys: The place of the key of each row among those that were asked for.
        numbers: Their numbers.
        since: Numbers that ascend with the time at which their place was taken.
        expired: The numbers of rows of the keys that have expired, which go with the next change.
    """

    rows: ColumnBatch | None
    keys: Array
    numbers: Array
    since: Array
    expired: Array


class ListedRows:
    """The rows of one operator. All rows of a key expire a time after the last change of one of them.

    State: a log of rows with their `since`, the time of the last write (ms), and 1 for a row that is there, -1 for one
    that has gone. The last entry of a `since` in a key group counts.

    Args:
        keys: The key columns.
        context: The environment of the kernel; the state has been restored.
        name: The name of the state table.
    """

    def __init__(self, keys: tuple[int, ...], context: KernelContext, name: str) -> None:
        self._keys, self._max_parallelism = keys, context.max_parallelism
        self._ttl_ms, self._now_ms = context.state_ttl_ms, context.now_ms
        self._log = SavedRows(context.table(name), keys, context.max_parallelism)
        room = self._room = room_of(context)
        self._store = RowStore(room, since=np.int64, written=np.int64)
        self._index = HashIndex(room)
        self._unsaved: list[ColumnBatch] = []
        self._next = 0
        self._cleaning = CleaningTime(self._ttl_ms, context.now_ms)
        if parts := list(self._log.rows()):
            self._restore(concat(parts))

    def _restore(self, rows: ColumnBatch) -> None:
        *columns, since, written, signs = rows.columns
        rows = rows.with_columns(columns)
        since, times = since.to_numpy(), written.to_numpy()
        codes = groups_by(rows, self._keys).codes
        last_written = np.zeros(rows.length, np.int64)
        np.maximum.at(last_written, codes, times)
        last = latest(since, groups_of(row_hashes(rows, self._keys), self._max_parallelism))
        left = last[signs.to_numpy()[last] > 0]
        self._append(rows.take(left), since[left], last_written[codes[left]])
        self._next = int(since.max()) + 1

    def add_former(self, rows: ColumnBatch, written: Array) -> None:
        """Add rows that an earlier release kept in another form, in the order in which they came."""
        self._append(rows, self.new(rows.length), written)
        self._log.is_outdated = True

    def new(self, count: int) -> Array:
        """Return so many new values of `since`."""
        self._next += count
        return np.arange(self._next - count, self._next)

    def _append(self, rows: ColumnBatch, since: Array, written: Array) -> Array:
        numbers = self._store.append(rows, since=since, written=written)
        self._index.add(row_hashes(rows, self._keys), numbers)
        return numbers

    def find(self, keys: ColumnBatch) -> Listed:
        """Return the rows of keys, given a row of each; those of a key in their order."""
        places, numbers = self._store.there(*self._index.find(row_hashes(keys, self._keys)).all())
        expired = numbers[:0]
        if self._ttl_ms:
            is_live = self._store.values["written"][numbers] + self._ttl_ms > self._now_ms()
            expired, places, numbers = numbers[~is_live], places[is_live], numbers[is_live]
        if not len(numbers):
            return Listed(None, places, numbers, numbers, expired)
        rows, since = self._store.take(numbers), self._store.values["since"][numbers]
        order = np.flatnonzero(are_equal(rows.select(self._keys), keys.select(self._keys).take(places)))
        order = order[lexical_order([places[order], since[order]])]
        return Listed(rows.take(order), places[order], numbers[order], since[order], expired)

    def change(
        self, renewed: tuple[Array, Array], gone: Array, replaced: Array, rows: ColumnBatch, since: Array
    ) -> None:
        """Change rows.

        Args:
            renewed: The numbers of the rows that stay of keys that have changed, and of one of each such key.
            gone: Those of the rows that have gone.
            replaced: Those of the rows whose places others have taken.
            rows: The rows that have come.
            since: Their `since`, which is that of the replaced rows for those in their places.
        """
        now, (stays, firsts) = self._now_ms(), renewed
        if self._ttl_ms and len(stays):
            self._store.values["written"][stays] = now
            # One row of a key is enough: a restore takes the latest time of the key for all of its rows.
            self._unsaved.append(self._stored(firsts, 1))
        if len(gone):
            self._store.values["written"][gone] = now
            self._unsaved.append(self._stored(gone, -1))
        self._remove(np.concatenate([gone, replaced]))
        if rows.length:
            written = np.full(rows.length, now)
            self._append(rows, since, written)
            self._unsaved.append(_saved_form(rows, since, written, 1))

    def _remove(self, numbers: Array) -> None:
        self._store.remove(numbers)
        if self._store.is_sparse:
            self._index.renumber(self._store.compact())

    def flush(self) -> None:
        """Write what has changed since the last version, and forget expired rows from time to time."""
        if self._cleaning.is_due():
            numbers = self._store.numbers()
            self._remove(numbers[self._store.values["written"][numbers] + self._ttl_ms <= self._now_ms()])
            self._log.is_outdated = True
            self._cleaning.done()
        self._log.save(self._unsaved, self._store.left, self._all)
        self._unsaved.clear()
        self._room.leave_memory()

    def _all(self) -> Iterator[ColumnBatch]:
        return (self._stored(numbers, 1) for numbers in self._store.parts())

    def _stored(self, numbers: Array, sign: int) -> ColumnBatch:
        values = self._store.values
        return _saved_form(self._store.take(numbers), values["since"][numbers], values["written"][numbers], sign)


def _saved_form(rows: ColumnBatch, since: Array, written: Array, sign: int) -> ColumnBatch:
    signs = np.full(rows.length, sign, np.int8)
    return rows.with_columns([*rows.columns, *map(pa.array, (since, written, signs))])
