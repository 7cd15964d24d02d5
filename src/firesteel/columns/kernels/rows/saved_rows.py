"""Rows as keyed state: a log to which rows are added, and that is written anew when most of its rows are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import KernelContext, StateTable
from firesteel.columns.kernels.rows.row_log import RowLog
from firesteel.columns.orders import lexical_order
from firesteel.common.table_errors import TableException

LEAST = 10_000
"""Number of rows up to which a log is not written anew."""


class SavedRows:
    """The log of rows in a state table.

    Args:
        table: The table; its state has been restored.
        keys: The key columns of the rows.
        max_parallelism: The number of key groups.

    Attributes:
        is_outdated: Whether the log has to be written anew.
    """

    def __init__(self, table: StateTable, keys: Sequence[int], max_parallelism: int) -> None:
        self._log = RowLog(table)
        self._keys = keys
        self._max_parallelism = max_parallelism
        self._length = self._log.length()
        self.is_outdated = False

    def rows(self) -> Iterator[ColumnBatch]:
        """Yield all rows, in parts; those of a key in the order in which they were added."""
        return self._log.rows()

    def groups(self) -> set[int]:
        """Return the key groups that have rows."""
        return self._log.groups()

    def add(self, rows: ColumnBatch) -> None:
        """Add rows."""
        if rows.length:
            self._log.append(rows, key_groups(rows, self._keys, self._max_parallelism))
            self._length += rows.length

    def clear(self) -> None:
        """Remove all rows."""
        self._log.remove()
        self._length = 0

    def save(self, added: Iterable[ColumnBatch], left: int, all_rows: Callable[[], Iterable[ColumnBatch]]) -> bool:
        """Add rows, or write the log anew; return whether it was written anew.

        Args:
            added: The rows since the last call.
            left: The number of rows that are not gone.
            all_rows: Returns these.
        """
        is_new = self.is_outdated or self._length > 2 * left + LEAST
        if is_new:
            self.clear()
            self.is_outdated = False
        for rows in all_rows() if is_new else _together(added):
            self.add(rows)
        return is_new


def _together(parts: Iterable[ColumnBatch]) -> list[ColumnBatch]:
    """Return parts as one, of which each key group gets one segment."""
    rows = [part for part in parts if part.length]
    return [concat(rows)] if rows else []


def latest(ids: Array, groups: Array) -> Array:
    """Return the places of the last entry of each id in a key group, in the order of the log."""
    order = lexical_order([groups, ids])
    is_last = np.append((np.diff(groups[order]) != 0) | (np.diff(ids[order]) != 0), True)
    found: Array = np.sort(order[is_last[: len(order)]])
    return found


def refuse_former(context: KernelContext, *names: str) -> None:
    """Refuse restored state in tables that earlier releases had.

    Raises:
        TableException: A table has entries.
    """
    for name in names:
        if context.table(name).data:
            raise TableException(
                f"the state {name!r} of a query was written by an earlier release in a form that is no longer read: "
                "start the query without it"
            )
