"""The rows of sessions that have not ended, on arrays.

A session is known when it ends: the last row of a key that no later row follows within the gap. So rows only wait, in
runs sorted by key and time, and in a queue by the time at which a session would end with them. When that time comes, a
search tells whether other rows follow. Each row is added and taken once, however many rows its key has.

State: a log of the rows, and a log of how far the sessions of a key have ended. Both are written anew when most rows
of the first one are gone.

Why: `docs/decisions/0046-rows-of-keys-in-sorted-runs.md`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import MAX_WATERMARK, MIN_WATERMARK, KernelContext
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers, grown
from firesteel.columns.kernels.rows.row_log import RowLog
from firesteel.columns.kernels.rows.saved_rows import LEAST, SavedRows, refuse_former
from firesteel.columns.kernels.rows.segments import bisect_right, first_of_segments, last_of_segments, ranges
from firesteel.columns.kernels.times.time_queue import TimeQueue
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.session_spans import Ended, Merge, Spans, concat_spans, in_order, session_codes
from firesteel.columns.runs.room import room_of


class SessionRows:
    """The rows that wait for the end of their session.

    Args:
        window: The sessions.
        keys: The columns by which rows are partitioned.
        context: The environment of the kernel; the state has been restored.
        merge: Merges rows that belong to the same session; None keeps them as they are.
    """

    def __init__(
        self, window: WindowPlan, keys: tuple[int, ...], context: KernelContext, merge: Merge | None = None
    ) -> None:
        self._gap, self._clock = window.size, window.clock
        self._keys, self._groups = keys, context.max_parallelism
        self._merge = merge
        self._passed = np.zeros(0, np.int64)  # by key: the last row of the sessions that have ended
        self._least = np.zeros(0, np.int64)  # by key: the first row that waits and is not after that one
        self._runs: list[Spans] = []
        self._room = room_of(context)
        self._numbers = KeyNumbers(self._room.spill)
        self._queue = TimeQueue(self._room)
        self._gone = self._arrived = 0
        refuse_former(context, "sessions", "windows")
        self._log = SavedRows(context.table("session rows"), keys, context.max_parallelism)
        self._ends = RowLog(context.table("session ends"))
        self._restore()

    def _restore(self) -> None:
        for ends in self._ends.rows():
            self._pass_by(self._number(ends, range(len(self._keys))), ends.columns[-1].to_numpy())
        self._saved = 0
        for rows in self._log.rows():
            starts, lasts = (column.to_numpy() for column in rows.columns[-2:])
            spans = self._spans(rows.with_columns(rows.columns[:-2]), starts, lasts)
            self._push(spans.take(np.flatnonzero(self._is_waiting(spans))))
        self._saved = self._arrived
        self._unsaved: list[Spans] = []
        self._unsaved_ends: list[ColumnBatch] = []

    def add(self, rows: ColumnBatch, times: Array, is_late: Array) -> int:
        """Add rows; late ones only if they belong to a session that has not ended.

        Args:
            rows: The rows.
            times: Their times (local ms).
            is_late: Which rows the watermark has passed by more than the gap.

        Returns:
            The number of rows that were dropped.
        """
        spans = self._spans(rows, times, times)
        if (~self._is_waiting(spans) & ~is_late).any():
            # In another job the watermark begins anew, and with it the sessions.
            self._compact()
            spans = spans.numbered(self._number(rows, self._keys))
        if is_late.any():
            spans = self._without_late(spans, is_late)
        if spans.length:
            added = self._push(spans)
            self._unsaved.append(added)
        return rows.length - spans.length

    def _spans(self, rows: ColumnBatch, starts: Array, lasts: Array) -> Spans:
        numbers = self._number(rows, self._keys)
        arrivals = np.arange(self._arrived, self._arrived + rows.length)
        self._arrived += rows.length
        return Spans(rows, numbers, starts, lasts, arrivals)

    def _number(self, rows: ColumnBatch, columns: Sequence[int]) -> Array:
        numbers = self._numbers.find(rows, columns)
        self._passed = grown(self._passed, len(self._numbers), MIN_WATERMARK)
        self._least = grown(self._least, len(self._numbers), MAX_WATERMARK)
        return numbers

    def _is_waiting(self, spans: Spans) -> Array:
        waits: Array = spans.lasts > self._passed[spans.numbers]
        return waits

    def _push(self, spans: Spans) -> Spans:
        """Add rows to the runs and the queue, and return them as they were added."""
        run = self._sorted(spans)
        before = np.flatnonzero(run.starts <= self._passed[run.numbers])
        # `at`, as one key may occur several times.
        np.minimum.at(self._least, run.numbers[before], run.starts[before])
        # By the run alone: an end that another run prolongs is found to be stale when it is due.
        self._enqueue(run)
        self._runs.append(run)
        while len(self._runs) > 1 and self._room.should_merge(self._runs[-2].rows, self._runs[-1].rows):
            self._runs.append(self._sorted(concat_spans([self._runs.pop(-2), self._runs.pop()])))
        self._runs[-1] = replace(self._runs[-1], rows=self._room.rows(self._runs[-1].rows))
        return run

    def _sorted(self, spans: Spans) -> Spans:
        """Return the rows that wait, by key and time, with those of one session merged."""
        is_waiting = self._is_waiting(spans)
        if not is_waiting.all():
            self._gone -= int((~is_waiting).sum())
            spans = spans.take(np.flatnonzero(is_waiting))
        spans = spans.sorted()
        return spans if self._merge is None else spans.merged(self._gap, self._merge)

    def _enqueue(self, run: Spans) -> None:
        """Note when the sessions would end that the rows of a run make by themselves."""
        codes = session_codes(run, self._gap)
        final = np.flatnonzero(last_of_segments(codes))
        lasts = run.reach[final]
        ends = ColumnBatch((pa.array(run.numbers[final]), pa.array(lasts)), len(final))
        self._queue.add(ends, self._clock.timers(lasts + self._gap - 1))

    # --- late rows -----------------------------------------------------------------------------------------------

    def _without_late(self, spans: Spans, is_late: Array) -> Spans:
        """Return the rows that are not late, or within the gap of a row that waits or came before them.

        Such a late row lasts until that row. So the rows that wait are always those that last longer than the sessions
        of their key that have ended.
        """
        kept, lasts = ~is_late, spans.lasts.copy()
        late = np.flatnonzero(is_late)
        reached = self._reach(spans.numbers[late], spans.starts[late] + self._gap)
        kept[late] = reached >= np.maximum(spans.starts[late] - self._gap, self._passed[spans.numbers[late]] + 1)
        lasts[late] = np.maximum(lasts[late], reached)
        near: dict[int, list[tuple[int, int]]] = {}
        # One by one, as each row that is kept may keep others.
        for row in np.flatnonzero(np.isin(spans.numbers, spans.numbers[late])).tolist():
            rows, time = near.setdefault(int(spans.numbers[row]), []), int(spans.starts[row])
            place = bisect_left(rows, (time, 0))
            for other, last in () if kept[row] else rows[max(0, place - 1) : place + 1]:
                if abs(other - time) <= self._gap:
                    kept[row], lasts[row] = True, max(time, last)
            if kept[row]:
                rows.insert(place, (time, int(lasts[row])))
        return replace(spans, lasts=lasts).take(np.flatnonzero(kept))

    def _reach(self, numbers: Array, starts: Array) -> Array:
        """Return how long the rows of keys last that start up to a time."""
        found = np.full(len(numbers), MIN_WATERMARK)
        for run in self._runs:
            low, high = run.segments(numbers)
            places = bisect_right(run.starts, low, high, starts)
            is_there = places > low
            found[is_there] = np.maximum(found[is_there], run.reach[places[is_there] - 1])
        return found

    # --- the end of sessions -------------------------------------------------------------------------------------

    def next_end(self) -> int | None:
        """Return the earliest instant at which a session ends, or None."""
        while (time := self._queue.next()) is not None:
            due = self._queue.take(time)
            assert due is not None
            # A queued time is stale if later rows have prolonged the session; another entry stands for those.
            if self._final(due.rows).length:
                self._queue.add(due.rows, due.times)
                break
        return time

    def take(self, until: int) -> Ended | None:
        """Remove and return the sessions that have ended at an instant, or None if there are none."""
        due = self._queue.take(until)
        if due is None:
            return None
        ends = self._final(due.rows)
        if not ends.length:
            return None
        spans = self._taken(*(column.to_numpy() for column in ends.columns))
        codes = session_codes(spans, self._gap)
        final, first = np.flatnonzero(last_of_segments(codes)), np.flatnonzero(first_of_segments(codes))
        ended = in_order(spans, codes, spans.starts[first], spans.reach[final] + self._gap)
        # Rows that are gone stay in the runs; at half of them one pass over all is paid for.
        if self._gone > LEAST and 2 * self._gone > sum(run.length for run in self._runs):
            self._compact()
        return ended

    def _final(self, due: ColumnBatch) -> ColumnBatch:
        """Return the keys and times of the last rows of sessions after which no other row follows."""
        columns: list[Array] = [column.to_numpy() for column in due.columns]
        numbers, lasts = columns
        return due.filter((lasts > self._passed[numbers]) & (self._reach(numbers, lasts + self._gap) <= lasts))

    def _taken(self, numbers: Array, lasts: Array) -> Spans:
        """Return the rows of keys up to the ends of sessions, and note that they are gone."""
        numbers, inverse = np.unique(numbers, return_inverse=True)
        until = np.full(len(numbers), MIN_WATERMARK)
        np.maximum.at(until, inverse, lasts)
        before = np.minimum(self._passed[numbers], self._least[numbers] - 1)
        parts = []
        for run in self._runs:
            low, high = run.segments(numbers)
            first, behind = (bisect_right(run.starts, low, high, sought) for sought in (before, until))
            part = run.take(ranges(first, behind))
            parts.append(part.take(np.flatnonzero(self._is_waiting(part))))
        spans = concat_spans(parts).sorted()
        self._least[numbers] = MAX_WATERMARK
        self._gone += spans.length
        self._pass_by(numbers, until)
        self._note_ends(spans)
        return spans

    def _pass_by(self, numbers: Array, lasts: Array) -> None:
        np.maximum.at(self._passed, numbers, lasts)

    def _note_ends(self, spans: Spans) -> None:
        """Keep the ends of sessions for the next version, if an earlier one has rows of them."""
        is_saved = spans.arrivals < self._saved
        if is_saved.any():
            saved = spans.take(np.flatnonzero(is_saved))
            first = saved.take(np.flatnonzero(first_of_segments(saved.numbers)))
            lasts = pa.array(self._passed[first.numbers])
            keys = (first.rows.columns[key] for key in self._keys)
            self._unsaved_ends.append(ColumnBatch((*keys, lasts), first.length))

    def _compact(self) -> None:
        """Forget rows that are gone, and keys without rows."""
        runs = [run.take(np.flatnonzero(self._is_waiting(run))) for run in self._runs]
        kept = np.unique(np.concatenate([np.zeros(0, np.int64), *(run.numbers for run in runs)]))
        self._numbers.keep(kept)
        self._passed, self._least = np.full(len(kept), MIN_WATERMARK), np.full(len(kept), MAX_WATERMARK)
        self._runs, self._queue, self._gone = [], TimeQueue(self._room), 0
        # Keys get other numbers, and arrivals stay: what was not saved yet is among the rows that all are written of.
        self._unsaved, self._log.is_outdated = [], True
        for run in runs:
            self._push(run.numbered(np.searchsorted(kept, run.numbers)))

    # --- versions ------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what has changed since the last version."""
        left = sum(run.length for run in self._runs)
        if self._log.save(self._saved_form(self._unsaved), left, lambda: self._saved_form(self._runs)):
            self._ends.remove()
            self._unsaved_ends = []
        for ends in self._unsaved_ends:
            self._ends.append(ends, key_groups(ends, range(len(self._keys)), self._groups))
        self._unsaved, self._unsaved_ends, self._saved = [], [], self._arrived
        self._room.leave_memory()

    def _saved_form(self, parts: Sequence[Spans]) -> list[ColumnBatch]:
        return [_in_columns(spans.take(np.flatnonzero(self._is_waiting(spans)))) for spans in parts]


def _in_columns(spans: Spans) -> ColumnBatch:
    """Return rows in the order of their arrival, with their times as columns."""
    spans = spans.take(np.argsort(spans.arrivals))
    return spans.rows.with_columns([*spans.rows.columns, pa.array(spans.starts), pa.array(spans.lasts)])
