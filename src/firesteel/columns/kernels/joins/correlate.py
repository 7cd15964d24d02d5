"""Table functions and UNNEST. Flink: `Correlate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType, MultisetType, RowType
from firesteel.columns.evaluate import CompiledFilter, CompiledRex, compile_filter, compile_rex
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.kernels.rows.segments import ranges, starts_of_segments
from firesteel.columns.orders import stable_order
from firesteel.columns.rex import Rex, UserFunction
from firesteel.columns.state_layout import STATELESS, Layout
from firesteel.columns.user_results import row_columns, row_tuples
from firesteel.columns.values import arrow_type, to_python

if TYPE_CHECKING:
    from firesteel.columns.settings import QuerySettings


@dataclass(frozen=True)
class CorrelateFactory:
    """Plan that joins each row with the rows that a table function returns for it; see `rel.Correlate`.

    Attributes:
        function: The user function, `UNNEST` or `UNNEST WITH ORDINALITY`.
        types: Logical types of the input's columns.
        result_type: The function's columns.
    """

    function: str | UserFunction
    operands: tuple[Rex, ...]
    outer: bool
    types: tuple[DataType, ...]
    result_type: RowType
    condition: Rex | None
    settings: QuerySettings

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return Correlate(self)


class Correlate(PlannedKernel[CorrelateFactory]):
    """Calls a table function for each row.

    Args:
        plan: The function and its arguments.
    """

    def __init__(self, plan: CorrelateFactory) -> None:
        super().__init__(plan)
        self._closing: list[CompiledRex | CompiledFilter | UserFunction] = []

    def open(self, context: KernelContext) -> None:
        """Compile the arguments and open the function."""
        super().open(context)
        plan = self._plan
        evaluation = plan.settings.context(context)
        self._zone = evaluation.time_zone
        self._operands = [compile_rex(operand, evaluation) for operand in plan.operands]
        self._condition = None if plan.condition is None else compile_filter(plan.condition, evaluation)
        self._closing = [*self._operands, *filter(None, [self._condition])]
        if not isinstance(plan.function, str):
            self._function = plan.function.for_call()
            self._closing.append(self._function)
            self._function.open(context.function_context)

    def close(self) -> None:
        """Close the function, and those of its arguments and of the condition."""
        for part in self._closing:
            part.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit each row joined with the rows that the function returns."""
        if not batch.length:
            return
        places, columns = self._found(batch)
        self.context.emit(joined(batch, places, columns, self._condition, self._plan.outer))

    def _found(self, batch: ColumnBatch) -> tuple[Array, list[pa.Array]]:
        """Return the columns of all rows that the function returns, and the place of the row that each is for."""
        plan = self._plan
        arguments = [operand(batch) for operand in self._operands]
        if isinstance(plan.function, str):
            places, columns = unnested(arguments[0], isinstance(plan.operands[0].type, MultisetType))
            if plan.function.endswith("ORDINALITY"):
                columns = [*columns, pa.array(np.arange(len(places)) - starts_of_segments(places) + 1)]
            kinds = map(arrow_type, plan.result_type.field_types())
            return places, [column.cast(kind) for column, kind in zip(columns, kinds, strict=True)]
        values = [to_python(c, o.type, zone=self._zone) for c, o in zip(arguments, plan.operands, strict=True)]
        calls = zip(*values, strict=True) if values else [()] * batch.length
        name, kind = self._function.name, plan.result_type
        found = [row_tuples(self._function.eval(*call), kind, name) for call in calls]
        places = np.repeat(np.arange(batch.length), list(map(len, found)))
        return places, row_columns([row for rows in found for row in rows], kind, name)


def unnested(column: pa.Array, is_multiset: bool) -> tuple[Array, list[pa.Array]]:
    """Return the columns of the elements of arrays, maps or multisets, and the place that each element is from.

    Rows become columns of their fields, entries of maps two columns. An element of a multiset comes as often as it is
    in it.
    """
    starts = column.offsets.to_numpy()[:-1].astype(np.int64)
    sizes = np.diff(column.offsets.to_numpy()).astype(np.int64)
    sizes[column.is_null().to_numpy(zero_copy_only=False)] = 0
    places, chosen = np.repeat(np.arange(len(column)), sizes), ranges(starts, starts + sizes)
    if not pa.types.is_map(column.type):
        values = column.values.take(pa.array(chosen))
        return places, values.flatten() if pa.types.is_struct(values.type) else [values]
    if not is_multiset:
        return places, [part.take(pa.array(chosen)) for part in (column.keys, column.items)]
    times = column.items.take(pa.array(chosen)).to_numpy(zero_copy_only=False)
    elements = column.keys.take(pa.array(np.repeat(chosen, times)))
    return np.repeat(places, times), elements.flatten() if pa.types.is_struct(elements.type) else [elements]


def joined(
    batch: ColumnBatch, places: Array, columns: Sequence[pa.Array], condition: CompiledFilter | None, is_outer: bool
) -> ColumnBatch:
    """Return the rows of a batch with the rows that were found for them.

    Args:
        batch: The rows.
        places: The places of those that each found row is for, ascending.
        columns: The columns of the found rows.
        condition: Chooses pairs.
        is_outer: Whether rows without a pair have one with NULLs.
    """
    taken = batch.take(places)
    pairs = taken.with_columns([*taken.columns, *columns])
    if condition is not None:
        is_chosen = condition(pairs)
        pairs, places = pairs.filter(is_chosen), places[is_chosen]
    if not is_outer:
        return pairs
    alone = np.flatnonzero(np.bincount(places, minlength=batch.length) == 0)
    rows = batch.take(alone)
    nulls = [pa.nulls(rows.length, column.type) for column in columns]
    order = stable_order(np.concatenate([places, alone]))
    return concat([pairs, rows.with_columns([*rows.columns, *nulls])]).take(order)
