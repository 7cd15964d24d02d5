"""Detection of window start, end and time columns of a query. Flink: `FlinkRelMdWindowProperties`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from firesteel.columns.column_types import DataType
from firesteel.columns.rex import InputRef
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.node_tables import for_each_node

Columns = tuple[int, int, int | None]


class _WithInput(Protocol):
    @property
    def input(self) -> rel.Rel: ...


def window_columns(node: rel.Rel) -> Columns | None:
    """Return the indexes of the columns with window start, end and time, or None if the rows belong to no window.

    The last one is None if the query has dropped the window time.
    """
    return _COLUMNS[type(node)](node)


def window_time(node: rel.Rel) -> DataType:
    """Return the type of the time from which the window columns of a query come.

    Raises:
        LookupError: its rows belong to no window.
    """
    if isinstance(node, rel.WindowTableFunction):
        return node.input.row_type.fields[node.window.time].data_type
    if window_columns(node) is None:
        raise LookupError(f"the rows of {type(node).__name__} belong to no window")
    return window_time(node.inputs[0])


def _none(node: object) -> None:
    return None


def _of_input(node: _WithInput) -> Columns | None:
    return window_columns(node.input)


def _of_function(node: rel.WindowTableFunction) -> Columns:
    width = len(node.input.row_type)
    return width, width + 1, width + 2


def _of_project(node: rel.Project) -> Columns | None:
    columns = window_columns(node.input)
    if columns is None:
        return None
    # Reversed, so that of a column which is there twice the first place counts.
    places = {e.index: i for i, e in reversed(list(enumerate(node.expressions))) if isinstance(e, InputRef)}
    if columns[0] not in places or columns[1] not in places:
        return None
    time = columns[2]
    return places[columns[0]], places[columns[1]], None if time is None else places.get(time)


def _of_aggregate(node: rel.WindowAggregate) -> Columns | None:
    if node.window_columns is None:
        return None
    start, end, time = node.window_columns
    if start not in node.keys or end not in node.keys:
        return None
    places = list(node.keys)
    return places.index(start), places.index(end), places.index(time) if time in places else None


def _of_expand(node: rel.Expand) -> Columns | None:
    columns = window_columns(node.input)
    if columns is None or any(not group.issuperset({*columns[:2]} & {*node.columns}) for group in node.sets):
        return None  # start or end is NULL in some set
    return columns


def same_windows(join: rel.Join) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return where both inputs have start and end of their windows, if a join compares both; None otherwise."""
    left, right = window_columns(join.left), window_columns(join.right)
    if left is None or right is None:
        return None
    pairs = list(zip(join.left_keys, join.right_keys, strict=True))
    return (left[:2], right[:2]) if (left[0], right[0]) in pairs and (left[1], right[1]) in pairs else None


def _of_join(node: rel.Join) -> Columns | None:
    # In BATCH mode joins on windows are regular ones, whose kernel needs no windows.
    windows = same_windows(node) if node.keeps_times else None
    return None if windows is None else (*windows[0], None)


def _of_window_join(node: rel.WindowJoin) -> Columns:
    return (*node.left_window, None)


_COLUMNS: dict[type, Callable[[object], Columns | None]] = for_each_node(
    "where its window columns are",
    [
        case(rel.TableScan, _none),
        case(rel.StreamScan, _none),
        case(rel.Values, _none),
        case(rel.AssignWatermark, _of_input),
        case(rel.Project, _of_project),
        case(rel.Filter, _of_input),
        case(rel.Aggregate, _none),
        case(rel.WindowTableFunction, _of_function),
        case(rel.WindowAggregate, _of_aggregate),
        case(rel.Join, _of_join),
        case(rel.IntervalJoin, _none),
        case(rel.TemporalJoin, _none),
        case(rel.LookupJoin, _none),
        case(rel.WindowJoin, _of_window_join),
        case(rel.Correlate, _of_input),
        case(rel.Union, _none),
        case(rel.SetOperation, _none),
        case(rel.Sort, _none),
        case(rel.Over, _of_input),
        case(rel.Rank, _of_input),
        case(rel.Expand, _of_expand),
        case(rel.Match, _none),
    ],
)
"""The window columns of each node."""
