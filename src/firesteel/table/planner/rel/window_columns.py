"""Detection of window start, end and time columns of a query. Flink: `FlinkRelMdWindowProperties`."""

from __future__ import annotations

from firesteel.columns.column_types import DataType
from firesteel.columns.rex import InputRef
from firesteel.table.planner.rel import rel


def window_columns(node: object) -> tuple[int, int, int | None] | None:
    """Return the indexes of window start, end and (None: it is gone) time; None: the rows are of no windows."""
    if isinstance(node, rel.WindowTableFunction):
        width = len(node.input.row_type)
        return width, width + 1, width + 2
    if isinstance(node, rel.Filter | rel.Rank | rel.AssignWatermark | rel.Over):
        return window_columns(node.input)
    if isinstance(node, rel.Project):
        return _through(node, window_columns(node.input))
    if isinstance(node, rel.WindowAggregate) and node.window_columns is not None:
        start, end, time = node.window_columns
        if start in node.keys and end in node.keys:
            places = list(node.keys)
            return places.index(start), places.index(end), places.index(time) if time in places else None
    if isinstance(node, rel.WindowJoin):
        return (*node.left_window, None)
    if isinstance(node, rel.Correlate):
        return window_columns(node.input)
    return None


def window_time(node: rel.Rel) -> DataType | None:
    """Return the type of the time from which the window columns of a query come, None: it has none."""
    if isinstance(node, rel.WindowTableFunction):
        return node.input.row_type.fields[node.window.time].data_type
    return None if window_columns(node) is None else window_time(node.inputs[0])


def _through(node: rel.Project, columns: tuple[int, int, int | None] | None) -> tuple[int, int, int | None] | None:
    if columns is None:
        return None
    places = {e.index: i for i, e in reversed(list(enumerate(node.expressions))) if isinstance(e, InputRef)}
    if columns[0] not in places or columns[1] not in places:
        return None
    time = columns[2]
    return places[columns[0]], places[columns[1]], None if time is None else places.get(time)
