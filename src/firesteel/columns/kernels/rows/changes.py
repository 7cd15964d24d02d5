"""Changes of rows as columns."""

from __future__ import annotations

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

HIDDEN = -2
"""In place of the index of a row that is replaced, and not shown."""


def hidden(before: Array, after: Array) -> Array:
    """Return the indexes of replaced rows of `replacements` without those that are updated."""
    return np.where((before >= 0) & (after >= 0), HIDDEN, before)


def replacements(
    rows: ColumnBatch, before: Array, after: Array, kinds: tuple[int, int] = (UPDATE_BEFORE, UPDATE_AFTER)
) -> ColumnBatch:
    """Return some rows, each after the one that it replaces.

    Args:
        rows: All rows.
        before: The index of each row that is replaced, -1 if a row comes without replacing another, or `HIDDEN`.
        after: The index of the row that takes its place, or -1 if none does.
        kinds: The kinds of both. A row that replaces none is inserted, one that is not replaced is deleted.
    """
    pairs = np.stack([before, after], axis=1)
    is_there = pairs >= 0
    is_update = (pairs != -1).all(axis=1, keepdims=True)
    marks = np.where(is_update, kinds, (DELETE, INSERT)).astype(np.int8)[is_there]
    found = rows.take(pairs[is_there])
    return ColumnBatch(found.columns, found.length, marks if marks.any() else None)
