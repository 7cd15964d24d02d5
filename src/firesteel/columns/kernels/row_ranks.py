"""The ranks of rows that are complete: those of a bounded query, or of windows that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernels.key_numbers import comparable
from firesteel.columns.kernels.row_groups import RowGroups
from firesteel.columns.kernels.row_order import sort_keys
from firesteel.columns.kernels.segments import first_of_segments

if TYPE_CHECKING:
    from firesteel.columns.kernels.rank import RankFactory


def ranks(plan: RankFactory, rows: ColumnBatch, numbers: Array) -> tuple[Array, Array]:
    """Return the order of rows, by the number of their partition and by rank, and their ranks in this order."""
    keys = sort_keys(rows.columns, plan.order)
    order = np.lexsort((*reversed(keys), numbers))
    is_first = first_of_segments(numbers[order])
    places = np.arange(len(order))
    segments = np.maximum.accumulate(np.where(is_first, places, 0))
    is_new = is_first.copy()
    for key in keys:
        is_new[1:] |= np.diff(key[order]) != 0
    if plan.function == "DENSE_RANK":
        found = np.cumsum(is_new)
        return order, found - found[segments] + 1
    if plan.function == "RANK":
        places = np.maximum.accumulate(np.where(is_new, places, 0))
    return order, places - segments + 1


def partitions_of(plan: RankFactory, rows: ColumnBatch) -> Array:
    """Return the number of the partition of each row; partitions are numbered as they come."""
    return RowGroups([comparable(rows.columns[key]) for key in plan.partition], rows.length).codes


def ranked(plan: RankFactory, rows: ColumnBatch, numbers: Array) -> ColumnBatch:
    """Return the rows with a rank from `start` to `end`, by the number of their partition."""
    order, found = ranks(plan, rows, numbers)
    chosen = np.flatnonzero((found >= plan.start) & (found <= plan.end))
    best = rows.take(order[chosen])
    added = (pa.array(found[chosen]),) if plan.outputs_rank else ()
    return ColumnBatch((*best.columns, *added), best.length)
