"""Rows that wait for the watermark, in runs sorted by time: a watermark costs what is due."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.row_index import should_merge
from firesteel.columns.kernels.saved_rows import SavedRows


@dataclass(frozen=True, slots=True)
class TimedRows:
    """Rows with their times (ms) and numbers in the order of their arrival."""

    rows: ColumnBatch
    times: Array
    arrivals: Array

    def take(self, places: Array) -> TimedRows:
        """Return some of the rows."""
        return TimedRows(self.rows.take(places), self.times[places], self.arrivals[places])

    def slice(self, start: int, stop: int) -> TimedRows:
        """Return the rows from one place to another."""
        return TimedRows(self.rows.slice(start, stop), self.times[start:stop], self.arrivals[start:stop])


def concat_timed(parts: list[TimedRows]) -> TimedRows:
    """Concatenate at least one part."""
    times, arrivals = (np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "arrivals"))
    return TimedRows(concat([part.rows for part in parts]), times, arrivals)


class WaitingRows:
    """The rows of one operator that wait for a watermark.

    State: `waiting rows` is a log of the rows with their times and the number of their version; `passed` has for each
    key group a watermark and a version, before which rows up to the watermark are gone.

    Args:
        keys: The columns by which rows are partitioned.
        context: The environment of the kernel; the state has been restored.
    """

    def __init__(self, keys: tuple[int, ...], context: KernelContext) -> None:
        self._keys, self._max_parallelism = keys, context.max_parallelism
        self._log = SavedRows(context.table("waiting rows"), keys, context.max_parallelism)
        self._passed = context.table("passed")
        self._runs: list[TimedRows] = []
        self._arrived = self._version = 0
        self._watermark: int | None = None
        self._restore()
        self._saved = self._arrived

    def _restore(self) -> None:
        for rows in self._log.rows():
            times, versions = (column.to_numpy() for column in rows.columns[-2:])
            rows = rows.with_columns(rows.columns[:-2])
            passed = self._passed.data.get((int(key_groups(rows.slice(0, 1), self._keys, self._max_parallelism)[0]),))
            is_left = np.ones(rows.length, bool) if passed is None else (times > passed[0]) | (versions >= passed[1])
            self._version = max(self._version, int(versions.max()) + 1)
            self.add(rows.filter(is_left), times[is_left])
        self._version = max([self._version, *(limit for _, limit in self._passed.data.values())])

    def add(self, rows: ColumnBatch, times: Array) -> None:
        """Add rows with their times."""
        if not rows.length:
            return
        arrivals = np.arange(self._arrived, self._arrived + rows.length)
        self._arrived += rows.length
        self._push(TimedRows(rows, times, arrivals))

    def _push(self, added: TimedRows) -> None:
        if (np.diff(added.times) < 0).any():
            added = added.take(np.argsort(added.times, kind="stable"))
        self._runs.append(added)
        if len(self._runs) > 1 and should_merge(self._runs[-2].rows, self._runs[-1].rows):
            self._push(concat_timed([self._runs.pop(-2), self._runs.pop()]))

    def take(self, until: int) -> TimedRows | None:
        """Remove and return the rows up to a time, or None if there are none."""
        self._watermark = until
        ends = [int(np.searchsorted(run.times, until, "right")) for run in self._runs]
        if not any(ends):
            return None
        parts = list(zip(self._runs, ends, strict=True))
        self._runs = [run.slice(end, len(run.times)) for run, end in parts if end < len(run.times)]
        return concat_timed([run.slice(0, end) for run, end in parts if end])

    def flush(self) -> None:
        """Write what has changed since the last version."""
        if self._watermark is not None:
            for group in self._log.groups():
                self._passed.put((group,), (self._watermark, self._version))
            self._watermark = None
        new = [run.take(np.flatnonzero(run.arrivals >= self._saved)) for run in self._runs]
        left = sum(run.rows.length for run in self._runs)
        self._log.save(self._saved_form(new), left, lambda: self._saved_form(self._runs))
        self._saved, self._version = self._arrived, self._version + 1

    def _saved_form(self, runs: list[TimedRows]) -> list[ColumnBatch]:
        waiting = [run for run in runs if run.rows.length]
        if not waiting:
            return []
        rows = concat_timed(waiting)
        rows = rows.take(np.argsort(rows.arrivals))
        versions = np.full(len(rows.times), self._version)
        return [rows.rows.with_columns([*rows.rows.columns, pa.array(rows.times), pa.array(versions)])]
