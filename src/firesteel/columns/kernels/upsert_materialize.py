"""The rows of each primary key before a sink, where several rows of a query may have it.

Flink: `SinkUpsertMaterializer`.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.row_keys import freeze
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    Row,
    RowOutput,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class UpsertMaterializeFactory:
    """Plan of the rows by primary key.

    Attributes:
        keys: The columns of the primary key.
        upsert_key: The columns by which a row of the query replaces an earlier one; None compares whole rows.
        types: Types of the columns.
    """

    keys: tuple[int, ...]
    upsert_key: tuple[int, ...] | None
    types: tuple[DataType, ...]

    def make(self) -> Kernel:
        """Return the kernel."""
        return UpsertMaterialize(self)


class UpsertMaterialize(PlannedKernel[UpsertMaterializeFactory]):
    """Shows the row of each key that came last and was not retracted; retractions may come late.

    Args:
        plan: Keys and types.
    """

    def open(self, context: KernelContext) -> None:
        """Open the table of rows by key."""
        super().open(context)
        self._table = expiring_table(context, "rows")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit what the changes of a batch make of the visible rows."""
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            rows: list[Row] = list(self._table.data.get(key, ()))
            if is_retraction(kind):
                self._retract(key, rows, row)
            else:
                self._add(key, rows, row)
        self._output.flush()

    def _add(self, key: Row, rows: list[Row], row: Row) -> None:
        self._output.add(UPDATE_AFTER if rows else INSERT, row)
        place = None if self._plan.upsert_key is None else self._place(rows, row)
        if place is None:
            rows.append(row)
        else:
            rows[place] = row
        self._table.put(key, rows)

    def _retract(self, key: Row, rows: list[Row], row: Row) -> None:
        place = self._place(rows, row)
        if place is None:  # It came before its insertion was seen, or its state has expired.
            return
        removed = rows.pop(place)
        if not rows:
            self._table.remove(key)
            self._output.add(DELETE, removed)
            return
        self._table.put(key, rows)
        # Only the last row of a key was visible; those before it go without a trace.
        if place == len(rows):
            self._output.add(UPDATE_AFTER, rows[-1])

    def _place(self, rows: list[Row], row: Row) -> int | None:
        """Return where the row is that another one replaces or retracts."""
        sought = self._identity(row)
        return next((place for place, known in enumerate(rows) if self._identity(known) == sought), None)

    def _identity(self, row: Row) -> Row:
        columns = self._plan.upsert_key
        values = row if columns is None else [row[column] for column in columns]
        return tuple(map(freeze, values))
