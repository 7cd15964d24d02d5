"""The windows of nodes as kernels need them: on which clock they lie, and by which time they end."""

from __future__ import annotations

from firesteel.columns.column_types import DataType, LocalZonedTimestampType
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock, WindowSource
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_proctime
from firesteel.table.planner.rel.window_columns import window_time


def window_plan(window: rel.Window, source: rel.Rel, zone: str) -> WindowPlan:
    """Return the plan of windows over the rows of a node.

    Args:
        window: The windows.
        source: The node whose column is their time.
        zone: The zone of the session.
    """
    return WindowPlan(
        window.kind,
        window.time,
        window.size,
        window.step,
        window.offset,
        window.is_rowtime,
        window.rows,
        window.partition,
        _clock(source.row_type.fields[window.time].data_type, zone),
    )


def window_source(node: rel.Rel, zone: str) -> WindowSource:
    """Return what the window columns of a node's first input are."""
    time = window_time(node.inputs[0])
    return WindowSource(_clock(time, zone), not is_proctime(time))


def _clock(time: DataType, zone: str) -> WindowClock:
    """Return the clock of windows over a column of a type; TIMESTAMP is a local time already."""
    return WindowClock(zone) if isinstance(time, LocalZonedTimestampType) else UTC_CLOCK
