"""MATCH_RECOGNIZE: a pattern over the time-ordered rows of each partition. Flink: `CepOperator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, TimedKernel
from firesteel.columns.kernels.match_expressions import Matched, MatchExpression
from firesteel.columns.kernels.match_pattern import Pattern, Step, steps_of
from firesteel.columns.kernels.rank import Order, row_key
from firesteel.columns.kernels.windows import times_of
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
    define: tuple[tuple[str, Any], ...]
    measures: tuple[Any, ...]
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

    State: `waiting` holds the rows after the watermark; `rows` holds, in order, the rows at which matches may start.
    """

    def __init__(self, plan: MatchFactory) -> None:
        super().__init__()
        self._plan = plan
        self._steps = steps_of(plan.pattern)

    def open(self, context: KernelContext) -> None:
        """Compile the conditions and measures, and open the state tables."""
        super().open(context)
        plan = self._plan
        subsets = dict(plan.subsets)
        self._define = {name: MatchExpression(rex, plan, subsets, context) for name, rex in plan.define}
        self._measures = [MatchExpression(rex, plan, subsets, context) for rex in plan.measures]
        self._waiting, self._rows = context.table("waiting"), context.table("rows")
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._key = row_key(plan.order)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, search at once."""
        plan = self._plan
        keys = keys_of(batch, plan.partition, self.context.max_parallelism)
        now = self.context.now_ms()
        times = times_of(batch.columns[plan.order[0][0]]) if plan.is_rowtime else [now] * batch.length
        for key, time, row in zip(keys, times, rows_of(batch), strict=True):
            if not plan.is_rowtime:
                self._rows.put(key, [*(self._rows.data.get(key) or []), (time, row)])
                self._search(key, now)
            elif time is not None and time > self._watermark:
                self._waiting.put(key, [*(self._waiting.data.get(key) or []), (time, row)])
        self._output.flush()

    def watermark(self, timestamp: int) -> int:
        """Search for matches in the rows up to the watermark."""
        self._watermark = timestamp
        if not self._plan.is_rowtime:
            return timestamp
        for key in list({**self._waiting.data, **self._rows.data}):
            waiting = self._waiting.data.get(key) or []
            due = sorted((e for e in waiting if e[0] <= timestamp), key=lambda e: self._key(e[1]))
            left = [entry for entry in waiting if entry[0] > timestamp]
            if due and left:
                self._waiting.put(key, left)
            elif due:
                self._waiting.remove(key)
            if due:
                self._rows.put(key, [*(self._rows.data.get(key) or []), *due])
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
        start = 0
        while start < len(rows):
            search = _Search(self, rows, start, now)
            found = search.run(0, 0, start, [])
            if search.undecided:
                break
            if found is None:
                start += 1
                continue
            partition = tuple(rows[start][1][i] for i in self._plan.partition)
            self._output.extend([(*partition, *(measure.value(found, None) for measure in self._measures))])
            start = self._next_start(found, start)
        if start >= len(rows):
            self._rows.remove(key)
        elif start:
            self._rows.put(key, rows[start:])

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

    def fits(self, name: str, rows: list[Any], start: int, labels: list[str]) -> bool:
        """Return whether the row after the labelled ones satisfies the condition of a variable."""
        condition = self._define.get(name)
        if condition is None:
            return True
        matched = Matched(rows, start, [*labels, name])
        return condition.value(matched, name) is True

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the pattern."""
        return self._steps

    @property
    def within(self) -> int | None:
        """Return the maximum duration of a match (ms), or None."""
        return self._plan.within


class _Search:
    """Searches for the match that starts at one row.

    The rules are those of Flink's NFA. A greedy loop (`A*`, `A+`, `A{n,}`, `A{n,m}`) takes every row that satisfies its
    condition, without backtracking if a later variable then finds no row. An optional variable (`A?`) and a reluctant
    loop (`A+?`) are left as early as possible, because the match that ends first wins.
    """

    def __init__(self, kernel: Match, rows: list[Any], start: int, now: int) -> None:
        self._kernel = kernel
        self._rows = rows
        self._start = start
        self._is_over = kernel.within is not None and now - rows[start][0] >= kernel.within
        self.undecided = False

    def run(self, step: int, count: int, place: int, labels: list[str]) -> Matched | None:
        """Return the match from a step of the pattern on, after `count` rows of that step."""
        steps = self._kernel.steps
        if step == len(steps):
            return Matched(self._rows, self._start, labels) if labels else None
        current = steps[step]
        if current.is_greedy_loop and count >= current.low and self._may_take(step, count, place, labels):
            return self._take(step, count, place, labels)
        for choice in (self._leave, self._take):
            found = choice(step, count, place, labels)
            if found is not None:
                return found
        return None

    def _leave(self, step: int, count: int, place: int, labels: list[str]) -> Matched | None:
        return self.run(step + 1, 0, place, labels) if count >= self._kernel.steps[step].low else None

    def _may_take(self, step: int, count: int, place: int, labels: list[str]) -> bool:
        """Return whether the next row satisfies the condition of a step's variable."""
        current = self._kernel.steps[step]
        if current.high is not None and count >= current.high:
            return False
        if place >= len(self._rows):
            self.undecided = self.undecided or not self._is_over
            return False
        within = self._kernel.within
        if within is not None and self._rows[place][0] - self._rows[self._start][0] >= within:
            return False
        return self._kernel.fits(current.name, self._rows, self._start, labels)

    def _take(self, step: int, count: int, place: int, labels: list[str]) -> Matched | None:
        if not self._may_take(step, count, place, labels):
            return None
        return self.run(step, count + 1, place + 1, [*labels, self._kernel.steps[step].name])
