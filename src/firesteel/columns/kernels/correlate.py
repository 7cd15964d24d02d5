"""Table functions, UNNEST, lookup joins and set operations. Flink: `Correlate`, `LookupJoin`, `SetOp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.evaluate import compile_filter, compile_rex
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.pylist import pylist
from firesteel.columns.rex import Rex, UserFunction
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    Row,
    RowOutput,
    batch_of,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type, to_arrow, to_python
from firesteel.common.values.bounded_results import all_of

if TYPE_CHECKING:
    from firesteel.columns.settings import QuerySettings
    from firesteel.connectors.table_connector import Lookup


@dataclass(frozen=True)
class CorrelateFactory:
    """Plan that joins each row with the rows that a table function returns for it; see `rel.Correlate`.

    Attributes:
        function: The user function, `UNNEST` or `UNNEST WITH ORDINALITY`.
        types: Logical types of the input's columns.
        result_types: Logical types of the function's columns.
    """

    function: str | UserFunction
    operands: tuple[Rex, ...]
    outer: bool
    types: tuple[DataType, ...]
    result_types: tuple[DataType, ...]
    condition: Rex | None
    settings: QuerySettings

    def make(self) -> Kernel:
        """Return the kernel."""
        return Correlate(self)


class Correlate(PlannedKernel[CorrelateFactory]):
    """Calls a table function for each row."""

    def open(self, context: KernelContext) -> None:
        """Compile the arguments and open the function."""
        super().open(context)
        plan = self._plan
        evaluation = plan.settings.context(context)
        self._zone = evaluation.time_zone
        self._operands = [compile_rex(operand, evaluation) for operand in plan.operands]
        self._results = [arrow_type(kind) for kind in plan.result_types]
        self._condition = None if plan.condition is None else compile_filter(plan.condition, evaluation)
        if not isinstance(plan.function, str):
            plan.function.open(context.function_context)

    def close(self) -> None:
        """Close the function."""
        if not isinstance(self._plan.function, str):
            self._plan.function.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit each row joined with the rows that the function returns."""
        if not batch.length:
            return
        places: list[int] = []
        found: list[Row | None] = []
        for place, rows in enumerate(self._tables(batch)):
            places += [place] * len(rows)
            found += rows
        if self._condition is not None:
            places, found = self._fitting(batch, places, found)
        if self._plan.outer:
            places, found = _padded(places, found, batch.length)
        nothing = (None,) * len(self._results)
        rows = [nothing if row is None else row for row in found]
        columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(self._results)]
        taken = batch.take(places)
        self.context.emit(taken.with_columns([*taken.columns, *columns]))

    def _fitting(self, batch: ColumnBatch, places: list[int], found: list[Cell]) -> tuple[list[int], list[Cell]]:
        taken = batch.take(places)
        columns = [pa.array([row[i] for row in found], kind) for i, kind in enumerate(self._results)]
        assert self._condition is not None
        marks = self._condition(taken.with_columns([*taken.columns, *columns])).tolist()
        kept = [i for i, mark in enumerate(marks) if mark]
        return [places[i] for i in kept], [found[i] for i in kept]

    def _tables(self, batch: ColumnBatch) -> list[list[Row]]:
        plan = self._plan
        columns = [operand(batch) for operand in self._operands]
        if isinstance(plan.function, str):
            with_ordinality = plan.function.endswith("ORDINALITY")
            return [_unnest(value, len(self._results), with_ordinality) for value in pylist(columns[0])]
        values = [to_python(c, o.type, zone=self._zone) for c, o in zip(columns, plan.operands, strict=True)]
        calls = zip(*values, strict=True) if values else [()] * batch.length
        return [self._rows(plan.function.eval(*arguments)) for arguments in calls]

    def _rows(self, results: object) -> list[Row]:
        if results is None:
            return []
        kinds = self._plan.result_types
        if (
            isinstance(results, str | bytes)
            or not hasattr(results, "__iter__")
            or isinstance(results, tuple)
            or hasattr(results, "get_row_kind")
        ):
            results = [results]
        tuples = [_as_tuple(result, len(kinds)) for result in all_of(results)]
        columns = [pylist(to_arrow([row[i] for row in tuples], kind)) for i, kind in enumerate(kinds)]
        return list(zip(*columns, strict=True))


def _as_tuple(result: Cell, width: int) -> tuple[Cell, ...]:
    if isinstance(result, tuple) or hasattr(result, "get_row_kind") or (isinstance(result, list) and width > 1):
        values = tuple(result)
    else:
        values = (result,)
    if len(values) != width:
        raise ValueError(f"The table function returned {result!r} with {len(values)} fields, but declares {width}")
    return values


def _unnest(value: Cell, width: int, with_ordinality: bool) -> list[Row]:
    if value is None:
        return []
    width -= with_ordinality
    rows: list[Row] = []
    for item in value:
        if width == 1:
            rows.append((item,))
        elif item is None:
            rows.append((None,) * width)
        else:
            rows.append(tuple(item.values()) if isinstance(item, dict) else tuple(item))
    return [(*row, i) for i, row in enumerate(rows, 1)] if with_ordinality else rows


def _padded(places: list[int], found: list[Cell], length: int) -> tuple[list[int], list[Cell]]:
    """Add a row of NULLs for each input row without results."""
    by_place: list[list[object]] = [[] for _ in range(length)]
    for place, row in zip(places, found, strict=True):
        by_place[place].append(row)
    all_places: list[int] = []
    rows: list[Cell] = []
    for place, group in enumerate(by_place):
        group = group or [None]
        all_places += [place] * len(group)
        rows += group
    return all_places, rows


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

    def make(self) -> Kernel:
        """Return the kernel."""
        return LookupJoin(self)


class LookupJoin(PlannedKernel[LookupJoinFactory]):
    """Looks up all keys of a batch in one call of the connector."""

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        plan = self._plan
        self._types = [arrow_type(kind) for kind in (*plan.types, *plan.result_types)]
        self._condition = None
        if plan.condition is not None:
            self._condition = compile_filter(plan.condition, plan.settings.context(context))

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit each row joined with the rows found for its key."""
        plan = self._plan
        keys = list(zip(*(pylist(batch.columns[i]) for i in plan.keys), strict=True))
        distinct = [key for key in dict.fromkeys(keys) if None not in key]
        found = dict(zip(distinct, plan.lookup(distinct), strict=True))
        nulls = (None,) * len(plan.result_types)
        output = RowOutput(self._types, self.context.emit)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            pairs = [row + tuple(other) for other in found.get(key, ())]
            if pairs and self._condition is not None:
                marks = self._condition(batch_of(pairs, self._types)).tolist()
                pairs = [pair for pair, mark in zip(pairs, marks, strict=True) if mark]
            for pair in pairs or ([row + nulls] if plan.outer else []):
                output.add(kind, pair)
        output.flush()


@dataclass(frozen=True)
class SetOperationFactory:
    """INTERSECT or EXCEPT, with or without ALL."""

    kind: str
    all: bool
    types: tuple[DataType, ...]

    def make(self) -> Kernel:
        """Return the kernel."""
        return SetOperation(self)


class SetOperation(PlannedKernel[SetOperationFactory]):
    """Counts each row on both sides and derives its multiplicity in the result from the two counts."""

    def open(self, context: KernelContext) -> None:
        """Open the table of counts by row."""
        super().open(context)
        self._table = expiring_table(context, "counts")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Count the rows; in streaming mode emit the change of each row's multiplicity."""
        keys = keys_of(batch, range(len(self._plan.types)), self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            entry = self._table.data.get(key) or [0, 0, row]
            before = self._times(entry)
            entry[index] += -1 if is_retraction(kind) else 1
            after = self._times(entry)
            if entry[0] or entry[1]:
                self._table.put(key, entry)
            else:
                self._table.remove(key)
            if self.context.is_streaming:
                for _ in range(abs(after - before)):
                    self._output.add(INSERT if after > before else DELETE, row)
        self._output.flush()

    def _times(self, entry: list[Cell]) -> int:
        left, right = max(0, entry[0]), max(0, entry[1])
        if self._plan.kind == "INTERSECT":
            return min(left, right) if self._plan.all else int(left > 0 and right > 0)
        return max(0, left - right) if self._plan.all else int(left > 0 and right == 0)

    def end(self) -> None:
        """Emit the rows of a bounded query."""
        if not self.context.is_streaming:
            for entry in self._table.data.values():
                self._output.extend([entry[2]] * self._times(entry))
            self._output.flush()


@dataclass(frozen=True)
class NormalizeFactory:
    """Plan that turns upserts by key into a full changelog. Flink: `ChangelogNormalize`."""

    keys: tuple[int, ...]
    types: tuple[DataType, ...]

    def make(self) -> Kernel:
        """Return the kernel."""
        return Normalize(self)


class Normalize(PlannedKernel[NormalizeFactory]):
    """Stores the row of each key, to retract it when it is replaced."""

    def open(self, context: KernelContext) -> None:
        """Open the table of rows by key."""
        super().open(context)
        self._table = expiring_table(context, "rows")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the changes that the upserts and deletes of a batch make."""
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            before = self._table.data.get(key)
            if is_retraction(kind):
                if kind == DELETE and before is not None:
                    self._table.remove(key)
                    self._output.add(DELETE, before)
                continue
            self._table.put(key, row)
            if before is None:
                self._output.add(INSERT, row)
            elif before != row:
                self._output.add(1, before)
                self._output.add(2, row)
        self._output.flush()
