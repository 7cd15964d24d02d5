"""The ranks of rows that are complete: those of a bounded query, or of windows that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.row_order import sort_keys
from firesteel.columns.kernels.rows.segments import first_of_segments
from firesteel.columns.orders import lexical_order

if TYPE_CHECKING:
    from firesteel.columns.kernels.ranks.rank import RankFactory


def ranks(plan: RankFactory, rows: ColumnBatch, numbers: Array) -> tuple[Array, Array]:
    """Return the order of rows, by the number of their partition and by rank, and their ranks in this order."""
    found = in_order(sort_keys(rows.columns, plan.order), numbers)
    begin = np.maximum.accumulate(np.where(found.is_first, np.arange(len(numbers)), 0))
    return found.places, numbered(plan.function, begin, found.is_new)


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows by the number of their partition, each partition in order.

    Attributes:
        places: Where the rows were before.
        is_first: Whether a partition begins with a row.
        is_new: Whether a row differs from the one before in the order, or begins a partition.
    """

    places: Array
    is_first: Array
    is_new: Array


def in_order(keys: Sequence[Array], numbers: Array) -> OrderedRows:
    """Return rows in order, given arrays by which they are sorted (see `sort_keys`), and the partition of each."""
    places = lexical_order([numbers, *keys])
    is_first = first_of_segments(numbers[places])
    is_new = is_first.copy()
    for key in keys:
        is_new[1:] |= np.diff(key[places]) != 0
    return OrderedRows(places, is_first, is_new)


def numbered(function: str, begin: Array, is_new: Array) -> Array:
    """Return ROW_NUMBER, RANK or DENSE_RANK of ordered rows, given where the partition of each begins."""
    places = np.arange(len(begin))
    if function == "DENSE_RANK":
        found: Array = np.cumsum(is_new)
        return found - found[begin] + 1
    if function == "RANK":
        places = np.maximum.accumulate(np.where(is_new, places, 0))
    return places - begin + 1


def ranked(plan: RankFactory, rows: ColumnBatch, numbers: Array) -> ColumnBatch:
    """Return the rows with a rank from `start` to `end`, by the number of their partition."""
    order, found = ranks(plan, rows, numbers)
    chosen = np.flatnonzero((found >= plan.start) & (found <= plan.end))
    best = rows.take(order[chosen])
    added = (pa.array(found[chosen]),) if plan.outputs_rank else ()
    return ColumnBatch((*best.columns, *added), best.length)
