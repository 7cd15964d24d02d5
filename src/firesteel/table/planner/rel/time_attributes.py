"""Time attributes and window lengths."""

from __future__ import annotations

import datetime

from firesteel.columns.column_types import DataType, LocalZonedTimestampType, RowType, TimestampKind, TimestampType
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel.changelog import is_time
from firesteel.table.planner.rel.rex_tools import row_type
from firesteel.table.syntax.unresolved import Apply, Lit


def with_kind(kind: DataType, attribute: TimestampKind) -> DataType:
    """Return a timestamp type as a time attribute of this kind, or as a plain timestamp."""
    assert isinstance(kind, TimestampType | LocalZonedTimestampType)
    return type(kind)(kind.precision, kind.is_nullable, kind=attribute)


def without_time_attribute(kind: DataType) -> DataType:
    """Return the type of a column whose values are no longer a time attribute."""
    return kind.materialized() if is_time(kind) else kind


def materialized(kind: RowType) -> RowType:
    """Return a row type without time attributes."""
    return row_type(kind.names, [without_time_attribute(t) for t in kind.field_types()])


def interval_millis(expression: object, function: str) -> int:
    """Return the milliseconds of an interval literal.

    Raises:
        ValidationException: The expression is not an interval literal of days to seconds.
    """
    if isinstance(expression, Apply) and expression.function == "NEGATE":
        return -interval_millis(expression.operands[0], function)
    if isinstance(expression, Lit) and isinstance(expression.value, datetime.timedelta):
        return expression.value // datetime.timedelta(milliseconds=1)
    raise ValidationException(
        f"SQL validation failed. {function} takes intervals of days to seconds as lengths, such as INTERVAL '10' "
        f"SECOND; found {expression!r}"
    )
