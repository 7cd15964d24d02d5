"""MATCH_RECOGNIZE: a pattern over the time-ordered rows of each partition. Flink: `CepOperator`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.match.match_expressions import Matched, MatchExpression, groups_of, is_about_row
from firesteel.columns.kernels.match.match_pattern import Pattern, steps_of
from firesteel.columns.kernels.match.match_search import DeadEnds, Search
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.row_order import Order, sorted_places
from firesteel.columns.kernels.times.due_keys import DueKeys
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.rex import Call, Rex
from firesteel.columns.rows import Row, RowOutput, batch_of, keys_of, rows_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.settings import QuerySettings


@dataclass(frozen=True)
class MatchFactory:
    """Plan of a pattern; see `rel.Match`."""

    partition: tuple[int, ...]
    order: Order
    pattern: Pattern
    define: tuple[tuple[str, Cell], ...]
    measures: tuple[Cell, ...]
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

    State: the rows after the watermark; `rows` holds the rows of each partition in order, and `starts` the place of the
    first one at which a match may still start, if it is not 0. The rows before that go when they are half of them, as
    the others are written again then; rows that are added are written alone. A search that waits for further rows is
    kept beside the state, and made anew after a restore.
    """

    def __init__(self, plan: MatchFactory) -> None:
        super().__init__()
        self._plan = plan
        self._steps = steps_of(plan.pattern)

    def open(self, context: KernelContext) -> None:
        """Compile the conditions and measures, and open the state tables."""
        super().open(context)
        plan = self._plan
        self.groups = groups_of(plan, {step.name for step in self._steps})
        self._define = {name: MatchExpression(rex, plan, context) for name, rex in plan.define}
        self._measures = [MatchExpression(rex, plan, context) for rex in plan.measures]
        self._waiting, self._rows = WaitingRows(plan.partition, context), context.table("rows")
        self._starts = context.table("starts")
        self._take_over_rows()
        self._searches: dict[Row, Search] = {}
        self._ends = DueKeys()
        for key, rows in self._rows.data.items():
            self._await_end(key, rows[self._starts.data.get(key) or 0][0])
        self._looks_ahead = any(_calls_next(rex) for _, rex in plan.define)  # a condition may change with more rows
        self._remembers = plan.within is None and all(is_about_row(rex, name) for name, rex in plan.define)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._late = LateRows(context)

    def _take_over_rows(self) -> None:
        """Take over rows after the watermark that earlier releases kept one by one."""
        former = self.context.table("waiting")
        if entries := [entry for entries in former.data.values() for entry in entries]:
            rows = batch_of([row for _, row in entries], [arrow_type(kind) for kind in self._plan.types])
            self._waiting.add(rows, np.array([time for time, _ in entries]))
        for key in list(former.data):
            former.remove(key)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, search at once."""
        plan = self._plan
        if plan.is_rowtime:
            batch = self._late.with_time(batch, plan.order[0][0])
            times = millis_of(batch.columns[plan.order[0][0]])
            self._late.add(self._waiting.add_later(batch, times, self._watermark))
            return
        now = self.context.now_ms()
        for key, row in zip(self._keys(batch), rows_of(batch), strict=True):
            self._rows.append(key, [(now, row)])
            self._search(key, now)
        self._output.flush()

    def _keys(self, rows: ColumnBatch) -> list[Row]:
        return keys_of(rows, self._plan.partition, self.context.max_parallelism)

    def watermark(self, timestamp: int) -> int:
        """Search for matches in the rows up to the watermark."""
        self._watermark = timestamp
        if not self._plan.is_rowtime:
            return timestamp
        found = self._take_due(timestamp)
        for key, entries in found.items():
            self._rows.append(key, entries)
            self._search(key, timestamp)
        for key in self._ends.take(timestamp):
            # Those with new rows have just been searched.
            if key not in found:
                self._search(key, timestamp)
        self._output.flush()
        return timestamp

    def advance_processing_time(self, now_ms: int) -> None:
        """Release the matches that waited for one whose time is over."""
        if not self._plan.is_rowtime:
            for key in self._ends.take(now_ms):
                self._search(key, now_ms)
            self._output.flush()

    def next_processing_time(self) -> int | None:
        """Return when the time of the earliest match is over in processing time, or None."""
        return None if self._plan.is_rowtime else self._ends.next()

    def _take_due(self, until: int) -> dict[Row, list[Cell]]:
        """Remove the rows up to a time, and return them by key, each with its time, in their order."""
        due = self._waiting.take(until)
        if not due:
            return {}
        due = due.take(sorted_places(due.rows.columns, self._plan.order, due.arrivals))
        groups = groups_by(due.rows, self._plan.partition)
        keys = self._keys(due.rows.take(groups.first_rows()))
        due = due.take(np.argsort(groups.codes, kind="stable"))
        entries = list(zip(due.times.tolist(), rows_of(due.rows), strict=True))
        ends = np.cumsum(groups.sizes).tolist()
        return {key: entries[start:end] for key, start, end in zip(keys, [0, *ends], ends, strict=False)}

    def flush(self) -> None:
        """Write the rows after the watermark to the state."""
        self._waiting.flush()

    def end(self) -> None:
        """Search for matches in all remaining rows."""
        self.watermark(MAX_WATERMARK)

    def _search(self, key: Row, now: int) -> None:
        """Emit the matches of a partition, and remove the rows from which no match can start any more.

        As in Flink, a match waits while one that starts earlier may still come; the end of the input decides nothing.
        """
        stored = self._rows.data.get(key)
        if not stored:
            return
        rows: Sequence[Cell] = stored if isinstance(stored, list) else stored.view()  # of a long list on disk
        plan, start, search = self._plan, self._starts.data.get(key) or 0, self._searches.pop(key, None)
        dead_ends = DeadEnds() if self._remembers else None
        while start < len(rows):
            search = search or Search(self._steps, self.take, self.groups, plan.within, start, dead_ends)
            found = search.run(rows, now)
            if search.waits:
                break
            dead_ends, search = search.dead_ends, None
            if found is None:
                start += 1
                continue
            dead_ends = DeadEnds() if self._remembers else None
            partition = tuple(rows[start][1][i] for i in plan.partition)
            self._output.extend([(*partition, *(measure.value(found) for measure in self._measures))])
            start = self._next_start(found, start)
        if start < len(rows):
            self._await_end(key, rows[start][0])
        removed = self._remove_before(start, key, rows)
        if search is not None and not self._looks_ahead:
            # Kept although rows are removed: it would else take all rows of a long match again with each new one.
            search.remove_rows(removed)
            self._searches[key] = search

    def _remove_before(self, start: int, key: Row, rows: Sequence[Cell]) -> int:
        """Remove the rows before a place, if they are enough, and return how many have been removed."""
        if start == len(rows):
            self._rows.remove(key)
        elif 2 * start >= len(rows):
            self._rows.put(key, rows[start:])
        elif start != (self._starts.data.get(key) or 0):
            self._starts.put(key, start)
            return 0
        else:
            return 0
        self._starts.remove(key)
        return start

    def _await_end(self, key: Row, start: int) -> None:
        """Search again when no row can belong to a match that starts at a time any more."""
        if self._plan.within is not None:
            # In processing time a ms later, as in Flink: rows of the same ms may still come.
            self._ends.add(start + self._plan.within + (not self._plan.is_rowtime), key)

    def _next_start(self, found: Matched, start: int) -> int:
        after = self._plan.after
        if after[0] == "NEXT ROW":
            return start + 1
        if after[0] == "PAST LAST ROW":
            return start + len(found.labels)
        places = [i for i, name in enumerate(found.labels) if name == after[1]]
        if not places:
            raise RuntimeError(f"Could not skip to {after[0]} {after[1]}: the match has no row of {after[1]}")
        place = places[0] if after[0] == "FIRST" else places[-1]
        if place == 0:
            raise RuntimeError("Could not skip to first element of a match.")
        return start + place

    def take(self, name: str, matched: Matched) -> bool:
        """Add the row after those of a match if it satisfies the condition of a variable; return whether it does."""
        condition = self._define.get(name)
        matched.take(name)
        if condition is None or condition.value(matched) is True:
            return True
        matched.back_to(len(matched.labels) - 1)
        return False


def _calls_next(rex: Rex) -> bool:
    return isinstance(rex, Call) and (rex.function == "NEXT" or any(map(_calls_next, rex.operands)))
