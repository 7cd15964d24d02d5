"""Joins with rows that a connector looks up. Flink: `LookupJoinRunner`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.evaluate import CompiledFilter, compile_filter
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.kernels.joins.correlate import joined
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.pylist import pylist
from firesteel.columns.rex import Rex
from firesteel.columns.rows import batch_of
from firesteel.columns.state_layout import STATELESS, Layout
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.settings import QuerySettings
    from firesteel.connectors.table_connector import Lookup


@dataclass(frozen=True)
class LookupJoinFactory:
    """Plan that joins each row with the rows that a connector finds for its keys.

    Attributes:
        lookup: Takes a list of keys and returns a list of rows (tuples of column values) for each.
        condition: A further condition on the columns of both sides.
    """

    lookup: Lookup
    keys: tuple[int, ...]
    outer: bool
    types: tuple[DataType, ...]
    result_types: tuple[DataType, ...]
    condition: Rex | None
    settings: QuerySettings

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return LookupJoin(self)


class LookupJoin(PlannedKernel[LookupJoinFactory]):
    """Looks up all keys of a batch in one call of the connector.

    Args:
        plan: The lookup and its keys.
    """

    def __init__(self, plan: LookupJoinFactory) -> None:
        super().__init__(plan)
        self._condition: CompiledFilter | None = None

    def open(self, context: KernelContext) -> None:
        """Connect, and compile the condition."""
        super().open(context)
        plan = self._plan
        plan.lookup.open()
        self._results = [arrow_type(kind) for kind in plan.result_types]
        if plan.condition is not None:
            self._condition = compile_filter(plan.condition, plan.settings.context(context))

    def close(self) -> None:
        """Release the connection, and close the user functions of the condition."""
        self._plan.lookup.close()
        if self._condition is not None:
            self._condition.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit each row joined with the rows found for its key."""
        plan = self._plan
        groups = groups_by(batch, plan.keys)
        firsts = batch.take(groups.first_rows())
        # NULL equals nothing, so it is not asked for.
        asked = np.flatnonzero(~firsts.has_null(plan.keys))
        keys = list(zip(*(pylist(firsts.columns[index].take(pa.array(asked))) for index in plan.keys), strict=True))
        found = list(plan.lookup(keys)) if keys else []
        sizes = np.zeros(groups.count, np.int64)
        sizes[asked] = list(map(len, found))
        ends = np.cumsum(sizes)
        values = batch_of([tuple(row) for rows in found for row in rows], self._results)
        places = np.repeat(np.arange(batch.length), sizes[groups.codes])
        chosen = ranges((ends - sizes)[groups.codes], ends[groups.codes])
        columns = [column.take(pa.array(chosen)) for column in values.columns]
        self.context.emit(joined(batch, places, columns, self._condition, plan.outer))
