"""Temporal joins by whole batches. Flink: `TemporalRowTimeJoinOperator`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import row_hashes
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, PlannedKernel, StateTable
from firesteel.columns.kernels.joins.column_joins import PairMatcher
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.timed_index import TimedIndex
from firesteel.columns.kernels.rows.live_rows import are_equal
from firesteel.columns.kernels.rows.row_store import LEAST, RowStore
from firesteel.columns.kernels.rows.saved_rows import SavedRows
from firesteel.columns.kernels.times.idle_keys import IdleKeys
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.orders import lexical_order, stable_order
from firesteel.columns.rows import DELETE, UPDATE_BEFORE, batch_of
from firesteel.columns.runs.room import room_of
from firesteel.columns.state_layout import Layout

_WAITING, _VERSIONS, _USED = "waiting rows", "version rows", "used keys"


@dataclass(frozen=True)
class TemporalJoinFactory:
    """Plan that joins each left row with the version of the right side that was valid at its time.

    Attributes:
        right_time: Index of the right rowtime column.
    """

    join: JoinPlan
    left_time: int
    right_time: int

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return self.join.state_layout("temporal join")

    def make(self) -> Kernel:
        """Return the kernel."""
        return TemporalJoin(self)


class _Versions:
    """The versions of each key, by time; of versions of one time the later one counts.

    State: a log of versions with their time, and whether the key has no row from then on.

    Args:
        keys: The key columns.
        context: The environment of the kernel; the state has been restored.
    """

    def __init__(self, keys: tuple[int, ...], context: KernelContext) -> None:
        self._keys = keys
        self._log = SavedRows(context.table(_VERSIONS), keys, context.max_parallelism)
        self._room = room_of(context)
        self._store, self._index = RowStore(self._room, times=np.int64, ends=bool), TimedIndex(self._room)
        self._kept = 0
        self._unsaved: list[Array] = []
        for rows in self._log.rows():
            times, ends = (column.to_numpy(zero_copy_only=False) for column in rows.columns[-2:])
            self.add(rows.with_columns(rows.columns[:-2]), times, ends)
        self._unsaved.clear()

    def add(self, rows: ColumnBatch, times: Array, ends: Array) -> None:
        """Add versions with their times; one that ends its key is no row."""
        if rows.length:
            numbers = self._store.append(replace(rows, kinds=None), times=times, ends=ends)
            self._index.add(row_hashes(rows, self._keys), times, numbers)
            self._unsaved.append(numbers)

    def at(self, keys: ColumnBatch, times: Array) -> Array:
        """Return the number of the version of each key at a time, or -1."""
        hashes = row_hashes(keys, range(len(keys.columns)))
        found = self._index.latest(
            hashes, times, lambda places, numbers: self._store.is_there[numbers] & self._are_of(keys, places, numbers)
        )
        is_end = (found >= 0) & self._store.values["ends"][found] if self._store.length else found >= 0
        return np.where(is_end, -1, found)

    def _are_of(self, keys: ColumnBatch, places: Array, numbers: Array) -> Array:
        return are_equal(keys.take(places), self._store.take(numbers, self._keys))

    def all_keys(self) -> Iterator[ColumnBatch]:
        """Yield the key of each version, in parts."""
        return (self._store.take(numbers, self._keys) for numbers in self._store.parts())

    def forget_keys(self, keys: ColumnBatch) -> None:
        """Remove all versions of some keys, which differ."""
        if not keys.length or not self._store.length:
            return
        hashes = row_hashes(keys, range(len(keys.columns)))
        every = np.iinfo(np.int64)
        low, high = (np.full(keys.length, bound) for bound in (every.min + 1, every.max))
        places, numbers = self._store.there(*self._index.find(hashes, low, high).all())
        self._store.remove(numbers[self._are_of(keys, places, numbers)])
        self._log.is_outdated = True  # It has these versions, and would bring them back.

    def take(self, numbers: Array) -> ColumnBatch:
        """Return some versions."""
        return self._store.take(numbers)

    def forget(self, watermark: int) -> None:
        """Remove the versions that ended before the watermark; the latest one of a key stays valid."""
        # At twice what was left the last time: a look at all versions is paid for by those that have come since.
        if self._store.length <= 2 * self._kept + LEAST and not self._store.is_sparse:
            return
        rows = self._index.all()
        hashes, times, numbers = (part[self._store.is_there[rows[-1]]] for part in rows)
        # Versions of two keys of one hash lie between each other; some then stay a while longer, which changes nothing.
        followed = np.flatnonzero((hashes[1:] == hashes[:-1]) & (times[1:] <= watermark))
        pairs = [self._store.take(numbers[places], self._keys) for places in (followed, followed + 1)]
        self._store.remove(numbers[followed[are_equal(*pairs)]])
        changed = self._store.compact()
        self._index.renumber(changed)
        self._unsaved = [left[left >= 0] for left in (changed[part] for part in self._unsaved)]
        self._kept = self._store.left

    def flush(self) -> None:
        """Write what has changed since the last version."""
        left = (part[self._store.is_there[part]] for part in self._unsaved)
        unsaved = [self._saved_form(part) for part in left if len(part)]
        self._log.save(unsaved, self._store.left, lambda: map(self._saved_form, self._store.parts()))
        self._unsaved = []
        self._room.leave_memory()

    def _saved_form(self, numbers: Array) -> ColumnBatch:
        return self._store.with_values(numbers, "times", "ends")


class TemporalJoin(PlannedKernel[TemporalJoinFactory]):
    """Buffers left rows until the watermark, then joins them in the order of their times.

    State: the left rows that wait, and the versions of the right side; with a time to live also when each key was used.
    Rows that wait do so however long the watermark takes, while Flink drops them with the versions of an idle key.
    """

    def open(self, context: KernelContext) -> None:
        """Compile the condition and open the state."""
        super().open(context)
        self._matcher = PairMatcher(self._plan.join, context)
        left, right = self._plan.join.keys
        self._waiting = WaitingRows(left, context, (_WAITING, "passed"))
        self._versions = _Versions(right, context)
        self._idle = IdleKeys(context, _USED, len(right)) if context.is_streaming and context.state_ttl_ms else None
        if self._idle is not None:
            for keys in self._versions.all_keys():
                self._idle.age(keys)
        for index, name in enumerate(("left", "right")):
            self._take_former(index, context.table(name))

    def _take_former(self, index: int, table: StateTable) -> None:
        """Take over rows in the form of former releases: `(time, arrival, kind, row)` by key."""
        found = sorted((entry for entries in table.data.values() for entry in entries), key=lambda entry: entry[1])
        if found:
            kinds = np.array([kind for _, _, kind, _ in found], np.int8)
            rows = batch_of([row for *_, row in found], self._matcher.types[index])
            self._add(index, replace(rows, kinds=kinds), np.array([time for time, *_ in found]))
        for key in list(table.data):
            table.remove(key)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def flush(self) -> None:
        """Write what has changed, and forget idle keys from time to time."""
        if self._idle is not None:
            expired = self._idle.expired()
            if expired is not None:
                self._versions.forget_keys(expired)
            self._idle.flush()
        self._waiting.flush()
        self._versions.flush()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store rows until the watermark, and versions."""
        self._add(index, batch, millis_of(batch.columns[self._plan.right_time if index else self._plan.left_time]))

    def _use(self, keys: ColumnBatch) -> None:
        """Note that keys are used; those that were idle for the time to live begin anew."""
        if self._idle is not None and keys.length:
            self._versions.forget_keys(self._idle.use(keys))

    def _add(self, index: int, rows: ColumnBatch, times: Array) -> None:
        self._use(rows.select(self._plan.join.keys[index]))
        if index == 0:
            self._waiting.add(rows, times)
            return
        kinds = rows.kinds_or_inserts()
        stays = kinds != UPDATE_BEFORE  # the +U that follows replaces the version
        self._versions.add(rows.filter(stays), times[stays], kinds[stays] == DELETE)

    def watermark(self, timestamp: int) -> int:
        """Join the left rows up to the watermark."""
        due = self._waiting.take(timestamp)
        if due is not None:
            due = due.take(lexical_order([due.times, due.arrivals]))
            self._join(due.rows, due.times)
        self._versions.forget(timestamp)
        return timestamp

    def _join(self, rows: ColumnBatch, times: Array) -> None:
        keys = rows.select(self._plan.join.keys[0])
        self._use(keys)
        numbers = np.where(self._matcher.has_null_key(0, rows), -1, self._versions.at(keys, times))
        found = np.flatnonzero(numbers >= 0)
        parts, orders = [], []
        if len(found):
            versions = self._versions.take(numbers[found])
            fits = np.flatnonzero(self._matcher.fits(0, rows, found, versions))
            found = found[fits]
            parts.append(self._matcher.paired(0, rows.take(found), versions.take(fits)))
            orders.append(found)
        if self._plan.join.kind == "LEFT":
            is_alone = np.ones(rows.length, bool)
            is_alone[found] = False
            orders.append(np.flatnonzero(is_alone))
            parts.append(self._matcher.padded(0, rows.take(orders[-1])))
        order = stable_order(np.concatenate(orders)) if orders else ()
        if len(order):
            self.context.emit(concat(parts).take(order))

    def end(self) -> None:
        """Join the remaining rows."""
        self.watermark(MAX_WATERMARK)
