"""Window table functions. Flink: `WindowTableFunctionOperator`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import Kernel
from firesteel.columns.kernels.times.time_windows import WindowPlan, assign, millis_of, window_columns
from firesteel.columns.kernels.windows.sessions import SessionTable
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class WindowTableFactory:
    """Plan of a window table function.

    Attributes:
        types: Logical types of the input's columns.
        time_type: The logical type of `window_time`, which the Arrow type does not determine.
    """

    window: WindowPlan
    types: tuple[DataType, ...]
    time_type: DataType

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return *rows_layout("window", self.types, self.window.partition), *self.window.state_layout()

    def make(self) -> Kernel:
        """Return the kernel."""
        return SessionTable(self) if self.window.kind == "SESSION" else WindowTable(self)


class WindowTable(Kernel):
    """Emits each row once for each window that contains it."""

    def __init__(self, plan: WindowTableFactory) -> None:
        self._plan = plan
        self._time_type = arrow_type(plan.time_type)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows with the start, end and time of their windows."""
        window = self._plan.window
        if window.is_rowtime:
            batch = batch.without_nulls(window.time)
            times = millis_of(batch.columns[window.time])
        else:
            times = np.full(batch.length, self.context.now_ms(), np.int64)
        rows, starts, ends = assign(window, window.clock.local(times))
        taken = batch if len(rows) == batch.length and window.kind == "TUMBLE" else batch.take(rows)
        self.context.emit(taken.with_columns([*taken.columns, *window_columns(window, starts, ends, self._time_type)]))
