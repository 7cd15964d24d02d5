"""Calls over the frames of complete partitions, as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.conversions import converted
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import Fields, Fold, VectorCall, VectorEnd, VectorExtreme
from firesteel.columns.kernels.calls.vector_values import VectorValue
from firesteel.columns.kernels.calls.vectorized import group_calls
from firesteel.columns.kernels.over.over_calls import NAVIGATION, RANKINGS, OverPlan, are_counted_apart, new_states
from firesteel.columns.kernels.over.over_columns import folded
from firesteel.columns.kernels.over.over_extremes import over_extreme
from firesteel.columns.kernels.over.whole_partitions import FrameEnds, WholePartitions
from firesteel.columns.kernels.ranks.row_ranks import numbered
from firesteel.columns.kernels.rows.row_order import int64_values, sort_keys
from firesteel.columns.row_groups import Timeline
from firesteel.columns.values import arrow_type

__all__ = ["WholeCalls", "are_on_arrays"]


def are_on_arrays(plan: OverPlan) -> bool:
    """Return whether all calls of a window can be computed on arrays."""
    return all(call.function in RANKINGS | NAVIGATION or _aggregate(plan, call) is not None for call in plan.calls)


def _aggregate(plan: OverPlan, call: CallPlan) -> VectorCall | None:
    found = group_calls([call], plan.types)
    if found is None or not (found[0].functions or isinstance(found[0], VectorEnd)):
        return None
    aggregate = found[0]
    return over_extreme(aggregate, plan.frame.low is not None) if isinstance(aggregate, VectorExtreme) else aggregate


class WholeCalls:
    """The calls of a window over complete partitions.

    Args:
        plan: The window, see `are_on_arrays`.
        context: Where the states of groups without rows come from.
    """

    def __init__(self, plan: OverPlan, context: KernelContext) -> None:
        self._plan = plan
        self._aggregates = {place: found for place, call in enumerate(plan.calls) if (found := _aggregate(plan, call))}
        plans = tuple(plan.calls[place] for place in self._aggregates)
        states = new_states(AggregateSet(plans, plan.types, False, context))
        self._empty = dict(zip(self._aggregates, states, strict=True))

    def columns(self, rows: WholePartitions, frames: FrameEnds) -> list[pa.Array] | None:
        """Return the results of each call, None if some arguments have to be looked at row by row."""
        found = [self._column(place, rows, frames) for place in range(len(self._plan.calls))]
        columns = [column for column in found if column is not None]
        return columns if len(columns) == len(found) else None

    def _column(self, place: int, rows: WholePartitions, frames: FrameEnds) -> pa.Array | None:
        call = self._plan.calls[place]
        kind = arrow_type(call.type)
        if call.function in RANKINGS:
            ranks = _ranking(call, rows, are_counted_apart(self._plan, place))
            return None if ranks is None else pa.array(ranks).cast(kind)
        if call.function in NAVIGATION:
            return _navigation(call, self._leader(place), rows)
        aggregate = self._aggregates[place]
        if isinstance(aggregate, VectorValue | VectorEnd):
            return _value_of_frames(aggregate, rows.rows, frames).cast(kind)
        return self._folded(aggregate, aggregate.load([self._empty[place]]), rows, frames).cast(kind)

    def _leader(self, place: int) -> CallPlan:
        """Return the call whose offset counts.

        If the window also has other functions, Flink splits it, and all LAG and LEAD calls then share the
        `OffsetOverFrame` of the first one.
        """
        calls = self._plan.calls
        if all(call.function in NAVIGATION for call in calls):
            return calls[place]
        return next(call for call in calls if call.function in NAVIGATION)

    def _folded(self, call: VectorCall, empty: Fields, rows: WholePartitions, frames: FrameEnds) -> pa.Array:
        parts = zip(call.folds, empty, call.contributions(rows.rows), strict=True)
        with np.errstate(over="ignore", invalid="ignore"):  # inf - inf is NaN
            found = [self._part(fold, start, values, rows, frames) for fold, start, values in parts]
        return call.column(*call.results(found))

    def _part(self, fold: Fold, start: Array, values: Array, rows: WholePartitions, frames: FrameEnds) -> Array:
        if self._plan.frame.low is not None or not isinstance(fold, np.ufunc):
            return folded(fold, start, values, frames.low, frames.high)
        # Added one after the other, as in Flink: sums of floats depend on it.
        timeline = Timeline(rows.groups)
        running = timeline.accumulate(fold, np.repeat(start, rows.groups.count), values)[timeline.after]
        result: Array = np.where(frames.high > frames.low, running[frames.high - 1], start[0])
        return result


def _ranking(call: CallPlan, rows: WholePartitions, apart: bool) -> Array | None:
    def ranks(function: str) -> Array:
        return numbered(function, rows.begin, rows.is_new)

    totals: Array = rows.end - rows.begin
    found: Array
    match call.function:
        case "PERCENT_RANK":
            found = (ranks("RANK") - 1) / np.maximum(totals - 1, 1)
        case "CUME_DIST":
            found = (ranks("ROW_NUMBER") if apart else _after_peers(rows) - rows.begin) / totals
        case "NTILE":
            return _tiles(rows.rows.columns[call.arguments[0]], rows.begin, ranks("ROW_NUMBER") - 1, totals)
        case _:
            found = ranks(str(call.function))
    return found


def _after_peers(rows: WholePartitions) -> Array:
    """Return for each row the place behind the last row equal to it in the ORDER BY columns."""
    after: Array = np.append(np.flatnonzero(rows.is_new)[1:], len(rows.is_new))
    found: Array = after[np.cumsum(rows.is_new) - 1]
    return found


def _tiles(column: pa.Array, begin: Array, places: Array, totals: Array) -> Array | None:
    """Return NTILE, given the number of tiles in the first row of each partition; None if it is none."""
    tiles = int64_values(column)[begin]
    if (tiles < 1).any():
        return None
    size, larger = np.divmod(totals, tiles)
    in_larger = larger * (size + 1)
    behind = larger + (places - in_larger) // np.maximum(size, 1)
    found: Array = 1 + np.where(places < in_larger, places // (size + 1), behind)
    return found


def _navigation(call: CallPlan, leader: CallPlan, rows: WholePartitions) -> pa.Array | None:
    """Return the values of preceding or following rows."""
    kind, columns = arrow_type(call.type), rows.rows.columns
    places = np.arange(rows.rows.length)
    offsets = np.ones(len(places), np.int64)
    if len(leader.arguments) > 1:
        column = columns[leader.arguments[1]]
        if column.null_count:
            return None
        offsets = int64_values(column)
    sources = places - offsets if leader.function == "LAG" else places + offsets
    is_there = (sources >= rows.begin) & (sources < rows.end)
    values = converted(columns[call.arguments[0]], kind)
    if len(call.arguments) < 3:
        return values.take(pa.array(sources, mask=~is_there))
    defaults = converted(columns[call.arguments[2]], kind)
    return pa.concat_arrays([values, defaults]).take(pa.array(np.where(is_there, sources, len(places) + places)))


def _value_of_frames(call: VectorValue | VectorEnd, rows: ColumnBatch, frames: FrameEnds) -> pa.Array:
    """Return MIN, MAX, FIRST_VALUE or LAST_VALUE of values of any type: one of those of the frame, or NULL."""
    column, counts = rows.columns[call.plan.arguments[0]], call.counted(rows)
    places, name = np.arange(rows.length), str(call.plan.function).upper()
    if name == "FIRST_VALUE":
        following = np.minimum.accumulate(np.where(counts, places, rows.length)[::-1])[::-1]
        sources = np.append(following, rows.length)[frames.low]
    elif name == "LAST_VALUE":
        preceding = np.maximum.accumulate(np.where(counts, places, -1))
        sources = np.append(preceding, -1)[frames.high - 1]
    else:
        sources = _extremes(column, counts, name == "MIN", frames)
    is_there = (sources >= frames.low) & (sources < frames.high)
    return column.take(pa.array(sources, mask=~is_there))


def _extremes(column: pa.Array, counts: Array, is_min: bool, frames: FrameEnds) -> Array:
    """Return the place of the least or greatest value of each frame, -1 if there is none."""
    *_, keys = sort_keys([column], ((0, not is_min, False),))
    _, ranks = np.unique(keys, return_inverse=True)
    # The place in the lower digits: of equal values the first one is found.
    numbers = np.where(counts, ranks * len(ranks) + np.arange(len(ranks)), 2**63 - 1)
    least = folded(np.minimum, np.array([2**63 - 1]), numbers, frames.low, frames.high)
    return np.where(least == 2**63 - 1, -1, least % len(ranks))
