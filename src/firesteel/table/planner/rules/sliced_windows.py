"""Aggregates over window table functions that need no row of a window by itself.

Flink: `PullUpWindowTableFunctionIntoWindowAggregateRule` and `TwoStageOptimizedWindowAggregateRule`.
"""

from __future__ import annotations

from collections.abc import Callable

from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.sliced_windows import SlicedWindowPlan
from firesteel.columns.rex import InputRef, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import input_refs, is_deterministic

_WINDOW_COLUMNS = ("start", "end", "time")


def sliced_windows(
    node: rel.WindowAggregate, calls: tuple[CallPlan, ...], window: Callable[[rel.Window, rel.Rel], WindowPlan]
) -> tuple[Rel, tuple[Rex, ...], SlicedWindowPlan] | None:
    """Return how to aggregate the input of a window table function by slices, or by sessions.

    Args:
        node: The aggregate.
        calls: Its calls.
        window: Converts the window of the table function, and its input, to its plan.

    Returns:
        The input of the table function, the expressions over it, and the plan of the aggregate over these; None if the
        aggregate needs the rows of each window.
    """
    project = node.input
    if node.window is not None or node.properties or not isinstance(project, rel.Project):
        return None
    table = project.input
    if not isinstance(table, rel.WindowTableFunction):
        return None
    # A projection below slices is computed once per row, and not once per window that the row belongs to.
    if not table.window.is_rowtime or not all(map(is_deterministic, project.expressions)):
        return None
    width = len(table.input.row_type)
    columns = {
        place: _WINDOW_COLUMNS[rex.index - width]
        for place, rex in enumerate(project.expressions)
        if isinstance(rex, InputRef) and rex.index >= width
    }
    if not {"start", "end"} <= {columns.get(key) for key in node.keys}:
        return None
    keys = tuple(key for key in node.keys if key not in columns)
    is_session = table.window.kind == "SESSION"
    # By the keys alone, a session could end where rows of the same partition with other keys go on.
    if is_session and set(table.window.partition) != {_column(project.expressions[key]) for key in keys}:
        return None
    used = {
        *keys,
        *(i for call in calls for i in (*call.arguments, *(() if call.condition is None else (call.condition,)))),
    }
    if any(i in columns or max(input_refs(project.expressions[i]), default=0) >= width for i in used):
        return None
    time = InputRef(table.window.time, table.input.row_type.fields[table.window.time].data_type)
    expressions = tuple(time if i in columns else rex for i, rex in enumerate(project.expressions))
    plan = SlicedWindowPlan(
        _over(window(table.window, table.input), len(expressions)),
        keys,
        calls,
        (*(rex.type for rex in expressions), time.type),
        tuple((columns.get(key, key), kind) for key, kind in zip(node.keys, node.row_type.field_types(), strict=False)),
    )
    return (table.input, (*expressions, time), plan) if is_session or plan.vectors() is not None else None


def _column(rex: Rex) -> int | None:
    return rex.index if isinstance(rex, InputRef) else None


def _over(window: WindowPlan, time: int) -> WindowPlan:
    return WindowPlan(window.kind, time, window.size, window.step, window.offset, clock=window.clock)
