"""Stateless columnar operators: projection, filter, watermarks, grouping sets. Flink: `Calc`, `Expand`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.evaluate import CompiledFilter, CompiledRex, compile_filter, compile_rex
from firesteel.columns.kernel import MIN_WATERMARK, Kernel, KernelContext, PlannedKernel
from firesteel.columns.rex import Call, InputRef, Rex, input_columns
from firesteel.columns.state_layout import STATELESS, Layout
from firesteel.common.idle_timer import IdleTimer
from firesteel.common.options.pipeline_options import AUTO_WATERMARK_INTERVAL

if TYPE_CHECKING:
    from firesteel.columns.settings import QuerySettings
    from firesteel.common.snapshots import Snapshot


@dataclass(frozen=True)
class CalcFactory:
    """Plan of a filter followed by a projection; None means all rows, or all columns.

    Attributes:
        settings: The `QuerySettings` of the expressions.
    """

    condition: Rex | None
    expressions: tuple[Rex, ...] | None
    settings: QuerySettings

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return Calc(self)


class Calc(Kernel):
    """Filters and projects batches."""

    def __init__(self, plan: CalcFactory) -> None:
        self._plan = plan
        self._filter: CompiledFilter | None = None
        self._columns: list[CompiledRex] | None = None

    def open(self, context: KernelContext) -> None:
        """Compile the expressions."""
        super().open(context)
        plan = self._plan
        evaluation = plan.settings.context(context)
        self._filter = None if plan.condition is None else compile_filter(plan.condition, evaluation)
        if plan.expressions is not None:
            self._columns = [compile_rex(expression, evaluation) for expression in plan.expressions]
            self._are_paths = list(map(_is_path, plan.expressions))
            others = (rex for rex, is_path in zip(plan.expressions, self._are_paths, strict=True) if not is_path)
            self._inputs = {index for rex in others for index in input_columns(rex)}

    def close(self) -> None:
        """Close the user functions."""
        for compiled in (self._filter, *(self._columns or ())):
            if compiled is not None:
                compiled.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the projected rows that satisfy the condition."""
        if not batch.length:
            return
        rows = None if self._filter is None else self._filter(batch)
        if self._columns is None:
            batch = batch if rows is None else batch.filter(rows)
        elif rows is None or rows.all():
            batch = batch.with_columns([column(batch) for column in self._columns])
        else:
            batch = self._chosen(batch, np.flatnonzero(rows), self._columns)
        self.context.emit(batch)

    def _chosen(self, batch: ColumnBatch, rows: Array, columns: list[CompiledRex]) -> ColumnBatch:
        """Return the projection of some rows; only columns that are read are copied."""
        taken = pa.array(rows)
        kinds = None if batch.kinds is None else batch.kinds[rows]
        inputs = [c.take(taken) if i in self._inputs else c for i, c in enumerate(batch.columns)]
        chosen = ColumnBatch(tuple(inputs), len(rows), kinds)
        if not len(rows):
            return chosen
        return chosen.with_columns(
            [
                column(batch).take(taken) if is_path else column(chosen)
                for column, is_path in zip(columns, self._are_paths, strict=True)
            ]
        )


def _is_path(rex: Rex) -> bool:
    """Return whether an expression is a column or a field of a row, which costs nothing for rows that are dropped."""
    while isinstance(rex, Call) and rex.function == "DOT":
        rex = rex.operands[0]
    return isinstance(rex, InputRef)


@dataclass(frozen=True)
class WatermarkFactory:
    """Plan of watermarks computed by an expression.

    Attributes:
        column: The rowtime.
        expression: The watermark of a row.
        settings: The settings of the query.
        idle_timeout_ms: The time without rows after which the subtask no longer holds back watermarks; 0 means never.
        marks_late: Whether a batch is split where the watermark makes a later row late.
    """

    column: int
    expression: Rex
    settings: QuerySettings
    idle_timeout_ms: int = 0
    marks_late: bool = True

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return WatermarkAssigner(self)


class WatermarkAssigner(Kernel):
    """Emits watermarks between rows. Flink: `WatermarkAssignerOperator`.

    A batch is split only where the watermark makes a later row of the batch late. Elsewhere a watermark in the middle
    of the batch has no visible effect, so the batch stays whole.
    """

    def __init__(self, plan: WatermarkFactory) -> None:
        self._plan = plan
        self._expression: CompiledRex | None = None
        self._emitted = MIN_WATERMARK
        self._is_idle = False

    def open(self, context: KernelContext) -> None:
        """Compile the expression."""
        super().open(context)
        self._expression = compile_rex(self._plan.expression, self._plan.settings.context(context))
        # A watermark is emitted when it exceeds the last one by more than this: with 0, after each record that
        # raises it.
        self._interval_ms = round(AUTO_WATERMARK_INTERVAL.of(context.configuration) * 1000)
        timeout_ms = self._plan.idle_timeout_ms
        self._idle = IdleTimer(context.input_ms, timeout_ms) if timeout_ms and context.is_streaming else None

    def close(self) -> None:
        """Close the user functions of the expression."""
        if self._expression is not None:
            self._expression.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows, with watermarks between them."""
        if self._idle is not None:
            self._set_idle(False)
            self._idle.saw_elements()
        assert self._expression is not None
        times = _millis(batch.columns[self._plan.column])
        marks = np.maximum.accumulate(_millis(self._expression(batch)))
        cuts = [(batch.length, int(marks[-1]))]
        if self._plan.marks_late:
            cuts = _cuts(times, marks, self._emitted, self._interval_ms)
        start = 0
        for stop, watermark in cuts:
            if stop > start:
                self.context.emit(batch.slice(start, stop))
            start = stop
            if watermark > self._emitted:
                self._emitted = watermark
                self.context.emit_watermark(watermark)

    def watermark(self, timestamp: int) -> int | None:
        """Forward only the end-of-input watermark; this operator generates all others."""
        return timestamp if timestamp == 2**63 - 1 else None

    def end_batch(self) -> None:
        """Become idle if no rows have come for the timeout."""
        if self._idle is not None and not self._idle.left_ms():
            self._set_idle(True)

    def next_processing_time(self) -> int | None:
        """Return when the subtask becomes idle, or None."""
        return None if self._idle is None or self._is_idle else self.context.now_ms() + self._idle.left_ms()

    def _set_idle(self, is_idle: bool) -> None:
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self.context.emit_idle(is_idle)

    def snapshot(self) -> Snapshot:
        """Return the last watermark, and whether the subtask is idle."""
        return self._emitted, self._is_idle

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the last watermark and the idleness."""
        self._emitted, self._is_idle = snapshot


def _millis(array: pa.Array) -> Array:
    if array.null_count:
        raise ValueError("RowTime field should not be null, please convert it to a non-null long value.")
    millis: Array = np.floor_divide(array.cast(pa.int64()).to_numpy(zero_copy_only=False), 1000)
    return millis


def _cuts(times: Array, marks: Array, emitted: int, interval_ms: int) -> list[tuple[int, int]]:
    """Return the positions at which to split the rows, each with the watermark that follows the part."""
    final = int(max(emitted, marks[-1]))
    if times.min() > emitted and not (times[1:] <= marks[:-1]).any():
        return [(len(times), final)]  # No row is late, whichever watermarks are emitted in between.
    before = _emitted_before(marks, emitted, interval_ms)
    cuts = []
    last = emitted
    for row in np.flatnonzero(times <= before).tolist():
        if before[row] > last:
            last = int(before[row])
            cuts.append((row, last))
    # The end of a batch counts as the periodic emission, so the interval does not matter.
    cuts.append((len(times), final))
    return cuts


def _emitted_before(marks: Array, emitted: int, interval_ms: int) -> Array:
    """Return the last watermark emitted before each row; each exceeds its predecessor by the interval."""
    result = np.empty(len(marks), np.int64)
    row, current = 0, emitted
    while row < len(marks):
        emits = int(np.searchsorted(marks, current + interval_ms, "right"))  # `marks` never decrease
        result[row : emits + 1] = current
        if emits < len(marks):
            current = int(marks[emits])
        row = emits + 1
    return result


@dataclass(frozen=True)
class ExpandFactory:
    """Plan that repeats each row once per grouping set (`rel.Expand`)."""

    columns: tuple[int, ...]
    sets: tuple[frozenset[int], ...]
    ids: tuple[int, ...]

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return Expand(self)


class Expand(PlannedKernel[ExpandFactory]):
    """Emits each row once per grouping set, with NULL in the columns outside of the set."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit all copies of a row one after the other."""
        parts = []
        for chosen, number in zip(self._plan.sets, self._plan.ids, strict=True):
            columns = [
                pa.nulls(batch.length, column.type) if i in self._plan.columns and i not in chosen else column
                for i, column in enumerate(batch.columns)
            ]
            columns.append(pa.array(np.full(batch.length, number, np.int64)))
            parts.append(batch.with_columns(columns))
        order = np.arange(batch.length * len(parts)).reshape(len(parts), -1).T.ravel()
        self.context.emit(concat(parts).take(order))
