"""Rows of column batches as Python tuples, for kernels that process row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.cells import Array
from firesteel.columns.hashing import key_groups
from firesteel.columns.pylist import pylist
from firesteel.columns.row_keys import freeze, python_values

if TYPE_CHECKING:
    from collections.abc import Callable

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = map(int, Kind)
Row = tuple[Any, ...]


def rows_of(batch: ColumnBatch) -> list[Row]:
    """Return the rows as tuples of values; see `python_values`."""
    if not batch.columns:
        return [()] * batch.length
    return list(zip(*map(python_values, batch.columns), strict=True))


def keys_of(batch: ColumnBatch, columns: Sequence[int], max_parallelism: int) -> list[Row]:
    """Return the key of each row: its key group, then the values of the key columns."""
    if not columns:
        return [(0,)] * batch.length
    groups = key_groups(batch, columns, max_parallelism).tolist()
    values = (hashable_values(batch.columns[index]) for index in columns)
    return list(zip(groups, *values, strict=True))


def hashable_values(column: pa.Array) -> list[object]:
    """Return the values in a form that Python can look up; see `freeze`."""
    if pa.types.is_nested(column.type):
        return list(map(freeze, pylist(column)))
    return python_values(column)


def kinds_list(batch: ColumnBatch) -> list[int]:
    """Return the kinds of the rows."""
    return [0] * batch.length if batch.kinds is None else batch.kinds.tolist()


def are_retractions(kinds: Array) -> Array:
    """Return which kinds take a row back."""
    found: Array = (kinds == UPDATE_BEFORE) | (kinds == DELETE)
    return found


def signs_of(batch: ColumnBatch) -> Array | None:
    """Return -1 for each row that is retracted and 1 for the others; None if no row is retracted."""
    if batch.kinds is None:
        return None
    retracted = are_retractions(batch.kinds)
    return np.where(retracted, -1, 1) if retracted.any() else None


def batch_of(rows: Sequence[Row], types: Sequence[pa.DataType], kinds: Sequence[int] | None = None) -> ColumnBatch:
    """Build a column batch from rows."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in types)
    arrays = tuple(pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True))
    marks = None if kinds is None or not any(kinds) else np.array(kinds, np.int8)
    return ColumnBatch(arrays, len(rows), marks)


class RowOutput:
    """Collects rows of a changelog and emits them as one batch."""

    def __init__(self, types: Sequence[pa.DataType], emit: Callable[[ColumnBatch], object]) -> None:
        self._types = types
        self._emit = emit
        self._rows: list[Row] = []
        self._kinds: list[int] = []

    def add(self, kind: int, row: Row) -> None:
        """Add a row."""
        self._rows.append(row)
        self._kinds.append(kind)

    def extend(self, rows: Iterable[Row]) -> None:
        """Add inserted rows."""
        before = len(self._rows)
        self._rows.extend(rows)
        self._kinds.extend([INSERT] * (len(self._rows) - before))

    def flush(self) -> None:
        """Emit the collected rows."""
        if self._rows:
            rows, kinds = self._rows, self._kinds
            self._rows, self._kinds = [], []
            self._emit(batch_of(rows, self._types, kinds))


def is_retraction(kind: int) -> bool:
    """Return whether a row of this kind retracts an earlier row."""
    return kind in (UPDATE_BEFORE, DELETE)
