"""The rules that choose the operator of a join: over windows, with bounds of time, or by lookups."""

from __future__ import annotations

from dataclasses import replace

from firesteel.connectors.table_connector import LookupSource
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_proctime, is_rowtime
from firesteel.table.planner.rel.join_times import time_bounds
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction
from firesteel.table.planner.rel.window_columns import same_windows


def window_join(node: Rel, is_streaming: bool) -> Rel:
    """Join the rows of the same window. Flink: `StreamPhysicalWindowJoinRule`."""
    if not isinstance(node, rel.Join) or not node.keeps_times:
        return node
    windows = same_windows(node)
    return node if windows is None else rel.WindowJoin(replace(node, keeps_times=False), *windows)


def interval_join(node: Rel, is_streaming: bool) -> Rel:
    """Join rows whose times differ by bounded amounts. Flink: `StreamPhysicalIntervalJoinRule`."""
    if not isinstance(node, rel.Join) or not node.keeps_times:
        return node
    bounds = time_bounds(node)
    if bounds is None:
        return node
    left, right = bounds.times
    join = replace(node, keeps_times=False, condition=conjunction(bounds.rest))
    is_event_time = is_rowtime(node.left.row_type.fields[left].data_type)
    return rel.IntervalJoin(join, left, right, bounds.low, bounds.high, is_event_time)


def lookup_join(node: Rel, is_streaming: bool) -> Rel:
    """Ask an external table for the rows of a join in processing time. Flink: `StreamPhysicalLookupJoinRule`."""
    if not isinstance(node, rel.TemporalJoin) or not is_proctime(
        node.join.left.row_type.fields[node.left_time].data_type
    ):
        return node
    join, scan = node.join, node.join.right
    if not isinstance(scan, rel.TableScan) or not isinstance(scan.source, LookupSource) or not join.right_keys:
        return node
    lookup = scan.source.lookup([scan.row_type.names[key] for key in join.right_keys])
    return rel.LookupJoin(
        join.left, scan.table, lookup, join.kind, join.left_keys, join.right_keys, join.condition, join.row_type
    )
