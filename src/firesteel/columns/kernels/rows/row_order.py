"""The order of rows by their columns, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.cells import Array
from firesteel.columns.decimal_words import int64_of
from firesteel.columns.orders import lexical_order
from firesteel.columns.row_keys import float_bits, integers_of, python_values
from firesteel.columns.rows import Row

if TYPE_CHECKING:
    from _typeshed import SupportsAllComparisons

Order = tuple[tuple[int, bool, bool], ...]
"""For each sort column: its index, whether it is descending, and whether NULLs come first."""


def sorted_places(columns: Sequence[pa.Array], order: Order, arrivals: Array | None = None) -> Array:
    """Return the places of rows in an order with at least one column; peers in that of their arrival."""
    keys = sort_keys(columns, order)
    if arrivals is not None:
        keys.append(arrivals)
    places: Array = lexical_order(keys)
    return places


def sort_keys(columns: Sequence[pa.Array], order: Order) -> list[Array]:
    """Return arrays by which rows are sorted, the most significant one first; rows are peers if all are equal."""
    keys = []
    for index, descending, nulls_first in order:
        column = columns[index]
        values = _sortable(column)
        # Not `-values`: the least integer has no negative.
        values = ~values if descending else values
        if column.null_count:
            is_null = column.is_null().to_numpy(zero_copy_only=False)
            keys.append(is_null != nulls_first)
            values = np.where(is_null, 0, values)
        keys.append(values)
    return keys


def _sortable(column: pa.Array) -> Array:
    """Return integers in the order of the values; any for NULL."""
    kind = column.type
    if pa.types.is_floating(kind):
        bits = float_bits(column)
        # Of negative numbers the bits after the sign descend, so they are flipped.
        return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    if pa.types.is_boolean(kind):
        return int64_values(column)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return int64_values(integers_of(column))
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return _python_ranks(column)
    if pa.types.is_decimal128(kind):
        unscaled = int64_of(column)
        if isinstance(unscaled, np.ndarray):
            return unscaled
    # Arrow compares strings by their bytes, as Flink does. Ranks hold among these rows only, so they are not kept.
    ranks: Array = pc.rank(column, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    return ranks


def int64_values(column: pa.Array) -> Array:
    """Return values as integers of 64 bits, 0 for NULL."""
    values: Array = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return values


def _python_ranks(column: pa.Array) -> Array:
    values, ranks = python_values(column), np.zeros(len(column), np.int64)
    order = sorted((place for place, value in enumerate(values) if value is not None), key=values.__getitem__)
    for before, place in pairwise(order):
        ranks[place] = ranks[before] + (values[before] != values[place])
    return ranks


def row_key(order: Order) -> Callable[[Row], SupportsAllComparisons]:
    """Return the sort key function of rows of Python values."""
    return cmp_to_key(partial(_compare, order))


def _compare(order: Order, a: Row, b: Row) -> int:
    for index, descending, nulls_first in order:
        x, y = a[index], b[index]
        if x == y:
            continue
        if x is None or y is None:
            return -1 if (x is None) == nulls_first else 1
        return (-1 if x < y else 1) * (-1 if descending else 1)
    return 0
