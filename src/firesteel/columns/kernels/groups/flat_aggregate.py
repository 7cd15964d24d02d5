"""Table aggregate functions by key. Flink: `GroupTableAggFunction`."""

from __future__ import annotations

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.kernels.groups.grouping import Grouping
from firesteel.columns.rows import DELETE, INSERT, is_retraction


class FlatAggregate(Grouping):
    """Table aggregation: each change retracts and re-emits all rows of a group. Flink: `GroupTableAggFunction`."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add a batch to the groups; in streaming mode replace the rows of the changed groups."""
        self._clock.move()
        aggregates, table = self._aggregates, self._table
        for key, values, kind, arguments in self._entries(batch):
            state = table.data.get(key)
            before: list[Cell] = []
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
