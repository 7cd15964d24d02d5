"""Keys that no row has used for the time to live, of operators that forget all of a key at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers, grown
from firesteel.columns.kernels.rows.saved_rows import SavedRows
from firesteel.columns.runs.room import room_of


class IdleKeys:
    """The keys of one operator, and when each was used last. Flink: `BaseTwoInputStreamOperatorWithStateRetention`.

    State: a log of keys with the times (ms) at which they were used.

    Args:
        context: The environment of the kernel, with a time to live; the state has been restored.
        name: The name of the log.
        width: The number of key columns.
    """

    def __init__(self, context: KernelContext, name: str, width: int) -> None:
        self._columns = tuple(range(width))
        self._ttl_ms, self._now_ms = context.state_ttl_ms, context.now_ms
        self._log = SavedRows(context.table(name), self._columns, context.max_parallelism)
        self._numbers = KeyNumbers(room_of(context).spill)
        self._used = np.zeros(0, np.int64)
        self._unsaved: list[ColumnBatch] = []
        self._cleaning = CleaningTime(self._ttl_ms, self._now_ms)
        for rows in self._log.rows():
            numbers = self._find(rows.with_columns(rows.columns[:-1]))
            np.maximum.at(self._used, numbers, rows.columns[-1].to_numpy())

    def use(self, keys: ColumnBatch) -> ColumnBatch:
        """Note that keys are used now, and return those that had been idle for the time to live."""
        numbers, firsts = np.unique(self._find(keys), return_index=True)
        before, now_ms = self._used[numbers], self._now_ms()
        self._used[numbers] = now_ms
        distinct = keys.take(firsts)
        self._unsaved.append(_with_times(distinct, np.full(len(numbers), now_ms)))
        return distinct.filter((before > 0) & (before + self._ttl_ms <= now_ms))

    def age(self, keys: ColumnBatch) -> None:
        """Let keys age from now on that are not known, as their state was written without a time to live."""
        unknown = keys.filter(self._numbers.known(keys, self._columns) < 0)
        if unknown.length:
            self.use(unknown)

    def expired(self) -> ColumnBatch | None:
        """Forget and return the keys that are idle by now; None if there are none, or it is not yet time to look."""
        if not self._cleaning.is_due():
            return None
        self._cleaning.done()
        is_idle = self._used[: len(self._numbers)] + self._ttl_ms <= self._now_ms()
        if not is_idle.any():
            return None
        found = [keys.filter(is_idle[numbers]) for keys, numbers in self._parts()]
        left = np.flatnonzero(~is_idle)
        self._numbers.keep(left)
        self._used = self._used[left]
        return concat(found)

    def flush(self) -> None:
        """Write what has changed since the last version."""
        self._log.save(
            self._unsaved,
            len(self._numbers),
            lambda: (_with_times(keys, self._used[numbers]) for keys, numbers in self._parts()),
        )
        self._unsaved = []

    def _parts(self) -> Iterator[tuple[ColumnBatch, Array]]:
        for columns, numbers in self._numbers.parts():
            if len(numbers):
                yield ColumnBatch(tuple(columns), len(numbers)), numbers

    def _find(self, keys: ColumnBatch) -> Array:
        numbers = self._numbers.find(keys, self._columns)
        self._used = grown(self._used, len(self._numbers))
        return numbers


def _with_times(keys: ColumnBatch, times: Array) -> ColumnBatch:
    return keys.with_columns([*keys.columns, pa.array(times)])
