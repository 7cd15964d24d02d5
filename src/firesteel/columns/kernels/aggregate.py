"""GROUP BY without windows. Flink: `GroupAggFunction`, `GroupTableAggFunction`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import ExpiringTable, expiring_table
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.aggregate_set import AggregateSet, CallPlan
from firesteel.columns.kernels.gathered_groups import GatheredGroups
from firesteel.columns.kernels.group_vectors import GroupVectors, load, results
from firesteel.columns.kernels.row_groups import can_factorize
from firesteel.columns.kernels.vector_calls import vector_calls
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    RowOutput,
    batch_of,
    is_retraction,
    keys_of,
    kinds_list,
)
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GIVEN_AT_ONCE = 10_000
"""Maximum rows per emitted batch of a bounded query."""


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
    """

    keys: tuple[int, ...]
    calls: tuple[CallPlan, ...]
    input_types: tuple[DataType, ...]
    output_types: tuple[DataType, ...]
    retracts: bool
    flat: bool = False
    mini_batch_rows: int = 0
    state_ttl_ms: int | None = None

    def make(self) -> Kernel:
        """Return the kernel."""
        return FlatAggregate(self) if self.flat else GroupAggregate(self)


class _Grouping(Kernel):
    """Base of aggregations by key. The state per key is `[row count, accumulators, values of the key]`."""

    def __init__(self, plan: GroupAggregateFactory) -> None:
        self._plan = plan
        self._vectors: GroupVectors | None = None

    def open(self, context: KernelContext) -> None:
        """Open the functions."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, plan.retracts, context)
        self._table = expiring_table(context, "groups", plan.state_ttl_ms)
        self._expires = isinstance(self._table, ExpiringTable)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def _keys(self, batch: ColumnBatch) -> tuple[list[Any], list[Any]]:
        """Return the state key of each row and the values of its key columns."""
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        if not any(pa.types.is_nested(batch.columns[k].type) for k in self._plan.keys):
            return keys, [key[1:] for key in keys]
        return keys, list(zip(*(batch.columns[k].to_pylist() for k in self._plan.keys), strict=True))

    def _entries(self, batch: ColumnBatch) -> Iterable[Any]:
        keys, originals = self._keys(batch)
        return zip(keys, originals, kinds_list(batch), self._aggregates.arguments(batch), strict=True)


class GroupAggregate(_Grouping):
    """Emits a row per group and retracts it when the group changes; vectorized if all calls can be."""

    def open(self, context: KernelContext) -> None:
        """Open the functions."""
        super().open(context)
        plan = self._plan
        self._types = [arrow_type(kind) for kind in plan.output_types]
        self._calls = vector_calls(plan.calls, plan.input_types, plan.retracts)
        self._gathered: GatheredGroups | None = None
        if self._calls is not None and all(can_factorize(kind) for kind in self._types[: len(plan.keys)]):
            types = self._types[: len(plan.keys)]
            if not context.is_streaming:
                if not context.is_state_on_disk:  # its groups are in memory
                    self._gathered = GatheredGroups(plan.keys, self._calls, types, self._aggregates.new())
                return
            self._vectors = GroupVectors(
                plan.keys,
                self._calls,
                types,
                self._table,
                self._aggregates.new,
                context.max_parallelism,
                plan.retracts,
                not (context.is_state_on_disk or self._expires),
                plan.mini_batch_rows > 0,
            )

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add a batch to the groups; in streaming mode emit how the results change."""
        size = self._plan.mini_batch_rows or max(1, batch.length)
        for start in range(0, batch.length, size):
            part = batch if size >= batch.length else batch.slice(start, min(start + size, batch.length))
            if not self._process_vectors(part):
                self._process_rows(part)

    def go_by_rows(self) -> None:
        """Disable the vectorized path, which tests compare with the row path; the results are the same."""
        self._calls = self._vectors = self._gathered = None

    def _process_vectors(self, batch: ColumnBatch) -> bool:
        if self._gathered is not None:
            if self._gathered.add(batch):
                return True
            # From here on row by row.
            self._table.data.update(self._gathered.take(self.context.max_parallelism))
            self._gathered = None
        if self._vectors is None:
            return False
        changes = self._vectors.change(batch)
        if changes is None:
            self._vectors.reset()
            return False
        self.context.emit(changes)
        return True

    def flush(self) -> None:
        """Write the groups that have changed to the table."""
        if self._vectors is not None:
            self._vectors.flush()

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
        changed: dict[Any, Any] = {}
        for key, values, kind, arguments in self._entries(batch):
            state = data.get(key)
            if key not in changed:
                changed[key] = self._results(state)
            self._update(key, state, values, kind, arguments)
        for key, before in changed.items():
            self._emit_change(before, self._results(data.get(key)))
        self._output.flush()

    def _gather(self, key: object, values: Sequence[Any], kind: int, arguments: Any) -> None:
        data = self._table.data  # without `put`: batch mode writes no versions
        state = data.get(key)
        if state is None:
            state = data[key] = [0, self._aggregates.new(), values]
        self._aggregates.add(state[1], arguments)

    def _change(self, key: object, values: object, kind: int, arguments: object) -> None:
        state = self._table.data.get(key)
        before = self._results(state)
        self._emit_change(before, self._results(self._update(key, state, values, kind, arguments)))

    def _results(self, state: list[Any] | None) -> tuple[Any, ...] | None:
        return None if state is None else state[2] + self._aggregates.values(state[1])

    def _update(self, key: object, state: Any, values: object, kind: int, arguments: Any) -> Any:
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

    def _emit_change(self, before: tuple[Any, ...] | None, after: tuple[Any, ...] | None) -> None:
        """Emit the change of a group's row; None stands for no row."""
        if before is None:
            if after is not None:
                self._output.add(INSERT, after)
        elif after is None:
            self._output.add(DELETE, before)
        elif before != after:
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
            data[0,] = [0, self._aggregates.new(), ()]
        states = iter(data.values())
        while part := list(islice(states, _GIVEN_AT_ONCE)):
            self._give(part)

    def _give(self, states: list[Any]) -> None:
        """Emit the results of groups as one batch."""
        fields = None if self._calls is None else load(self._calls, [state[1] for state in states])
        if self._calls is None or fields is None:
            for state in states:
                self._output.add(INSERT, state[2] + self._aggregates.values(state[1]))
            self._output.flush()
            return
        keys = batch_of([state[2] for state in states], self._types[: len(self._plan.keys)])
        self.context.emit(ColumnBatch((*keys.columns, *results(self._calls, fields)), len(states)))


class FlatAggregate(_Grouping):
    """Table aggregation: each change retracts and re-emits all rows of a group. Flink: `GroupTableAggFunction`."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add a batch to the groups; in streaming mode replace the rows of the changed groups."""
        aggregates, table = self._aggregates, self._table
        for key, values, kind, arguments in self._entries(batch):
            state = table.data.get(key)
            before: list[Any] = []
            if state is None:
                if is_retraction(kind):
                    continue
                state = [0, aggregates.new(), values]
            elif self.context.is_streaming:
                before = aggregates.rows(state[1])
            change = aggregates.retract if is_retraction(kind) else aggregates.add
            state[0] += -1 if is_retraction(kind) else 1
            change(state[1], arguments)
            if state[0] or not self._plan.retracts:
                table.put(key, state)
            else:
                table.remove(key)
            if self.context.is_streaming:
                for row in before:
                    self._output.add(DELETE, state[2] + row)
                for row in aggregates.rows(state[1]) if state[0] else ():
                    self._output.add(INSERT, state[2] + row)
        self._output.flush()

    def end(self) -> None:
        """Emit the rows of a bounded query."""
        if not self.context.is_streaming:
            for state in self._table.data.values():
                self._output.extend(state[2] + row for row in self._aggregates.rows(state[1]))
            self._output.flush()
