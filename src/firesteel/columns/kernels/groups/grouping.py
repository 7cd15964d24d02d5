"""What aggregations by key have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.expiring_state import HeldClock, expiring_table
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import RowOutput, keys_of, kinds_list
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory


class Grouping(Kernel):
    """Base of aggregations by key. The state per key is `[row count, accumulators, values of the key]`."""

    def __init__(self, plan: GroupAggregateFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the functions."""
        self._clock = HeldClock(context.now_ms)
        context = replace(context, now_ms=self._clock)
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, plan.retracts, context)
        self._ttl_ms = context.state_ttl_ms if plan.state_ttl_ms is None else plan.state_ttl_ms
        self._table = expiring_table(context, "groups", self._ttl_ms)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def _keys(self, batch: ColumnBatch) -> tuple[list[Cell], list[Cell]]:
        """Return the state key of each row and the values of its key columns."""
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        if not any(pa.types.is_nested(batch.columns[k].type) for k in self._plan.keys):
            return keys, [key[1:] for key in keys]
        return keys, list(zip(*(pylist(batch.columns[k]) for k in self._plan.keys), strict=True))

    def _entries(self, batch: ColumnBatch) -> Iterable[Cell]:
        keys, originals = self._keys(batch)
        return zip(keys, originals, kinds_list(batch), self._aggregates.arguments(batch), strict=True)
