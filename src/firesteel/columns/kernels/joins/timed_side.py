"""The rows of one side of an interval join, as columns; rows expire when nothing can match them any more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes, groups_of, row_hashes
from firesteel.columns.kernel import MIN_WATERMARK, KernelContext
from firesteel.columns.kernels.joins.timed_index import TimedIndex
from firesteel.columns.kernels.rows.found_rows import FoundRows
from firesteel.columns.kernels.rows.row_store import RowStore
from firesteel.columns.kernels.rows.saved_rows import SavedRows, latest
from firesteel.columns.kernels.times.time_queue import TimeQueue
from firesteel.columns.orders import lexical_order
from firesteel.columns.runs.room import room_of

_ADDED = 3
"""Number of columns behind those of a row in the log: its time, its id, and whether it has matched."""


class TimedSide:
    """The rows of one side by key and time, each with a mark: whether it has matched.

    State: a log of rows with their times, ids and marks, in which the last entry of an id in a key group counts, and
    for each key group the time up to which rows are gone.

    Args:
        keys: The key columns.
        context: The environment of the kernel; the state has been restored.
        name: The name of the side.
    """

    def __init__(self, keys: tuple[int, ...], context: KernelContext, name: str) -> None:
        self._keys, self._max_parallelism = keys, context.max_parallelism
        self._log = SavedRows(context.table(f"{name} rows"), keys, context.max_parallelism)
        self._passed = context.table(f"{name} passed")
        self._room = room_of(context)
        self._store = RowStore(self._room, times=np.int64, ids=np.int64, marks=bool)
        self._index, self._queue = TimedIndex(self._room), TimeQueue(self._room)
        self._changed: list[Array] = []
        self._next_id = 0
        self._past: int | None = None
        self._gone_until = max(self._passed.data.values(), default=MIN_WATERMARK)
        self._restore()

    def _restore(self) -> None:
        parts = list(self._log.rows())
        if not parts:
            return
        rows = concat(parts)
        times, ids, marks = (column.to_numpy(zero_copy_only=False) for column in rows.columns[-_ADDED:])
        rows = rows.with_columns(rows.columns[:-_ADDED])
        hashes = row_hashes(rows, self._keys)
        groups = groups_of(hashes, self._max_parallelism)
        last = latest(ids, groups)
        past = np.full(self._max_parallelism, MIN_WATERMARK)
        for (group,), until in self._passed.data.items():
            past[group] = until
        left = last[times[last] > past[groups[last]]]
        self._add(rows.take(left), times[left], marks[left].astype(bool), hashes[left], ids[left])
        self._next_id = int(ids.max()) + 1

    def add(self, rows: ColumnBatch, times: Array, marks: Array, hashes: Hashes) -> None:
        """Add rows."""
        if rows.length:
            if (times <= self._gone_until).any():
                self._begin_anew()
            ids = np.arange(self._next_id, self._next_id + rows.length)
            self._next_id += rows.length
            self._changed.append(self._add(replace(rows, kinds=None), times, marks, hashes, ids))

    def _add(self, rows: ColumnBatch, times: Array, marks: Array, hashes: Hashes, ids: Array) -> Array:
        numbers = self._store.append(rows, times=times, marks=marks, ids=ids)
        self._index.add(hashes, times, numbers)
        self._enqueue(numbers, times)
        return numbers

    def _enqueue(self, numbers: Array, times: Array) -> None:
        self._queue.add(ColumnBatch((pa.array(numbers),), len(numbers)), times)

    def find(self, hashes: Hashes, low: Array, high: Array) -> FoundRows:
        """Return the rows with each of some hashes and a time from `low` to `high`, also those that have expired."""
        return self._index.find(hashes, low, high)

    def there(self, places: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the pairs of a place and a row number, without those of expired rows."""
        return self._store.there(places, numbers)

    def take(self, numbers: Array) -> ColumnBatch:
        """Return some rows."""
        return self._store.take(numbers)

    def mark(self, numbers: Array) -> None:
        """Note that rows have matched."""
        marks = self._store.values["marks"]
        new = np.unique(numbers[~marks[numbers]])
        if len(new):
            marks[new] = True
            self._changed.append(new)

    def first_ms(self) -> int | None:
        """Return the earliest time of the rows, or None."""
        return self._queue.next()

    def expire(self, past: int) -> ColumnBatch | None:
        """Remove the rows up to a time, and return those of them that have not matched, in the order of their times."""
        if past < self._gone_until:
            self._begin_anew()
        self._past = self._gone_until = past
        due = self._queue.take(past)
        if due is None:
            return None
        numbers = due.rows.columns[0].to_numpy()[lexical_order([due.times, due.arrivals])]
        lonely = numbers[~self._store.values["marks"][numbers]]
        found = self._store.take(lonely) if len(lonely) else None
        self._store.remove(numbers)
        if self._store.is_sparse:
            self._compact()
        return found

    def _begin_anew(self) -> None:
        """Let the log have no rows that are gone, as others with such times may come.

        In another job the watermark begins anew, and the clock may be set back.
        """
        self._log.is_outdated, self._past, self._gone_until = True, None, MIN_WATERMARK
        for group in list(self._passed.data):
            self._passed.remove(group)

    def _compact(self) -> None:
        numbers = self._store.compact()
        self._index.renumber(numbers)
        self._changed = [left[left >= 0] for left in (numbers[part] for part in self._changed)]
        self._queue = TimeQueue(self._room)
        kept = self._store.numbers()
        self._enqueue(kept, self._store.values["times"][kept])

    def flush(self) -> None:
        """Write what has changed since the last version."""
        if self._past is not None:
            for group in self._log.groups():
                self._passed.put((group,), self._past)
            self._past = None
        changed = np.unique(np.concatenate(self._changed)) if self._changed else np.zeros(0, np.int64)
        self._changed = []
        # What came and expired between two versions is in neither.
        changed = changed[self._store.is_there[changed]]
        saved = [self._saved_form(changed)] if len(changed) else []
        self._log.save(saved, self._store.left, lambda: map(self._saved_form, self._store.parts()))
        self._room.leave_memory()

    def _saved_form(self, numbers: Array) -> ColumnBatch:
        return self._store.with_values(numbers, "times", "ids", "marks")
