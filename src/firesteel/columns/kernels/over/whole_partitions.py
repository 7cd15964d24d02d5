"""The rows of complete partitions in order, and the frames around each of them, as places in arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.kernels.ranks.row_ranks import in_order
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.row_order import Order, int64_values, sort_keys
from firesteel.columns.kernels.rows.segments import bisect_by, bisect_right, bounds_of_segments
from firesteel.columns.row_groups import RowGroups

__all__ = ["FrameEnds", "WholePartitions", "frame_ends"]

_MS_OF_DAY = 86_400_000
_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class FrameEnds:
    """Where the frame of each row begins, and where it ends: behind its last row, and not before its begin."""

    low: Array
    high: Array


class WholePartitions:
    """The rows of partitions, one partition after the other as they came, each in order.

    Args:
        rows: The rows as they came, of which there are some.
        partition: The partition columns.
        order: The order within a partition.

    Attributes:
        rows: The rows.
        groups: The partition of each row.
        begin: Where the partition of each row begins.
        end: Where it ends.
        is_new: Whether a row differs from the one before in the columns of the order, or begins a partition.
    """

    def __init__(self, rows: ColumnBatch, partition: tuple[int, ...], order: Order) -> None:
        groups = groups_by(rows, partition)
        columns = [_without_sign_of_zero(rows.columns[index]) for index, *_ in order]
        keys = sort_keys(columns, tuple((place, *by[1:]) for place, by in enumerate(order)))
        found = in_order(keys, groups.codes)
        self.rows = rows.take(found.places)
        self.order = order
        self.groups = RowGroups.numbered(groups.codes[found.places], groups.count)
        self.begin, self.end = bounds_of_segments(found.is_first)
        self.is_new = found.is_new
        self._peers = bounds_of_segments(found.is_new)

    @property
    def first_peers(self) -> Array:
        """Where the rows begin that are equal to each row in the columns of the order."""
        return self._peers[0]

    @property
    def behind_peers(self) -> Array:
        """Where these rows end."""
        return self._peers[1]


def _without_sign_of_zero(column: pa.Array) -> pa.Array:
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def frame_ends(rows: WholePartitions, frame: FramePlan) -> FrameEnds | None:
    """Return the frames of all rows, None if arrays can't hold the distances that a RANGE frame is made of."""
    low = _edge(rows, frame, True)
    high = _edge(rows, frame, False)
    return None if low is None or high is None else FrameEnds(low, np.maximum(low, high))


def _edge(rows: WholePartitions, frame: FramePlan, is_low: bool) -> Array | None:
    offset = frame.low if is_low else frame.high
    if offset is None:
        return rows.begin if is_low else rows.end
    if frame.is_rows:
        places = np.arange(rows.rows.length) + int(offset) + (not is_low)
        return np.clip(places, rows.begin, rows.end)
    return _edge_of_peers(rows, is_low) if offset == 0 else _edge_by_value(rows, offset, is_low)


def _edge_of_peers(rows: WholePartitions, is_low: bool) -> Array:
    return rows.first_peers if is_low else rows.behind_peers


def _edge_by_value(rows: WholePartitions, offset: float, is_low: bool) -> Array | None:
    """Return the edges at a distance from the value of each row; NULL is near other NULLs only."""
    index, descending, nulls_first = rows.order[0]
    column = rows.rows.columns[index]
    values = _numbers(column, offset)
    if values is None:
        return None
    if descending:
        values = -values if values.dtype.kind == "f" else ~values
    is_null = column.is_null().to_numpy(zero_copy_only=False)
    nulls = np.cumsum(np.append(0, is_null))
    of_partition = nulls[rows.end] - nulls[rows.begin]
    begin = rows.begin + (of_partition if nulls_first else 0)
    end = rows.end - (0 if nulls_first else of_partition)
    if values.dtype.kind == "f":
        found = _edge_by_difference(values, begin, end, offset, is_low)
    else:
        sought, is_before_all = _sought(values, offset, is_low)
        found = np.where(is_before_all, begin, bisect_right(values, begin, end, sought))
    return np.where(is_null, _edge_of_peers(rows, is_low), found)


def _edge_by_difference(values: Array, low: Array, high: Array, offset: float, is_low: bool) -> Array:
    """Return the edges by differences of values, whose rounding decides in Flink which rows are at a distance."""

    def is_before(places: Array, rows: Array) -> Array:
        with np.errstate(invalid="ignore"):
            distances = (values[places] - values[rows]).astype(np.float64)
        distances[np.isnan(distances)] = 0  # of two that are infinite
        before: Array = distances < offset if is_low else distances <= offset
        return before

    return bisect_by(is_before, low, high)


def _sought(values: Array, offset: float, is_low: bool) -> tuple[Array, Array]:
    """Return the greatest value in front of each edge, and which edges are before all values, as that is too small."""
    distance = int(offset) - is_low
    is_too_small = values < _LEAST - distance if distance < 0 else np.zeros(len(values), bool)
    is_too_large = values > _GREATEST - distance if distance > 0 else np.zeros(len(values), bool)
    fits = ~(is_too_small | is_too_large)
    return np.where(fits, np.where(fits, values, 0) + distance, _GREATEST), is_too_small


def _numbers(column: pa.Array, offset: float) -> Array | None:
    """Return values as numbers whose differences are distances; any for NULL. Times are in ms."""
    kind = column.type
    if pa.types.is_floating(kind):
        values: Array = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        return None if np.isnan(values).any() else values
    if pa.types.is_timestamp(kind):
        return np.floor_divide(int64_values(column), 1000)
    if pa.types.is_date32(kind):
        return int64_values(column.view(pa.int32())) * _MS_OF_DAY
    is_whole = pa.types.is_integer(kind) and float(offset).is_integer()
    return int64_values(column) if is_whole else None
