"""Windows in GROUP BY. Flink: `LogicalWindowAggregateRule`."""

from __future__ import annotations

from firesteel.columns.column_types import BigIntType, DataType
from firesteel.columns.rex import InputRef, Rex
from firesteel.columns.type_families import TIMESTAMPS
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_proctime, is_time
from firesteel.table.planner.rel.time_attributes import interval_millis
from firesteel.table.syntax.unresolved import Apply, Unresolved, constant, where


def group_window_of(call: Apply, time: Rex, is_streaming: bool) -> rel.Window:
    """Return the window that TUMBLE, HOP or SESSION in GROUP BY ask for.

    Args:
        call: The call.
        time: Its first operand.
        is_streaming: Whether the column must be a time attribute.

    Raises:
        ValidationException: the column is none.
    """
    kind = str(call.function).upper()
    if not isinstance(time, InputRef) or not _is_fit(call, time.type, is_streaming):
        raise ValidationException(
            f"SQL validation failed. {where(call.position)}Window aggregate can only be defined over a time "
            f"attribute column, but {type_text(time.type)} encountered."
        )
    event_time = not is_proctime(time.type)
    lengths = call.operands[1:]
    if isinstance(lengths[0], Apply) and lengths[0].function == "ROWS":
        sizes = [_row_count(length) for length in lengths]
        return rel.Window(kind, time.index, max(sizes), min(sizes) if len(sizes) > 1 else 0, 0, event_time, True)
    if kind != "HOP":
        sizes = [interval_millis(length, kind) for length in lengths]
        return rel.Window(kind, time.index, sizes[0], 0, sizes[1] if len(sizes) > 1 else 0, event_time)
    sizes = [interval_millis(length, kind) for length in lengths[:2]]
    return rel.Window(kind, time.index, max(sizes), min(sizes), 0, event_time)


def _is_fit(call: Apply, kind: DataType, is_streaming: bool) -> bool:
    """Return whether a window may be over a column; in BATCH mode the Table API takes milliseconds, too."""
    if is_streaming:
        return is_time(kind)
    return isinstance(kind, TIMESTAMPS) or (call.position is None and isinstance(kind, BigIntType))


def _row_count(length: Unresolved) -> int:
    """Return the number of rows that the length of a window is."""
    assert isinstance(length, Apply)
    number = constant(length.operands[0])
    assert isinstance(number, int)
    return number
