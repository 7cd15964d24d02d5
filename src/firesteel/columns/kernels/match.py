"""MATCH_RECOGNIZE: a pattern over the time-ordered rows of each partition. Flink: `CepOperator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, LateRows, StateTable, TimedKernel
from firesteel.columns.kernels.due_keys import DueKeys
from firesteel.columns.kernels.match_expressions import Matched, MatchExpression, groups_of
from firesteel.columns.kernels.match_pattern import Pattern, Step, steps_of
from firesteel.columns.kernels.rank import row_key
from firesteel.columns.kernels.row_order import Order
from firesteel.columns.kernels.windows import times_of
from firesteel.columns.rex import Call, Rex
from firesteel.columns.rows import Row, RowOutput, keys_of, rows_of
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

    def make(self) -> Kernel:
        """Return the kernel."""
        return Match(self)


class Match(TimedKernel):
    """Keeps the rows from which a match may still start, and searches them when the watermark advances.

    State: `waiting` holds the rows after the watermark; `rows` holds, in order, the rows at which matches may start. A
    search that waits for further rows is kept beside the state, and made anew after a restore.
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
        self._waiting, self._rows = context.table("waiting"), context.table("rows")
        self._searches: dict[Row, _Search] = {}
        self._due = DueKeys()
        for key, rows in self._waiting.data.items():
            for time, _ in rows:
                self._due.add(time, key)
        for key, rows in self._rows.data.items():
            self._await_end(key, rows[0][0])
        self._looks_ahead = any(_calls_next(rex) for _, rex in plan.define)  # a condition may change with more rows
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._late = LateRows(context)
        self._key = row_key(plan.order)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, search at once."""
        plan = self._plan
        keys = keys_of(batch, plan.partition, self.context.max_parallelism)
        now = self.context.now_ms()
        times = times_of(batch.columns[plan.order[0][0]]) if plan.is_rowtime else [now] * batch.length
        for key, time, row in zip(keys, times, rows_of(batch), strict=True):
            if not plan.is_rowtime:
                self._append(self._rows, key, [(time, row)])
                self._search(key, now)
            elif time is not None and time > self._watermark:
                self._append(self._waiting, key, [(time, row)])
                self._due.add(time, key)
            elif time is not None:
                self._late.add(1)
        self._output.flush()

    def _append(self, table: StateTable, key: Row, entries: list[Cell]) -> None:
        rows = table.data.get(key) or []
        rows += entries
        table.put(key, rows)

    def watermark(self, timestamp: int) -> int:
        """Search for matches in the rows up to the watermark."""
        self._watermark = timestamp
        if not self._plan.is_rowtime:
            return timestamp
        for key in self._due.take(timestamp):
            waiting = self._waiting.data.get(key) or []
            due = [entry for entry in waiting if entry[0] <= timestamp]
            if due and len(due) < len(waiting):
                self._waiting.put(key, [entry for entry in waiting if entry[0] > timestamp])
            elif due:
                self._waiting.remove(key)
            if due:
                due.sort(key=lambda entry: self._key(entry[1]))
                self._append(self._rows, key, due)
            self._search(key, timestamp)
        self._output.flush()
        return timestamp

    def end(self) -> None:
        """Search for matches in all remaining rows."""
        self.watermark(MAX_WATERMARK)

    def _search(self, key: Row, now: int) -> None:
        """Emit the matches of a partition, and remove the rows from which no match can start any more.

        As in Flink, a match waits while one that starts earlier may still come; the end of the input decides nothing.
        """
        rows = self._rows.data.get(key)
        if not rows:
            return
        start, search = 0, self._searches.pop(key, None)
        while start < len(rows):
            search = search or _Search(self, start)
            found = search.run(rows, now)
            if search.waits:
                break
            search = None
            if found is None:
                start += 1
                continue
            partition = tuple(rows[start][1][i] for i in self._plan.partition)
            self._output.extend([(*partition, *(measure.value(found) for measure in self._measures))])
            start = self._next_start(found, start)
        if search is not None:
            search.begins_at(0)
            if not self._looks_ahead:
                self._searches[key] = search
        if start >= len(rows):
            self._rows.remove(key)
            return
        if start:
            self._rows.put(key, rows[start:])
        self._await_end(key, rows[start][0])

    def _await_end(self, key: Row, start: int) -> None:
        """Search again when no row can belong to a match that starts at a time any more."""
        if self._plan.within is not None and self._plan.is_rowtime:
            self._due.add(start + self._plan.within, key)

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

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the pattern."""
        return self._steps

    @property
    def within(self) -> int | None:
        """Return the maximum duration of a match (ms), or None."""
        return self._plan.within


class _Point(NamedTuple):
    """A place of the search to go on from: a step of the pattern after some rows of it, and all rows before.

    Attributes:
        step: The step.
        taken: The number of rows of this step.
        length: The number of rows of the match.
        takes: Whether the next row is to be tried; otherwise all ways from here are.
    """

    step: int
    taken: int
    length: int
    takes: bool = False


class _Search:
    """Searches for the match that starts at one row.

    The rules are those of Flink's NFA. A greedy loop (`A*`, `A+`, `A{n,}`, `A{n,m}`) takes every row that satisfies its
    condition, without backtracking if a later variable then finds no row. An optional variable (`A?`) and a reluctant
    loop (`A+?`) are left as early as possible, because the match that ends first wins.
    """

    def __init__(self, kernel: Match, start: int) -> None:
        self._kernel, self._steps, self._within = kernel, kernel.steps, kernel.within
        self._matched = Matched(start, kernel.groups)
        self._points = [_Point(0, 0, 0)]
        self._is_over = False
        self.waits = False

    def begins_at(self, start: int) -> None:
        """Set where the match starts in the rows, from which earlier ones have been removed."""
        self._matched.start = start

    def run(self, rows: list[Cell], now: int) -> Matched | None:
        """Return the match, or None; if the search waits for more rows it is to be run again when they have come.

        The points to go on from are a stack and no calls, as a match may have any number of rows.

        Args:
            rows: The rows of the partition, each with its time.
            now: The time up to which all rows have come.
        """
        self._matched.rows, self.waits = rows, False
        within = self._within
        self._is_over = within is not None and now - rows[self._matched.start][0] >= within
        points, matched, last = self._points, self._matched, len(self._steps)
        while points:
            point = points.pop()
            if len(matched.labels) > point.length:
                matched.back_to(point.length)
            if point.step == last:
                if point.length:
                    return matched
                continue
            following = self._taken(point) if point.takes else self._ways(point)
            if self.waits:  # as in Flink, for rows that may make a match that begins here, whatever else there is
                points.append(point)
                return None
            points += following
        return None

    def _ways(self, point: _Point) -> list[_Point]:
        """Return the points after one, the one to be tried first last."""
        current = self._steps[point.step]
        if point.taken < current.low:
            return self._taken(point)
        if current.is_greedy_loop and (taken := self._taken(point)):
            return taken
        leaving = _Point(point.step + 1, 0, point.length)
        if current.is_greedy_loop or point.taken == current.high:
            return [leaving]
        return [_Point(point.step, point.taken, point.length, True), leaving]

    def _taken(self, point: _Point) -> list[_Point]:
        """Take the next row if it satisfies the condition of the step's variable, and return the point after it."""
        current, rows = self._steps[point.step], self._matched.rows
        place = self._matched.start + point.length
        if current.high is not None and point.taken >= current.high:
            return []
        if place >= len(rows):
            self.waits = not self._is_over
            return []
        within = self._within
        if within is not None and rows[place][0] - rows[self._matched.start][0] >= within:
            return []
        if not self._kernel.take(current.name, self._matched):
            return []
        return [_Point(point.step, point.taken + 1, point.length + 1)]


def _calls_next(rex: Rex) -> bool:
    return isinstance(rex, Call) and (rex.function == "NEXT" or any(map(_calls_next, rex.operands)))
