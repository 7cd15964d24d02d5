"""OVER: functions over the rows around each row. Flink: `RowTimeRowsBoundedPrecedingFunction` etc."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.chosen_kernel import ChosenKernel
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, LateRows, StateTable, TimedKernel
from firesteel.columns.kernels.over.bounded_over import BoundedOver
from firesteel.columns.kernels.over.over_calls import Entry, OverPlan, make_call
from firesteel.columns.kernels.over.over_columns import OverColumns, over_vectors
from firesteel.columns.kernels.over.whole_calls import are_on_arrays
from firesteel.columns.kernels.rows.row_order import row_key
from firesteel.columns.kernels.times.due_keys import DueKeys
from firesteel.columns.kernels.times.time_windows import millis_of, times_of
from firesteel.columns.row_keys import python_values
from firesteel.columns.rows import Row, RowOutput, keys_of, rows_of
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class OverFactory(OverPlan):
    """Plan of the calls over one window; see `OverPlan`."""

    def make(self) -> Kernel:
        """Return the kernel."""
        return ChosenOver(self)


class ChosenOver(ChosenKernel[OverFactory]):
    """A window on arrays, unless some calls have no arrays, or the restored state is one of rows.

    Former releases wrote such state for some windows.
    """

    def _choose(self, context: KernelContext) -> Kernel:
        plan = self._plan
        if not context.is_streaming:
            return BoundedOver(plan, lambda: Over(plan)) if are_on_arrays(plan) else Over(plan)
        calls = over_vectors(plan)
        if calls is None or any(context.table(name).data for name in ("waiting", "past", "ends")):
            return Over(plan)
        return OverColumns(plan, calls)


class Over(TimedKernel):
    """Emits each row with the results of the calls; in event time once the watermark has passed the row.

    With a frame that begins a number of rows or a time before each row, a row is late if one of its partition that is
    not older has been emitted; with other frames, if the watermark has passed it. That is what Flink's functions do.

    State: `waiting` holds the rows that were not emitted; `past` holds the rows that later frames still need, the state
    of each call, and the time until which rows are late; `ends` holds when the state of a partition is removed, see
    `_RangeEnds`.
    """

    def __init__(self, plan: OverFactory) -> None:
        super().__init__()
        self._plan = plan
        self._is_late_by_partition = plan.frame.low is not None

    def open(self, context: KernelContext) -> None:
        """Open the functions and the state tables."""
        super().open(context)
        plan = self._plan
        self._calls = [make_call(plan, number, context) for number in range(len(plan.calls))]
        self._waiting, self._past = context.table("waiting"), expiring_table(context, "past")
        self._due = DueKeys()
        for key, rows in self._waiting.data.items():
            self._wait(key, rows)
        has_ends = context.is_streaming and plan.time is not None and not plan.frame.is_rows
        low = plan.frame.low if has_ends else None
        self._ends = None if low is None else _RangeEnds(context.table("ends"), -low)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._late = LateRows(context)

    def close(self) -> None:
        """Close the functions."""
        for call in self._calls:
            call.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, emit at once."""
        plan = self._plan
        if self.context.is_streaming and plan.time is not None:
            batch = self._late.with_time(batch, plan.time)
        keys = keys_of(batch, plan.partition, self.context.max_parallelism)
        arguments = zip(*(call.arguments(batch) for call in self._calls), strict=True)
        rows = zip(keys, self._times(batch), rows_of(batch), arguments, strict=True)
        # In processing time, the order of arrival is the order of the rows, so nothing has to wait.
        at_once = self.context.is_streaming and plan.time is None
        for key, time, row, values in rows:
            if at_once:
                self._give(key, [(time, row, values)])
            elif not self.context.is_streaming or not self._is_late(key, time):
                waiting = self._waiting.data.get(key)
                if waiting is None:
                    waiting = []
                waiting.append((time, row, values))
                self._waiting.put(key, waiting)
                self._wait(key, waiting[-1:])
                if self._ends is not None:
                    self._ends.extend(key, time)
            else:
                self._late.add(1)
        if at_once:
            self._output.flush()

    def _wait(self, key: Row, rows: Iterable[Entry]) -> None:
        """Note when rows are due."""
        if self.context.is_streaming:
            for time, *_ in rows:
                self._due.add(time, key)

    def _is_late(self, key: Row, time: int) -> bool:
        if not self._is_late_by_partition:
            return time <= self._watermark
        past = self._past.data.get(key)
        return past is not None and time <= past[2]

    def _times(self, batch: ColumnBatch) -> list[Cell]:
        plan = self._plan
        if self.context.is_streaming:
            if plan.time is None:
                return [self.context.now_ms()] * batch.length
            times: list[Cell] = millis_of(batch.columns[plan.time]).tolist()
            return times
        if not plan.order:
            return [0] * batch.length
        column = batch.columns[plan.order[0][0]]
        return times_of(column) if str(column.type).startswith("timestamp") else python_values(column)

    def watermark(self, timestamp: int) -> int:
        """Emit the rows up to the watermark, in order of time."""
        self._watermark = timestamp
        if self.context.is_streaming and self._plan.time is not None:
            for key in self._due.take(timestamp):
                rows = self._waiting.data[key]
                # By time alone: rows of one time stay in the order in which they came, and rows need not be comparable.
                due = sorted((entry for entry in rows if entry[0] <= timestamp), key=lambda entry: entry[0])
                left = [entry for entry in rows if entry[0] > timestamp]
                if left:
                    self._waiting.put(key, left)
                else:
                    self._waiting.remove(key)
                self._give(key, due)
            self._output.flush()
            for key, time in () if self._ends is None else self._ends.pass_by(timestamp):
                past = self._past.data.get(key)
                if time is None:
                    self._past.remove(key)
                elif past is not None:
                    self._past.put(key, (*past[:2], max(past[2], time)))
        return timestamp

    def _give(self, key: Row, due: list[Entry]) -> None:
        """Compute and emit rows that follow the past ones, and store what later rows need."""
        past, kept, _ = self._past.data.get(key) or ([], [None] * len(self._calls), None)
        entries = [*past, *due]
        results = []
        for number, call in enumerate(self._calls):
            found, kept[number] = call.results(entries, len(past), kept[number])
            results.append(found)
        for i, (_, row, _) in enumerate(due):
            self._output.extend([(*row, *(found[i] for found in results))])
        # So many of the last rows are in frames of rows that are still to come.
        reach = max((call.reach(entries) for call in self._calls), default=0)
        self._past.put(key, (entries[max(0, len(entries) - reach) :], kept, due[-1][0]))

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


class _RangeEnds:
    """The times at which partitions of range frames end. Flink: `registerCleanupTimer` of `RowTimeRangeBounded...`.

    A partition without new rows is removed when the watermark passes its end, which is up to one and a half times the
    range behind its last row. A row that moves the end replaces no timer, and rows before a timer that has fired are
    late.

    Args:
        table: The timers of each partition, ascending; the last one is its end.
        range_ms: How far frames reach back.
    """

    def __init__(self, table: StateTable, range_ms: float) -> None:
        self._table = table
        self._range_ms = range_ms
        self._number = count()
        self._timers = [(time, next(self._number), key) for key, times in table.data.items() for time in times]
        heapify(self._timers)

    def extend(self, key: Row, time: int) -> None:
        """Move the end of the partition of a row, if it is too near."""
        times = self._table.data.get(key) or []
        if times and times[-1] > time + self._range_ms:
            return
        # Flink's cleanup time: half a range of room, so that a busy partition does not set a timer with each row.
        end = time + self._range_ms * 3 // 2 + 1
        self._table.put(key, [*times, end])
        heappush(self._timers, (end, next(self._number), key))

    def pass_by(self, watermark: int) -> Iterator[tuple[Row, int | None]]:
        """Yield the partitions whose timers fire, with the time of the timer; None if the partition has ended."""
        while self._timers and self._timers[0][0] <= watermark:
            time, _, key = heappop(self._timers)
            left = [other for other in self._table.data.get(key) or () if other > time]
            if left:
                self._table.put(key, left)
                yield key, time
            else:
                self._table.remove(key)
                yield key, None
