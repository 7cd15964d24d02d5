"""GROUP BY without windows. Flink: `GroupAggFunction`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.ranked_calls import RankedCalls
from firesteel.columns.kernels.calls.ranked_values import VectorRanked
from firesteel.columns.kernels.calls.vector_calls import VectorCall
from firesteel.columns.kernels.calls.vector_values import VectorStates
from firesteel.columns.kernels.calls.vectorized import group_calls
from firesteel.columns.kernels.groups.distinct_filters import DistinctFilters
from firesteel.columns.kernels.groups.flat_aggregate import FlatAggregate
from firesteel.columns.kernels.groups.gathered_groups import GatheredGroups
from firesteel.columns.kernels.groups.group_vectors import RESULT_BYTES, GroupVectors, load, results
from firesteel.columns.kernels.groups.grouping import Grouping
from firesteel.columns.row_groups import can_factorize
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    are_retractions,
    batch_of,
    is_retraction,
)
from firesteel.columns.state_layout import Layout, groups_layout
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GIVEN_AT_ONCE = 10_000
"""Maximum rows per emitted batch of a bounded query."""

_MOST_ROWS = 1 << 20
"""Rows that change the groups at once."""

_MOST_OBJECTS = 1024
"""So many rows at most if all results are there before any is emitted."""


@dataclass(frozen=True)
class GroupAggregateFactory:
    """Plan of an aggregation by key columns.

    Attributes:
        input_types: Logical types of the input's columns.
        output_types: Logical types of the keys, followed by those of the calls.
        retracts: Whether the input contains retractions.
        flat: Whether the only call is a table aggregate function.
        mini_batch_rows: The number of rows after which each changed group emits its new result, at the latest with the
            end of the column batch; 0 emits each change of a result.
        state_ttl_ms: The time to live of groups, from the hint STATE_TTL; None for that of the job.
        skips_retractions: Whether retractions change no result, as each is followed by a row that counts more.
        emits_before: Whether `-U` comes before an update.
    """

    keys: tuple[int, ...]
    calls: tuple[CallPlan, ...]
    input_types: tuple[DataType, ...]
    output_types: tuple[DataType, ...]
    retracts: bool
    flat: bool = False
    mini_batch_rows: int = 0
    state_ttl_ms: int | None = None
    skips_retractions: bool = False
    emits_before: bool = True

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return groups_layout(self.keys, self.calls, self.input_types, self.retracts)

    def make(self) -> Kernel:
        """Return the kernel."""
        return FlatAggregate(self) if self.flat else GroupAggregate(self)


class GroupAggregate(Grouping):
    """Emits a row per group and retracts it when the group changes; vectorized if all calls can be.

    With a time to live, a row is emitted anew also if it is the same, as by Flink: the state of operators that follow
    must not expire before that of its group.
    """

    def open(self, context: KernelContext) -> None:
        """Open the functions."""
        super().open(context)
        plan, context = self._plan, self.context
        self._types = [arrow_type(kind) for kind in plan.output_types]
        self._gathered: GatheredGroups | None = None
        self._vectors: GroupVectors | None = None
        self._at_once = plan.mini_batch_rows or _MOST_ROWS
        self._grows = False
        self._cleaning = CleaningTime(self._ttl_ms, context.now_ms)
        self._ranked = RankedCalls(())
        self._distinct = DistinctFilters(plan.keys, plan.calls, plan.input_types, plan.retracts)
        calls = self._calls = group_calls(self._distinct.calls, plan.input_types, plan.retracts)
        types = self._types[: len(plan.keys)]
        if calls is None or self._distinct.has_nested or not all(map(can_factorize, types)):
            # The row path keeps the values of DISTINCT calls in their states, which do not load as arrays.
            self._calls = None if self._distinct else calls
            return
        self._distinct.open(context, self._ttl_ms)
        if self._distinct.counts_null:
            self.go_by_rows()
            return
        self._ranked = RankedCalls(calls)
        if context.is_streaming:
            self._open_vectors(calls, types)
        # States of others are objects, which change in place, or are in tables.
        elif any(isinstance(call, VectorStates | VectorRanked) for call in calls):
            self.go_by_rows()
        elif not context.is_state_on_disk:  # its groups are in memory
            self._gathered = GatheredGroups(plan.keys, calls, types, self._empty())

    def _open_vectors(self, calls: list[VectorCall], types: list[pa.DataType]) -> None:
        are_changed = bool(self._distinct) and self._distinct.take(self._table)
        if self._ranked:
            key_types = [arrow_type(self._plan.input_types[key]) for key in self._plan.keys]
            self._ranked.open(key_types, self.context, self._ttl_ms)
            if not self._ranked.may_take(self._table):
                self.go_by_rows()
                return
            are_changed |= self._ranked.take(self._table)
        self._vectors = self._new_vectors(calls, types)
        if not self._plan.mini_batch_rows and any(isinstance(call, VectorStates) for call in calls):
            self._at_once, self._grows = _MOST_OBJECTS, True
        self._vectors.take(are_changed)

    def _new_vectors(self, calls: list[VectorCall], types: list[pa.DataType]) -> GroupVectors:
        plan = self._plan
        return GroupVectors(
            plan.keys,
            [arrow_type(plan.input_types[key]) for key in plan.keys],
            calls,
            types,
            self._table,
            self._empty,
            self.context,
            plan.retracts,
            plan.mini_batch_rows > 0,
            plan.emits_before,
            self._ttl_ms > 0,
        )

    def _empty(self) -> list[Cell]:
        """Return the accumulators of a group without rows; the distinct values are kept apart from them."""
        calls = zip(self._plan.calls, self._aggregates.new(), strict=True)
        return [state[1] if call.distinct else state for call, state in calls]

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add a batch to the groups; in streaming mode emit how the results change."""
        self._clock.move()
        if self._plan.skips_retractions and batch.kinds is not None:
            batch = replace(batch.filter(~are_retractions(batch.kinds)), kinds=None)
        start = 0
        while start < batch.length:
            part = batch.slice(start, min(start + self._at_once, batch.length))
            start += part.length
            if not self._process_vectors(part):
                self._process_rows(part)

    def go_by_rows(self) -> None:
        """Leave the vectorized path, with which tests compare the row path; the results are the same."""
        if self._vectors is not None:
            self._vectors.give_back()
        if self._ranked:
            self._ranked.give(self._table)
        if self._distinct:
            self._distinct.give(self._table)
        self._calls = self._vectors = self._gathered = None

    def _process_vectors(self, batch: ColumnBatch) -> bool:
        if self._gathered is None and self._vectors is None:
            return False
        # Distinct values have no times of their own: they expire with their group.
        begins = self._vectors.begins(batch) if self._vectors and self._distinct and self._ttl_ms else None
        columns = self._distinct.add_columns(batch, begins)
        if self._gathered is not None:
            if columns is not None and self._gathered.add(columns):
                self._distinct.accept()
                return True
            # From here on row by row.
            self._table.data.update(self._gathered.take(self.context.max_parallelism))
            self._gathered = None
        elif self._vectors is not None:
            changes = None if columns is None else self._vectors.change(columns)
            if changes is not None:
                self._distinct.accept()
                self._emit(changes, batch.length)
                return True
            if not (self._distinct or self._ranked):
                self._vectors.give_back(batch)
        if self._distinct or self._ranked:  # The values of a group can't be in both places: all go by rows from here.
            self.go_by_rows()
        return False

    def _emit(self, changes: Iterable[ColumnBatch], rows: int) -> None:
        """Emit the changes by some rows; where these may take much room, the next rows are fewer."""
        size = 1
        for part in changes:
            self.context.emit(part)
            size += part.nbytes if self._grows else 0
        if self._grows:
            self._at_once = max(1, min(_MOST_OBJECTS, rows * RESULT_BYTES // size))

    def flush(self) -> None:
        """Write the distinct values that have changed; the groups are written as columns."""
        self._clock.move()
        if self._vectors is not None:
            self._distinct.flush()
            is_due = self._cleaning.is_due()
            self._vectors.flush(is_due)
            if is_due:
                self._cleaning.done()

    def _process_rows(self, batch: ColumnBatch) -> None:
        if self.context.is_streaming and self._plan.mini_batch_rows:
            self._change_together(batch)
            return
        update = self._change if self.context.is_streaming else self._gather
        for key, values, kind, arguments in self._entries(batch):
            update(key, values, kind, arguments)
        self._output.flush()

    def _change_together(self, batch: ColumnBatch) -> None:
        """Emit how each group has changed from the first to the last row of a batch."""
        data = self._table.data
        changed: dict[Cell, Cell] = {}
        for key, values, kind, arguments in self._entries(batch):
            state = data.get(key)
            if key not in changed:
                changed[key] = self._results(state)
            self._update(key, state, values, kind, arguments)
        for key, before in changed.items():
            self._emit_change(before, self._results(data.get(key)))
        self._output.flush()

    def _gather(self, key: object, values: Sequence[Cell], kind: int, arguments: Cell) -> None:
        data = self._table.data  # without `put`: batch mode writes no versions
        state = data.get(key)
        if state is None:
            state = data[key] = [0, self._aggregates.new(), values]
        self._aggregates.add(state[1], arguments)

    def _change(self, key: object, values: object, kind: int, arguments: object) -> None:
        state = self._table.data.get(key)
        before = self._results(state)
        self._emit_change(before, self._results(self._update(key, state, values, kind, arguments)))

    def _results(self, state: list[Cell] | None) -> tuple[Cell, ...] | None:
        return None if state is None else state[2] + self._aggregates.values(state[1])

    def _update(self, key: object, state: Cell, values: object, kind: int, arguments: Cell) -> Cell:
        """Add or retract a row, and return the new state of its group; None if the group has no rows."""
        taken_back = is_retraction(kind)
        if state is None:
            if taken_back:
                return None
            state = [0, self._aggregates.new(), values]
        if taken_back:
            state[0] -= 1
            self._aggregates.retract(state[1], arguments)
        else:
            state[0] += 1
            self._aggregates.add(state[1], arguments)
        if state[0] == 0 and self._plan.retracts:
            self._table.remove(key)
            return None
        self._table.put(key, state)
        return state

    def _emit_change(self, before: tuple[Cell, ...] | None, after: tuple[Cell, ...] | None) -> None:
        """Emit the change of a group's row; None stands for no row."""
        if before is None:
            if after is not None:
                self._output.add(INSERT, after)
        elif after is None:
            self._output.add(DELETE, before)
        elif before != after or self._ttl_ms:
            if self._plan.emits_before:
                self._output.add(UPDATE_BEFORE, before)
            self._output.add(UPDATE_AFTER, after)

    def end(self) -> None:
        """Emit the results of a bounded query.

        Without group keys there is one result even if there was no row; the first subtask emits it.
        """
        if self.context.is_streaming:
            return
        if self._gathered is not None:
            for batch in self._gathered.results():
                self.context.emit(batch)
            if self._gathered.count:
                return
        data = self._table.data
        if not self._plan.keys and not data and self.context.subtask_index == 0:
            # As `keys_of` has it for rows without keys.
            data[0,] = [0, self._aggregates.new() if self._calls is None else self._empty(), ()]
        states = iter(data.values())
        while part := list(islice(states, _GIVEN_AT_ONCE)):
            self._give(part)

    def _give(self, states: list[Cell]) -> None:
        """Emit the results of groups as one batch."""
        fields = None if self._calls is None else load(self._calls, [state[1] for state in states])
        if self._calls is None or fields is None:
            for state in states:
                self._output.add(INSERT, state[2] + self._aggregates.values(state[1]))
            self._output.flush()
            return
        keys = batch_of([state[2] for state in states], self._types[: len(self._plan.keys)])
        self.context.emit(ColumnBatch((*keys.columns, *results(self._calls, fields)), len(states)))
