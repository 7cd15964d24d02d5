"""Operators that convert between elements of a DataStream and column batches of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.column_types import DataType, TimestampKind
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type, to_arrow, to_python
from firesteel.common.types import Row, RowKind
from firesteel.errors import TypeMismatchError
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.operator import MIN_TIMESTAMP, Operator, Output, TaskInfo, Timestamps

BATCH_ROWS = 10_000
"""Maximum number of rows of a column batch, so that operators after it stay responsive."""

_KINDS = list(RowKind)
_RETRACTIONS = (Kind.UPDATE_BEFORE, Kind.DELETE)


class RowsToColumns(Operator):
    """The operator that converts elements to column batches (Flink: `InputConversionOperator`).

    Args:
        columns: The source of each column and its type: the position of a field, `element` for an element that is no
        row, `timestamp` for the element's event time, `proctime` for the current time.
        has_kinds: Whether row kinds are read from the elements.
    """

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        columns: tuple[tuple[int | str, DataType], ...],
        has_kinds: bool,
    ) -> None:
        super().__init__(name, task, output)
        self._columns = columns
        self._has_kinds = has_kinds

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit the elements as column batches."""
        for start in range(0, len(values), BATCH_ROWS):
            part = values[start : start + BATCH_ROWS]
            times = None if timestamps is None else timestamps[start : start + BATCH_ROWS]
            self.output.hand_on([self._batch(part, times)], None)

    def _batch(self, values: list[Any], timestamps: Timestamps) -> ColumnBatch:
        arrays = tuple(self._array(source, kind, values, timestamps) for source, kind in self._columns)
        kinds = None
        if self._has_kinds:
            kinds = np.fromiter((value.get_row_kind().value for value in values), np.int8, len(values))
        # Without kinds if all are inserts (0), since kernels have a shorter path for those.
        return ColumnBatch(arrays, len(values), kinds if kinds is not None and kinds.any() else None)

    def _array(self, source: int | str, kind: DataType, values: list[Any], timestamps: Timestamps) -> pa.Array:
        found = self._converted(source, kind, values, timestamps)
        if found.null_count and not kind.is_nullable:
            raise TypeMismatchError(type_text(kind), None)
        return found

    def _converted(self, source: int | str, kind: DataType, values: list[Any], timestamps: Timestamps) -> pa.Array:
        if source == "element":
            return to_arrow(values, kind)
        if source == "proctime":
            return _times([now_ms()] * len(values), kind)
        if source == "timestamp":
            return _times(self._event_times(timestamps, len(values)), kind)
        return to_arrow([value[source] for value in values], kind)

    def _event_times(self, timestamps: Timestamps, count: int) -> list[int]:
        found: list[Any] = [MIN_TIMESTAMP] * count if timestamps is None else list(timestamps)
        if MIN_TIMESTAMP in found or None in found:
            raise RuntimeError(
                "Rowtime timestamp is not defined. Please make sure that a proper TimestampAssigner is defined and the "
                "stream environment uses the EventTime time characteristic."
            )
        return found


def _times(milliseconds: list[int], kind: DataType) -> pa.Array:
    wanted = arrow_type(kind)
    if pa.types.is_integer(wanted):
        return pa.array(milliseconds, wanted)
    # By way of integers: Arrow would make a time of day of them, or convert each one as a Python object.
    return pa.array(np.array(milliseconds, np.int64) * 1000, pa.int64()).cast(wanted)


class ColumnsToRows(Operator):
    """The operator that converts column batches to elements (Flink: `OutputConversionOperator`).

    Args:
        types: Types of the columns; the first rowtime attribute becomes the event time.
        names: Names of the columns.
        is_retract: Whether to emit (flag, element) pairs, with a true flag for added rows.
        rowtime: The column that is the event time instead, and no field.
        element: What a row becomes: `row`, `tuple`, or `value` of the only column.
    """

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        types: tuple[DataType, ...],
        names: tuple[str, ...],
        is_retract: bool,
        rowtime: str | None = None,
        element: str = "row",
    ) -> None:
        super().__init__(name, task, output)
        self._fields = [(index, kind) for index, kind in enumerate(types) if names[index] != rowtime]
        self._names = [name for name in names if name != rowtime]
        makers = {"row": self._row_of, "tuple": lambda _, values: values, "value": lambda _, values: values[0]}
        self._element: Callable[[int, tuple[object, ...]], object] = makers[element]
        self._make = self._pair if is_retract else self._element
        attributes = (i for i, kind in enumerate(types) if getattr(kind, "kind", None) is TimestampKind.ROWTIME)
        self._rowtime = next(attributes, None) if rowtime is None else names.index(rowtime)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit the rows of the batches."""
        make = self._make
        for batch in values:
            columns = [to_python(batch.columns[index], kind) for index, kind in self._fields]
            rows = zip(*columns, strict=True) if columns else iter([()] * batch.length)
            kinds = batch.kinds_or_inserts().tolist()
            elements = [make(kind, row) for kind, row in zip(kinds, rows, strict=True)]
            self.output.hand_on(elements, self._event_times(batch))

    def _row_of(self, kind: int, values: tuple[Any, ...]) -> Row:
        row = Row(*values)
        row.set_field_names(self._names)
        row.set_row_kind(_KINDS[kind])
        return row

    def _pair(self, kind: int, values: tuple[object, ...]) -> tuple[bool, object]:
        return kind not in _RETRACTIONS, self._element(Kind.INSERT, values)

    def _event_times(self, batch: ColumnBatch) -> Timestamps:
        if self._rowtime is None:
            return None
        micros = batch.columns[self._rowtime].cast(pa.int64())
        return [MIN_TIMESTAMP if value is None else value // 1000 for value in pylist(micros)]
