"""OVER in the order of columns that are no time. Flink: `NonTimeRangeUnboundedPrecedingFunction` and similar ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from dataclasses import dataclass

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.over.over_calls import OverPlan, make_call
from firesteel.columns.kernels.rows.row_order import row_key
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Row,
    RowOutput,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class UpdatingOverFactory(OverPlan):
    """Plan of the calls over one window; see `OverPlan`. The frame ends with the current row."""

    def make(self) -> Kernel:
        """Return the kernel."""
        return UpdatingOver(self)


@dataclass(slots=True)
class _Kept:
    """A row of a partition, the arguments of the calls, and their results; None before they are emitted."""

    row: Row
    arguments: Cell
    results: Row | None = None


class UpdatingOver(Kernel):
    """Emits each row with the results of the calls, and again when rows before it come or go.

    A batch of rows changes the results of a partition once: what is between is not emitted, as with Flink's
    mini-batches.

    State: `rows` holds the rows of each partition in order, with their results.
    """

    def __init__(self, plan: UpdatingOverFactory) -> None:
        self._plan = plan
        self._order = row_key(plan.order)

    def open(self, context: KernelContext) -> None:
        """Open the functions and the state table."""
        super().open(context)
        plan = self._plan
        self._calls = [make_call(plan, number, context) for number in range(len(plan.calls))]
        self._rows = expiring_table(context, "rows")
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)

    def close(self) -> None:
        """Close the functions."""
        for call in self._calls:
            call.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Take the changes of a batch, and emit those of the results."""
        keys = keys_of(batch, self._plan.partition, self.context.max_parallelism)
        arguments = zip(*(call.arguments(batch) for call in self._calls), strict=True)
        changed: dict[Row, list[_Kept]] = {}
        for key, kind, row, values in zip(keys, kinds_list(batch), rows_of(batch), arguments, strict=True):
            if key not in changed:
                changed[key] = self._stored(key)
            if is_retraction(kind):
                self._remove(changed[key], row)
            else:
                insort_right(changed[key], _Kept(row, values), key=self._place)
        for key, rows in changed.items():
            self._refresh(rows)
            if rows:
                self._rows.put(key, [(one.row, one.arguments, one.results) for one in rows])
            else:
                self._rows.remove(key)
        self._output.flush()

    def _stored(self, key: Row) -> list[_Kept]:
        return [_Kept(*fields) for fields in self._rows.data.get(key) or ()]

    def _place(self, kept: _Kept) -> Cell:
        return self._order(kept.row)

    def _remove(self, rows: list[_Kept], row: Row) -> None:
        """Remove a row, if it is there, and emit that it is gone."""
        sought = self._order(row)
        begin, end = bisect_left(rows, sought, key=self._place), bisect_right(rows, sought, key=self._place)
        found = next((place for place in range(begin, end) if rows[place].row == row), None)
        if found is None:
            return
        results = rows.pop(found).results
        if results is not None:
            self._output.add(DELETE, (*row, *results))

    def _refresh(self, rows: list[_Kept]) -> None:
        """Compute the results of a partition, and emit those that have changed."""
        entries = [(0, one.row, one.arguments) for one in rows]
        columns = [call.so_far(entries) for call in self._calls]
        for kept, results in zip(rows, zip(*columns, strict=True), strict=True):
            if kept.results is None:
                self._output.add(INSERT, (*kept.row, *results))
            elif kept.results != results:
                self._output.add(UPDATE_BEFORE, (*kept.row, *kept.results))
                self._output.add(UPDATE_AFTER, (*kept.row, *results))
            kept.results = results
