"""OVER: functions over the rows around each row. Flink: `RowTimeRowsBoundedPrecedingFunction` etc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, TimedKernel
from firesteel.columns.kernels.over_calls import Entry, OverPlan, make_call
from firesteel.columns.kernels.rank import row_key
from firesteel.columns.kernels.windows import times_of
from firesteel.columns.rows import Row, RowOutput, keys_of, rows_of
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class OverFactory(OverPlan):
    """Plan of the calls over one window; see `OverPlan`."""

    def make(self) -> Kernel:
        """Return the kernel."""
        return Over(self)


class Over(TimedKernel):
    """Emits each row with the results of the calls; in event time once the watermark has passed the row.

    State: `waiting` holds the rows after the watermark; `past` holds the rows that later frames still need, and the
    state of each call.
    """

    def __init__(self, plan: OverFactory) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the functions and the state tables."""
        super().open(context)
        plan = self._plan
        self._calls = [make_call(plan, number, context) for number in range(len(plan.calls))]
        self._waiting, self._past = context.table("waiting"), expiring_table(context, "past")
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)

    def close(self) -> None:
        """Close the functions."""
        for call in self._calls:
            call.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, emit at once."""
        plan = self._plan
        keys = keys_of(batch, plan.partition, self.context.max_parallelism)
        arguments = zip(*(call.arguments(batch) for call in self._calls), strict=True)
        rows = zip(keys, self._times(batch), rows_of(batch), arguments, strict=True)
        at_once = self.context.is_streaming and plan.time is None
        for key, time, row, values in rows:
            if at_once:
                self._give(key, [(time, row, values)])
            elif not self.context.is_streaming or time > self._watermark:
                waiting = self._waiting.data.get(key)
                if waiting is None:
                    waiting = []
                waiting.append((time, row, values))
                self._waiting.put(key, waiting)
        if at_once:
            self._output.flush()

    def _times(self, batch: ColumnBatch) -> list[Any]:
        plan = self._plan
        if self.context.is_streaming:
            return [self.context.now_ms()] * batch.length if plan.time is None else times_of(batch.columns[plan.time])
        if not plan.order:
            return [0] * batch.length
        column = batch.columns[plan.order[0][0]]
        return times_of(column) if str(column.type).startswith("timestamp") else column.to_pylist()

    def watermark(self, timestamp: int) -> int:
        """Emit the rows up to the watermark, in order of time."""
        self._watermark = timestamp
        if self.context.is_streaming and self._plan.time is not None:
            for key, rows in list(self._waiting.data.items()):
                due = sorted((entry for entry in rows if entry[0] <= timestamp), key=lambda entry: entry[0])
                if not due:
                    continue
                left = [entry for entry in rows if entry[0] > timestamp]
                if left:
                    self._waiting.put(key, left)
                else:
                    self._waiting.remove(key)
                self._give(key, due)
            self._output.flush()
        return timestamp

    def _give(self, key: Row, due: list[Entry]) -> None:
        """Compute and emit rows that follow the past ones, and store what later rows need."""
        past, kept = self._past.data.get(key) or ([], [None] * len(self._calls))
        entries = [*past, *due]
        results = []
        for number, call in enumerate(self._calls):
            found, kept[number] = call.results(entries, len(past), kept[number])
            results.append(found)
        for i, (_, row, _) in enumerate(due):
            self._output.extend([(*row, *(found[i] for found in results))])
        reach = max((call.reach(entries) for call in self._calls), default=0)
        self._past.put(key, (entries[len(entries) - reach :] if reach else [], kept))

    def end(self) -> None:
        """Emit the rows of a bounded query, partition by partition."""
        if self.context.is_streaming:
            return
        key_of = row_key(self._plan.order)
        for rows in self._waiting.data.values():
            if self._plan.order:
                rows.sort(key=lambda entry: key_of(entry[1]))
            results = [call.whole(rows) for call in self._calls]
            for i, (_, row, _) in enumerate(rows):
                self._output.extend([(*row, *(found[i] for found in results))])
        self._output.flush()
        self._watermark = MAX_WATERMARK
