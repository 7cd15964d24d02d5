"""Functions over the rows around each row: rankings, LAG and LEAD, and aggregates over frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING

from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.functions.accumulators import State
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.rows.row_order import Order
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import Row
from firesteel.columns.state_layout import Layout, groups_layout, rows_layout
from firesteel.errors import JobExecutionError

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch

RANKINGS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE"})
NAVIGATION = frozenset({"LAG", "LEAD"})
NULL_OFFSET = "The offset of LAG or LEAD is NULL"
_PEER_RANKINGS = frozenset({"RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"})

Entry = tuple[Cell, Row, Cell]
"""Time (ms, or the first ORDER BY value in batch mode), row, and the arguments of each call."""


@dataclass(frozen=True)
class FramePlan:
    """The frame of a window; see `rel.Frame`."""

    is_rows: bool
    low: float | None
    high: float | None


@dataclass(frozen=True)
class OverPlan:
    """Plan of the calls over one window.

    Attributes:
        time: In streaming mode, the index of the time attribute; None for processing time.
        types: Logical types of the input's columns.
        output_types: Logical types of the input's columns and of the calls.
    """

    partition: tuple[int, ...]
    order: Order
    frame: FramePlan
    calls: tuple[CallPlan, ...]
    types: tuple[DataType, ...]
    output_types: tuple[DataType, ...]
    time: int | None

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        rows = rows_layout("OVER", self.types, self.partition, self.order)
        return *rows, *groups_layout(self.partition, self.calls, self.types)


class OverCall:
    """One call over the ordered rows of a partition."""

    def __init__(self, plan: OverPlan, number: int) -> None:
        self.plan = plan
        self.call = plan.calls[number]
        self.number = number
        self._order = [index for index, _, _ in plan.order]

    def close(self) -> None:
        """Close the functions."""

    def arguments(self, batch: ColumnBatch) -> list[Cell]:
        """Return the argument values of each row."""
        columns = [pylist(batch.columns[i]) for i in self.call.arguments]
        return list(zip(*columns, strict=True)) if columns else [()] * batch.length

    def results(self, entries: list[Entry], start: int, kept: object) -> tuple[list[Cell], Cell]:
        """Return the results of the rows from `start` on, and the state to keep for the next call.

        The rows before `start` are the past ones that `reach` asked for.
        """
        raise NotImplementedError

    def whole(self, entries: list[Entry]) -> list[Cell]:
        """Return the results of a whole partition."""
        raise NotImplementedError

    def so_far(self, entries: list[Entry]) -> list[Cell]:
        """Return the results of a partition whose frames begin with the first row and end with the current one."""
        return self.whole(entries)

    def reach(self, entries: list[Entry]) -> int:
        """Return how many of the last rows the frames of later rows need."""
        return 0

    def values(self, entries: list[Entry]) -> list[Cell]:
        """Return the arguments of this call for each row."""
        return [entry[2][self.number] for entry in entries]

    def last_peers(self, entries: list[Entry], start: int) -> Sequence[int]:
        """Return for each row from `start` on the index of the last row equal to it in the ORDER BY columns."""
        places = list(range(start, len(entries)))
        for i in range(len(places) - 2, -1, -1):
            if self.are_peers(entries[start + i], entries[start + i + 1]):
                places[i] = places[i + 1]
        return places

    def are_peers(self, a: Entry, b: Entry) -> bool:
        """Return whether two rows are equal in the ORDER BY columns."""
        return all(a[1][column] == b[1][column] for column in self._order)


class Ranking(OverCall):
    """ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST and NTILE.

    The first three run on streams, by continuing to count. The others need the whole partition.
    """

    def results(self, entries: list[Entry], start: int, kept: Cell) -> tuple[list[Cell], Cell]:
        """Return the ranks; the state is the number of rows.

        On streams, RANK and DENSE_RANK of Flink return the number of rows up to the last peer.
        """
        before = (kept or 0) - start
        if self.call.function == "ROW_NUMBER":
            found = list(range(before + start + 1, before + len(entries) + 1))
        else:
            found = [before + place + 1 for place in self.last_peers(entries, start)]
        return found, before + len(entries)

    def whole(self, entries: list[Entry]) -> list[Cell]:
        """Return the ranks of a whole partition."""
        total, name = len(entries), self.call.function
        if name == "NTILE":
            return _tiles(total, self.values(entries)[0][0])
        if name == "CUME_DIST":
            apart = are_counted_apart(self.plan, self.number)
            return [(place + 1) / total for place in (range(total) if apart else self.last_peers(entries, 0))]
        if name == "PERCENT_RANK":
            ranks = self._ranks(entries)
            return [(rank - 1) / (total - 1) if total > 1 else 0.0 for rank in ranks]
        if name == "ROW_NUMBER":
            return list(range(1, total + 1))
        ranks = self._ranks(entries)
        return ranks if name == "RANK" else list(accumulate(int(i + 1 == rank) for i, rank in enumerate(ranks)))

    def _ranks(self, entries: list[Entry]) -> list[int]:
        ranks: list[int] = []
        for i in range(len(entries)):
            ranks.append(ranks[-1] if i and self.are_peers(entries[i - 1], entries[i]) else i + 1)
        return ranks


def are_counted_apart(plan: OverPlan, number: int) -> bool:
    """Return whether a CUME_DIST counts each row apart, and not with its peers.

    In Flink, rankings of one window share the frame of the first one, and those of RANK, DENSE_RANK and PERCENT_RANK
    consist of rows.
    """
    rankings = [call.function for call in plan.calls[:number] if call.function in _PEER_RANKINGS]
    return bool(rankings) and rankings[0] != "CUME_DIST"


def _tiles(total: int, tiles: int) -> list[int]:
    size, larger = divmod(total, tiles)
    found: list[int] = []
    for tile in range(1, tiles + 1):
        found += [tile] * (size + (1 if tile <= larger else 0))
    return found[:total]


class Navigation(OverCall):
    """LAG and LEAD: values of preceding or following rows."""

    def results(self, entries: list[Entry], start: int, kept: object) -> tuple[list[Cell], Cell]:
        """Return the values of preceding rows; there is no state besides the rows.

        In a RANGE frame, the default, all peers get the value of the last one, as in Flink.
        """
        values, name = self.values(entries), self.call.function
        places = range(start, len(entries)) if self.plan.frame.is_rows else self.last_peers(entries, start)
        return [self._neighbour(values, place, name, values[place]) for place in places], None

    def whole(self, entries: list[Entry]) -> list[Cell]:
        """Return the values of preceding or following rows in a whole partition.

        If the window also has other functions, Flink splits it, and all LAG and LEAD calls then share the
        `OffsetOverFrame` of the first one.
        """
        calls, values = self.plan.calls, self.values(entries)
        shared = next(number for number, call in enumerate(calls) if call.function in NAVIGATION)
        leader = self.number if all(call.function in NAVIGATION for call in calls) else shared
        name = calls[leader].function
        return [self._neighbour(values, i, name, entries[i][2][leader]) for i in range(len(entries))]

    def so_far(self, entries: list[Entry]) -> list[Cell]:
        """Return the values of preceding rows, call by call."""
        values, name = self.values(entries), self.call.function
        return [self._neighbour(values, place, name, values[place]) for place in range(len(entries))]

    def _neighbour(self, values: list[Cell], i: int, name: object, arguments: object) -> object:
        offset = _offset(arguments)
        other = i - offset if name == "LAG" else i + offset
        if 0 <= other < len(values):
            return values[other][0]
        return values[i][2] if len(values[i]) > 2 else None

    def reach(self, entries: list[Entry]) -> int:
        """Return the largest offset."""
        return max(map(_offset, self.values(entries)), default=0)


def _offset(arguments: Cell) -> int:
    offset: int | None = arguments[1] if len(arguments) > 1 else 1
    if offset is None:
        raise JobExecutionError(NULL_OFFSET)
    return offset


def new_states(aggregates: AggregateSet) -> list[State]:
    """Return the states of a frame without rows.

    Flink computes SUM by $SUM0 in OVER, which begins with 0.0: there, a sum of -0.0 is 0.0.
    """
    return [
        [state[0] + 0.0, *state[1:]] if state and isinstance(state[0], float) else state for state in aggregates.new()
    ]


class Framed(OverCall):
    """An aggregate function over a frame.

    A frame that starts at the first row needs only a running accumulator. Any other frame slides over the kept rows.
    """

    def __init__(self, plan: OverPlan, number: int, context: KernelContext) -> None:
        super().__init__(plan, number)
        self._is_running = plan.frame.low is None and context.is_streaming
        self._set = AggregateSet((self.call,), plan.types, plan.frame.low is not None, context)
        self._descending = bool(plan.order) and plan.order[0][1]

    def close(self) -> None:
        """Close the functions."""
        self._set.close()

    def arguments(self, batch: ColumnBatch) -> list[Cell]:
        """Return the argument values of each row."""
        return list(self._set.arguments(batch))

    def results(self, entries: list[Entry], start: int, kept: Cell) -> tuple[list[Cell], Cell]:
        """Return the aggregates; the state is the running accumulator, or None for a sliding frame."""
        if not self._is_running:
            return self._framed(entries, start), None
        states = new_states(self._set) if kept is None else kept
        values, found, i = self.values(entries), [], start
        while i < len(entries):
            end = i + 1
            while not self.plan.frame.is_rows and end < len(entries) and self.are_peers(entries[i], entries[end]):
                end += 1
            for j in range(i, end):
                self._set.add(states, values[j])
            found += [self._set.values(states)[0]] * (end - i)
            i = end
        return found, states

    def whole(self, entries: list[Entry]) -> list[Cell]:
        """Return the aggregates of a whole partition."""
        return self._framed(entries, 0)

    def so_far(self, entries: list[Entry]) -> list[Cell]:
        """Return the running aggregates."""
        return self.results(entries, 0, None)[0]

    def reach(self, entries: list[Entry]) -> int:
        """Return the number of rows in the frame of the last row or of the next one."""
        frame = self.plan.frame
        if frame.low is None:
            return 0
        if frame.is_rows:
            return int(-frame.low)
        return sum(1 for entry in entries if entry[0] >= entries[-1][0] + frame.low)

    def _framed(self, entries: list[Entry], start: int) -> list[Cell]:
        """Slide the frame over the rows: add the rows that enter it and retract those that leave it."""
        aggregates, states, values = self._set, new_states(self._set), self.values(entries)
        low = high = 0
        found = []
        for i in range(start, len(entries)):
            first, last = self._bounds(entries, i, low, high)
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

    def _bounds(self, entries: list[Entry], i: int, low: int, high: int) -> tuple[float, float]:
        """Return the index of the first row of the frame and the one after its last row, given those before."""
        frame, total = self.plan.frame, len(entries)
        if frame.is_rows:
            first = 0 if frame.low is None else max(0, i + frame.low)
            last = total if frame.high is None else min(total, i + frame.high + 1)
            return first, max(first, last)
        first = 0 if frame.low is None else self._edge(entries, i, frame.low, True, low)
        return first, total if frame.high is None else self._edge(entries, i, frame.high, False, high)

    def _edge(self, entries: list[Entry], i: int, offset: float, is_low: bool, before: int) -> int:
        """Return where the frame of a row begins or ends, which is not before those of the rows before it."""
        if offset == 0 or entries[i][0] is None:  # NULL is near other NULLs only
            return self._peers(entries, i, is_low, before)
        sign, own = -1 if self._descending else 1, entries[i][0]
        limit = Decimal(repr(offset)) if isinstance(own, Decimal) else offset
        for j in range(before, len(entries)):
            value = entries[j][0]
            if value is None:
                is_behind = j > i
            else:
                distance = 0 if value == own else sign * (value - own)  # also of two that are infinite
                is_behind = distance >= limit if is_low else distance > limit
            if is_behind:
                return j
        return len(entries)

    def _peers(self, entries: list[Entry], i: int, is_low: bool, before: int) -> int:
        """Return where the peers of a row begin or end, sought from the edge of the rows before it."""
        if is_low:
            return next(j for j in range(before, i + 1) if self.are_peers(entries[j], entries[i]))
        j = max(before, i + 1)
        while j < len(entries) and self.are_peers(entries[j], entries[i]):
            j += 1
        return j


def make_call(plan: OverPlan, number: int, context: KernelContext) -> OverCall:
    """Create the implementation of one of the calls."""
    name = plan.calls[number].function
    if name in RANKINGS:
        return Ranking(plan, number)
    return Navigation(plan, number) if name in NAVIGATION else Framed(plan, number, context)
