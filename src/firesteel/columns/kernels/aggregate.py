"""GROUP BY without windows. Flink: `GroupAggFunction`, and its table aggregate kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.aggregate_set import AggregateSet, CallPlan
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    RowOutput,
    is_retraction,
    keys_of,
    kinds_list,
)
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class GroupAggregateFactory:
    """Groups by key columns.

    Attributes:
        input_types: Logical types of the input's columns.
        output_types: Of the keys, then of the calls.
        retracts: Whether the input takes rows back.
        flat: The only call is a table aggregate function.
    """

    keys: tuple[int, ...]
    calls: tuple[CallPlan, ...]
    input_types: tuple[Any, ...]
    output_types: tuple[Any, ...]
    retracts: bool
    flat: bool = False

    def make(self) -> Kernel:
        """Return the kernel."""
        return FlatAggregate(self) if self.flat else GroupAggregate(self)


class _Grouping(Kernel):
    """What aggregates by key share: state is the row counter, the accumulators and the key's values."""

    def __init__(self, plan: GroupAggregateFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the functions."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, plan.retracts, context)
        self._table = context.table("groups")
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def _entries(self, batch: ColumnBatch) -> Any:
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        values = zip(*(batch.columns[k].to_pylist() for k in self._plan.keys), strict=True)
        originals = list(values) if self._plan.keys else [()] * batch.length
        return zip(keys, originals, kinds_list(batch), self._aggregates.arguments(batch), strict=True)


class GroupAggregate(_Grouping):
    """Gives a row per group, and takes it back when the group changes."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Take rows; on a stream each changes the result of its group."""
        update = self._change if self.context.is_streaming else self._gather
        for key, values, kind, arguments in self._entries(batch):
            update(key, values, kind, arguments)
        self._output.flush()

    def _gather(self, key: Any, values: Any, kind: int, arguments: Any) -> None:
        data = self._table.data
        state = data.get(key)
        if state is None:
            state = data[key] = [0, self._aggregates.new(), values]
        self._aggregates.add(state[1], arguments)

    def _change(self, key: Any, values: Any, kind: int, arguments: Any) -> None:
        aggregates, table, add = self._aggregates, self._table, self._output.add
        state = table.data.get(key)
        taken_back = is_retraction(kind)
        if state is None:
            if taken_back:
                return
            state = [0, aggregates.new(), values]
            before = None
        else:
            before = aggregates.values(state[1])
        if taken_back:
            state[0] -= 1
            aggregates.retract(state[1], arguments)
        else:
            state[0] += 1
            aggregates.add(state[1], arguments)
        if state[0] == 0 and self._plan.retracts:
            table.remove(key)
            if before is not None:
                add(DELETE, state[2] + before)
            return
        table.put(key, state)
        after = aggregates.values(state[1])
        if before is None:
            add(INSERT, state[2] + after)
        elif before != after:
            add(UPDATE_BEFORE, state[2] + before)
            add(UPDATE_AFTER, state[2] + after)

    def end(self) -> None:
        """Give the results of a bounded query; without keys there is one even of no rows."""
        if self.context.is_streaming:
            return
        data = self._table.data
        if not self._plan.keys and not data and self.context.subtask_index == 0:
            data[0,] = [0, self._aggregates.new(), ()]
        for state in data.values():
            self._output.add(INSERT, state[2] + self._aggregates.values(state[1]))
        self._output.flush()


class FlatAggregate(_Grouping):
    """A table aggregate function: all rows of a group are taken back and given anew. Flink: `GroupTableAggFunction`."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Take rows."""
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
            table.put(key, state)
            if self.context.is_streaming:
                for row in before:
                    self._output.add(DELETE, state[2] + row)
                for row in aggregates.rows(state[1]) if state[0] else ():
                    self._output.add(INSERT, state[2] + row)
        self._output.flush()

    def end(self) -> None:
        """Give the rows of a bounded query."""
        if not self.context.is_streaming:
            for state in self._table.data.values():
                self._output.extend(state[2] + row for row in self._aggregates.rows(state[1]))
            self._output.flush()
