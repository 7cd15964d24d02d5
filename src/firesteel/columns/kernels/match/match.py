"""MATCH_RECOGNIZE: a pattern over the time-ordered rows of each partition. Flink: `CepOperator`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.match.match_expressions import MatchExpression, is_about_row
from firesteel.columns.kernels.match.match_finding import Finding, Matches, Partitions, Width
from firesteel.columns.kernels.match.match_memory import MAX_STATES, Memory
from firesteel.columns.kernels.match.match_pattern import Groups, Pattern, steps_of
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_running import RunningValues
from firesteel.columns.kernels.match.match_search import Search
from firesteel.columns.kernels.match.match_skip import Skip
from firesteel.columns.kernels.match.match_steps import Steps
from firesteel.columns.kernels.match.match_threads import KeptThreads
from firesteel.columns.kernels.rows.past_rows import FoundRows, PastRows, PlacedRows
from firesteel.columns.kernels.rows.row_order import Order, sorted_places
from firesteel.columns.kernels.rows.segments import distinct, first_of_segments, parts_of
from firesteel.columns.kernels.times.time_queue import TimeQueue
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.orders import is_ascending, stable_order
from firesteel.columns.rex import Rex
from firesteel.columns.rows import batch_of
from firesteel.columns.runs.room import room_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.settings import QuerySettings

_ALL_ROWS = 2**62
_AT_ONCE = 1 << 16
"""About how many rows the matches have that are emitted together."""

_BEHIND = 2**62


@dataclass(frozen=True)
class MatchFactory:
    """Plan of a pattern; see `rel.Match`."""

    partition: tuple[int, ...]
    order: Order
    pattern: Pattern
    define: tuple[tuple[str, Rex], ...]
    measures: tuple[Rex, ...]
    after: tuple[str, ...]
    within: int | None
    subsets: tuple[tuple[str, tuple[str, ...]], ...]
    types: tuple[DataType, ...]
    output_types: tuple[DataType, ...]
    is_rowtime: bool
    settings: QuerySettings

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return rows_layout("pattern", self.types, self.partition, self.order)

    def make(self) -> Kernel:
        """Return the kernel."""
        return Match(self)


class Match(TimedKernel):
    """Keeps the rows from which a match may still start, and searches them when the watermark advances.

    State: the rows after the watermark, and the rows of each partition from the first one on at which a match may still
    start. A search that waits for further rows is kept beside the state, and made anew after a restore.
    """

    def __init__(self, plan: MatchFactory) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Compile the conditions and measures, and open the state tables."""
        super().open(context)
        plan = self._plan
        steps = steps_of(plan.pattern)
        groups = Groups(steps, plan.subsets)
        define = {name: MatchExpression(rex, plan, groups, context) for name, rex in plan.define}
        self._measures = [MatchExpression(rex, plan, groups, context) for rex in plan.measures]
        aggregates = [aggregate for condition in define.values() for aggregate in condition.aggregates]
        running = RunningValues(aggregates)
        self._steps = Steps(steps, {name: condition.holds for name, condition in define.items()}, running)
        self._skip = Skip(plan.after, groups)
        self._are_local = all(is_about_row(rex, name) for name, rex in plan.define)
        self._remembers = (
            self._are_local
            and plan.within is None
            and not self._skip.needs_rows
            and self._steps.state_count < MAX_STATES
        )
        # In Flink, too, each row may be the first one of a match, but none is behind it before its time.
        may_fail = any(condition.may_fail for condition in define.values())
        self._looks_ahead = not may_fail and all(aggregate.running for aggregate in aggregates)
        self._width = Width(may_fail)
        self._waiting = WaitingRows(plan.partition, context)
        self._past = PastRows(plan.partition, _ALL_ROWS, replace(context, state_ttl_ms=0))
        self._late = LateRows(context)
        self._none = batch_of([], [arrow_type(kind) for kind in plan.types])
        self._take_over_rows()
        self._await_all()

    def _take_over_rows(self) -> None:
        """Take over rows that earlier releases kept one by one."""
        types = [arrow_type(kind) for kind in self._plan.types]
        after, until, starts = (self.context.table(name) for name in ("waiting", "rows", "starts"))
        if entries := [entry for entries in after.data.values() for entry in entries]:
            self._waiting.add(batch_of([row for _, row in entries], types), np.array([time for time, _ in entries]))
        if lists := [list(rows)[starts.data.get(key) or 0 :] for key, rows in until.data.items()]:
            rows = batch_of([row for entries in lists for _, row in entries], types)
            self._past.add(self._placed(rows, np.array([time for entries in lists for time, _ in entries]))[0])
        for former in (after, until, starts):
            for key in list(former.data):
                former.remove(key)

    def _await_all(self) -> None:
        """Await the ends of the first matches of all partitions, whose searches begin anew."""
        self._threads = KeptThreads(self._steps.begin)
        self._ends = TimeQueue(room_of(self.context))
        if self._plan.within is not None:
            for rows in self._past.parts():
                is_first = first_of_segments(rows.numbers)
                self._await_ends(rows.numbers[is_first], rows.times[is_first], self._plan.within)

    def _await_ends(self, numbers: Array, times: Array, within: int) -> None:
        """Search partitions again when no row can belong to matches that start at times any more."""
        # In processing time a ms later, as in Flink: rows of the same ms may still come.
        ends = times + within + (not self._plan.is_rowtime)
        self._ends.add(ColumnBatch((pa.array(numbers),), len(numbers)), ends)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, search at once."""
        plan = self._plan
        if plan.is_rowtime:
            batch = self._late.with_time(batch, plan.order[0][0])
            times = millis_of(batch.columns[plan.order[0][0]])
            self._late.add(self._waiting.add_later(batch, times, self._watermark))
        else:
            now = self.context.now_ms()
            self._find(batch, np.full(batch.length, now), now)

    def watermark(self, timestamp: int) -> int:
        """Search for matches in the rows up to the watermark."""
        self._watermark = timestamp
        if self._plan.is_rowtime:
            due = self._waiting.take(timestamp)
            if due is None:
                self._find_due(timestamp)
            else:
                due = due.take(sorted_places(due.rows.columns, self._plan.order, due.arrivals))
                self._find(due.rows, due.times, timestamp)
        return timestamp

    def advance_processing_time(self, now_ms: int) -> None:
        """Release the matches that waited for one whose time is over."""
        if not self._plan.is_rowtime:
            self._find_due(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when the time of the earliest match is over in processing time, or None."""
        return None if self._plan.is_rowtime else self._ends.next()

    def end(self) -> None:
        """Search for matches in all remaining rows."""
        self.watermark(MAX_WATERMARK)

    def flush(self) -> None:
        """Write the rows after the watermark, and those at which a match may start."""
        self._waiting.flush()
        if self._past.forget_ended_keys():
            self._await_all()
        self._past.flush()

    def _due(self, now: int) -> Array:
        """Return the numbers of the partitions in which the time of a match is over."""
        due = self._ends.take(now)
        return np.zeros(0, np.int64) if due is None else due.rows.columns[0].to_numpy()

    def _find_due(self, now: int) -> None:
        numbers = distinct(self._due(now))
        if len(numbers):
            none = np.zeros(0, np.int64)
            self._search(numbers, PlacedRows(self._none, none, none, none), none, now)

    def _find(self, rows: ColumnBatch, times: Array, now: int) -> None:
        """Search in partitions that have new rows, given in their order, or in which the time of a match is over."""
        added, order = self._placed(rows, times)
        self._search(distinct(np.concatenate([added.numbers, self._due(now)])), added, order, now)
        self._past.add(added)

    def _placed(self, rows: ColumnBatch, times: Array) -> tuple[PlacedRows, Array]:
        """Return new rows, given in their order, by partition, and the place of each among those given."""
        numbers = self._past.find(rows, self._plan.partition)
        order = stable_order(numbers)
        if not is_ascending(order):
            rows, numbers, times = rows.take(order), numbers[order], times[order]
        return PlacedRows(rows, numbers, self._past.next_places(numbers), times), order

    def _search(self, numbers: Array, added: PlacedRows, order: Array, now: int) -> None:
        """Emit the matches in the rows of partitions, and forget the rows at which none can start any more.

        Args:
            numbers: The partitions.
            added: Their new rows, by partition.
            order: The number of each new row in the order of time.
            now: The time up to which all rows have come.
        """
        new = FoundRows.of(added, numbers)
        rows = MatchRows(self._past.found(numbers), new)
        partitions = Partitions(rows, rows.firsts.copy(), rows.limits, rows.news, self._threads.take(numbers))
        memory = Memory(len(rows)) if self._remembers else None
        search = Search(self._steps, rows, self._looks_ahead, self._are_local, memory)
        found = Finding(partitions, self._skip, self._plan.within, now, self._width).run(search)
        if found is not None:
            self._emit(found, rows, np.append(order, _BEHIND), new.begins)
        self._threads.put(numbers[partitions.threads.searches], partitions.threads)
        self._forget(rows, numbers, partitions.starts)

    def _forget(self, rows: MatchRows, numbers: Array, starts: Array) -> None:
        """Forget the rows before the first one at which a match may start."""
        is_gone, is_known = starts > rows.firsts, rows.firsts < rows.news
        places = self._past.counts(numbers) + starts - rows.news
        self._past.forget_until(numbers, places)
        known = np.flatnonzero(is_gone & is_known)
        if len(known):
            former = rows.take(range(len(self._plan.types)), rows.firsts[known])
            self._past.pass_by(former, numbers[known], places[known])
        if self._plan.within is not None:
            begun = np.flatnonzero((starts < rows.limits) & (is_gone | ~is_known))
            self._await_ends(numbers[begun], rows.times[starts[begun]], self._plan.within)

    def _emit(self, found: Matches, rows: MatchRows, order: Array, begins: Array) -> None:
        """Emit matches in the order of the rows that have released them.

        Args:
            found: The matches.
            rows: The rows.
            order: The number of each new row in the order of time, and a last one.
            begins: By partition, the place of its first new row among these.
        """
        is_behind = found.released >= rows.limits[found.partitions]
        released = begins[found.partitions] + found.released - rows.news[found.partitions]
        by_time = stable_order(order[np.where(is_behind, -1, released)])
        matches = found.taken.take(by_time)
        for start, stop in parts_of(matches.lasts - matches.starts + 1, _AT_ONCE):
            taken = matches.take(np.arange(start, stop))
            keys = rows.take(self._plan.partition, taken.starts)
            measures = (measure.column(taken) for measure in self._measures)
            self.context.emit(ColumnBatch((*keys.columns, *measures), len(taken)))
