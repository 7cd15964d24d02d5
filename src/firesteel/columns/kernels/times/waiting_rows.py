"""Rows that wait for the watermark, as keyed state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import MIN_WATERMARK, KernelContext
from firesteel.columns.kernels.rows.saved_rows import SavedRows
from firesteel.columns.kernels.times.time_queue import TimedRows, TimeQueue, concat_timed
from firesteel.columns.runs.room import room_of


class WaitingRows:
    """The rows of one operator that wait for a watermark.

    State: a log of the rows with their times and the number of their version, and for each key group a watermark and a
    version, before which rows up to the watermark are gone.

    Args:
        keys: The columns by which rows are partitioned.
        context: The environment of the kernel; the state has been restored.
        tables: The names of the log and of the table of watermarks.
    """

    def __init__(
        self, keys: tuple[int, ...], context: KernelContext, tables: tuple[str, str] = ("waiting rows", "passed")
    ) -> None:
        self._keys, self._max_parallelism = keys, context.max_parallelism
        self._log = SavedRows(context.table(tables[0]), keys, context.max_parallelism)
        self._passed = context.table(tables[1])
        self._room = room_of(context)
        self._queue = TimeQueue(self._room)
        self._version = 0
        self._watermark: int | None = None
        # Up to where rows were taken whose removal the log does not tell by itself.
        self._taken = max((until for until, _ in self._passed.data.values()), default=MIN_WATERMARK)
        self._restore()
        self._saved = self._queue.arrived

    def _restore(self) -> None:
        for rows in self._log.rows():
            times, versions = (column.to_numpy() for column in rows.columns[-2:])
            rows = rows.with_columns(rows.columns[:-2])
            passed = self._passed.data.get((int(key_groups(rows.slice(0, 1), self._keys, self._max_parallelism)[0]),))
            is_left = np.ones(rows.length, bool) if passed is None else (times > passed[0]) | (versions >= passed[1])
            self._version = max(self._version, int(versions.max()) + 1)
            self.add(rows.filter(is_left), times[is_left])
        # Key groups come from subtasks that had numbers of their own.
        self._version = max([self._version, *(limit for _, limit in self._passed.data.values())])

    def add(self, rows: ColumnBatch, times: Array) -> None:
        """Add rows with their times."""
        self._queue.add(rows, times)

    def add_later(self, rows: ColumnBatch, times: Array, watermark: int) -> int:
        """Add the rows after the watermark, and return the number of the others, which are late."""
        in_time = times > watermark
        self.add(rows.filter(in_time), times[in_time])
        return rows.length - int(in_time.sum())

    @property
    def count(self) -> int:
        """Return the number of rows that wait."""
        return sum(run.rows.length for run in self._queue.runs)

    def keep(self, chosen: Callable[[TimedRows], Array]) -> None:
        """Forget all rows but those at chosen places, given all in the order of their arrival."""
        if self._queue.runs:
            rows = concat_timed(self._queue.runs)
            rows = rows.take(np.argsort(rows.arrivals))
            self._queue.runs = []
            self._queue.push(rows.take(chosen(rows)))
            self._log.is_outdated = True

    def runs(self) -> list[TimedRows]:
        """Return the rows that wait."""
        return self._queue.runs

    def take(self, until: int) -> TimedRows | None:
        """Remove and return the rows up to a time, or None if there are none."""
        # In another job the watermark begins anew, and may be behind rows that are gone: the log must not have them.
        self._log.is_outdated |= until < self._taken
        self._taken = self._watermark = until
        return self._queue.take(until)

    def flush(self) -> None:
        """Write what has changed since the last version."""
        if self._watermark is not None:
            # Before the rows of this version are added: they have its number, and count even if they are that early.
            for group in self._log.groups():
                self._passed.put((group,), (self._watermark, self._version))
            self._watermark = None
        runs = self._queue.runs
        new = [run.take(np.flatnonzero(run.arrivals >= self._saved)) for run in runs]
        left = sum(run.rows.length for run in runs)
        self._log.save(self._saved_form(new), left, lambda: self._saved_form(runs))
        self._room.leave_memory()
        self._saved, self._version = self._queue.arrived, self._version + 1

    def _saved_form(self, runs: list[TimedRows]) -> list[ColumnBatch]:
        waiting = [run for run in runs if run.rows.length]
        if not waiting:
            return []
        rows = concat_timed(waiting)
        rows = rows.take(np.argsort(rows.arrivals))
        versions = np.full(len(rows.times), self._version)
        return [rows.rows.with_columns([*rows.rows.columns, pa.array(rows.times), pa.array(versions)])]
