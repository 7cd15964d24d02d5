"""OVER: functions over the rows around each row. Flink: `RowTimeRowsBoundedPrecedingFunction` and its kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import MAX_WATERMARK, MIN_WATERMARK, Kernel, KernelContext
from firesteel.columns.kernels.aggregate_set import AggregateSet, CallPlan
from firesteel.columns.kernels.rank import Order, row_key
from firesteel.columns.kernels.windows import times_of
from firesteel.columns.rows import Row, RowOutput, keys_of, rows_of
from firesteel.columns.values import arrow_type

RANKINGS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE"})
NAVIGATION = frozenset({"LAG", "LEAD"})


@dataclass(frozen=True)
class FramePlan:
    """What rows a call takes; see `rel.Frame`."""

    is_rows: bool
    low: Any
    high: Any


@dataclass(frozen=True)
class OverFactory:
    """Calls over one window.

    Attributes:
        time: On a stream: index of the time attribute, None: processing time.
        types: Logical types of the input's columns.
        output_types: Those and the calls'.
    """

    partition: tuple[int, ...]
    order: Order
    frame: FramePlan
    calls: tuple[CallPlan, ...]
    types: tuple[Any, ...]
    output_types: tuple[Any, ...]
    time: int | None

    def make(self) -> Kernel:
        """Return the kernel."""
        return Over(self)


Entry = tuple[Any, Row, Any]
"""Time (ms, or the value that a batch sorts by), row, and the arguments of the calls."""


class Over(Kernel):
    """Gives each row with the results of the calls; on a stream when the watermark has passed it."""

    def __init__(self, plan: OverFactory) -> None:
        self._plan = plan
        self._watermark = MIN_WATERMARK

    def open(self, context: KernelContext) -> None:
        """Open the functions; state: rows that wait, and those that later rows need."""
        super().open(context)
        plan = self._plan
        self._calls = [_Call(call, plan, context) for call in plan.calls]
        self._waiting, self._past = context.table("waiting"), context.table("past")
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)

    def close(self) -> None:
        """Close the functions."""
        for call in self._calls:
            call.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows; late ones are dropped."""
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
        """Give the rows up to the watermark, in the order of time."""
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
        """Compute rows that follow those of before."""
        past = self._past.data.get(key) or []
        entries = [*past, *due]
        results = [call.results(entries, len(past)) for call in self._calls]
        for i, (_, row, _) in enumerate(due):
            self._output.extend([(*row, *(found[i] for found in results))])
        self._past.put(key, self._needed(entries))

    def _needed(self, entries: list[Entry]) -> list[Entry]:
        frame = self._plan.frame
        reach = max((call.reach for call in self._calls), default=0)
        if frame.low is None and any(call.uses_frame for call in self._calls):
            return entries
        if not frame.is_rows and frame.low is not None:
            latest = entries[-1][0]
            inside = sum(1 for entry in entries if entry[0] >= latest + frame.low)
            return entries[len(entries) - max(inside, reach) :]
        count = max(reach, -(frame.low or 0))
        return entries[len(entries) - count :] if count else []

    def end(self) -> None:
        """Give the rows of a bounded query, partition by partition."""
        if self.context.is_streaming:
            return
        key_of = row_key(self._plan.order)
        for rows in self._waiting.data.values():
            if self._plan.order:
                rows.sort(key=lambda entry: key_of(entry[1]))
            results = [call.results(rows, 0, whole=True) for call in self._calls]
            for i, (_, row, _) in enumerate(rows):
                self._output.extend([(*row, *(found[i] for found in results))])
        self._output.flush()
        self._watermark = MAX_WATERMARK

    def snapshot(self) -> Any:
        """Return the watermark."""
        return self._watermark

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        self._watermark = snapshot


class _Call:
    """One call over the rows of a partition in order."""

    def __init__(self, call: CallPlan, plan: OverFactory, context: KernelContext) -> None:
        self._call = call
        self._plan = plan
        name = call.function if isinstance(call.function, str) else ""
        self._name = name
        self.uses_frame = name not in RANKINGS and name not in NAVIGATION
        self._set = AggregateSet((call,), plan.types, True, context) if self.uses_frame else None
        self.reach = 0
        self._order = [index for index, _, _ in plan.order]
        self._descending = bool(plan.order) and plan.order[0][1]
        if name == "LAG":
            self.reach = 1_000_000

    def close(self) -> None:
        """Close the functions."""
        if self._set is not None:
            self._set.close()

    def arguments(self, batch: ColumnBatch) -> list[Any]:
        """Return the values of the arguments, row by row."""
        if self._set is not None:
            return list(self._set.arguments(batch))
        columns = [batch.columns[i].to_pylist() for i in self._call.arguments]
        return list(zip(*columns, strict=True)) if columns else [()] * batch.length

    def results(self, entries: list[Entry], start: int, whole: bool = False) -> list[Any]:
        """Return the results of the rows from `start` on."""
        place = [entry[2][self._place(entry)] for entry in entries]
        if self._name in NAVIGATION:
            return [self._neighbour(entries, place, i, whole) for i in range(start, len(entries))]
        if self._name in RANKINGS:
            return self._ranks(entries, place)[start:]
        return self._framed(entries, place, start)

    def _place(self, entry: Entry) -> int:
        return self._plan.calls.index(self._call)

    def _neighbour(self, entries: list[Entry], values: list[Any], i: int, whole: bool) -> Any:
        """Return the value of a row before or behind; in BATCH Flink's `OffsetOverFrame` is that of the first call."""
        first = next(n for n, call in enumerate(self._plan.calls) if call.function in NAVIGATION) if whole else None
        name = self._name if first is None else self._plan.calls[first].function
        offset_of = values[i] if first is None else entries[i][2][first]
        offset = offset_of[1] if len(offset_of) > 1 else 1
        other = i - offset if name == "LAG" else i + offset
        if 0 <= other < len(values):
            return values[other][0]
        return values[i][2] if len(values[i]) > 2 else None

    def _ranks(self, entries: list[Entry], values: list[Any]) -> list[Any]:
        total = len(entries)
        if self._name == "ROW_NUMBER":
            return list(range(1, total + 1))
        if self._name == "NTILE":
            return _tiles(total, values[0][0])
        ranks: list[int] = []
        dense: list[int] = []
        for i, (_, row, _) in enumerate(entries):
            same = i > 0 and all(row[c] == entries[i - 1][1][c] for c in self._order)
            ranks.append(ranks[-1] if same else i + 1)
            dense.append(dense[-1] if same else (dense[-1] + 1 if dense else 1))
        if self._name == "RANK":
            return ranks
        if self._name == "DENSE_RANK":
            return dense
        if self._name == "PERCENT_RANK":
            return [(rank - 1) / (total - 1) if total > 1 else 0.0 for rank in ranks]
        return [number / total for number in range(1, total + 1)]  # Flink's CUME_DIST tells peers apart

    def _framed(self, entries: list[Entry], values: list[Any], start: int) -> list[Any]:
        """Move the frame over the rows: add what enters, take back what leaves."""
        assert self._set is not None
        aggregates, states = self._set, self._set.new()
        low = high = 0
        found = []
        for i in range(start, len(entries)):
            first, last = self._bounds(entries, i)
            while high < last:
                if high >= low:
                    aggregates.add(states, values[high])
                high += 1
            while low < first:
                if low < high:
                    aggregates.retract(states, values[low])
                low += 1
            found.append(aggregates.values(states)[0])
        return found

    def _bounds(self, entries: list[Entry], i: int) -> tuple[int, int]:
        """Return the first row of the frame and the one behind its last."""
        frame, total = self._plan.frame, len(entries)
        if frame.is_rows:
            first = 0 if frame.low is None else max(0, i + frame.low)
            last = total if frame.high is None else min(total, i + frame.high + 1)
            return first, max(first, last)
        first, last = 0, total
        if frame.low is not None:
            first = self._edge(entries, i, frame.low, True)
        if frame.high is not None:
            last = self._edge(entries, i, frame.high, False)
        return first, last

    def _edge(self, entries: list[Entry], i: int, offset: Any, is_low: bool) -> int:
        if offset == 0:  # peers: rows that the order does not tell apart
            return self._peers(entries, i, is_low)
        sign = -1 if self._descending else 1
        bound = entries[i][0] + sign * offset
        j = i
        if is_low:
            while j > 0 and sign * entries[j - 1][0] >= sign * bound:
                j -= 1
            while j < len(entries) and sign * entries[j][0] < sign * bound:
                j += 1
            return j
        while j < len(entries) and sign * entries[j][0] <= sign * bound:
            j += 1
        return j

    def _peers(self, entries: list[Entry], i: int, is_low: bool) -> int:
        row = entries[i][1]

        def is_peer(j: int) -> bool:
            return all(entries[j][1][c] == row[c] for c in self._order)

        j = i
        if is_low:
            while j > 0 and is_peer(j - 1):
                j -= 1
            return j
        while j < len(entries) and is_peer(j):
            j += 1
        return j


def _tiles(total: int, tiles: int) -> list[int]:
    size, larger = divmod(total, tiles)
    found: list[int] = []
    for tile in range(1, tiles + 1):
        found += [tile] * (size + (1 if tile <= larger else 0))
    return found[:total]
