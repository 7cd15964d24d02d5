"""Joins of changelogs, row by row. Flink: `StreamingJoinOperator`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from itertools import compress, islice

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.evaluate import compile_filter
from firesteel.columns.expiring_state import CleanupRounds
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.row_places import RowPlaces
from firesteel.columns.rex import input_columns
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    Row,
    RowOutput,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type

_PAIRS = 1 << 14
"""Number of pairs of rows from which on the condition is evaluated."""


class Matcher:
    """Evaluates the join condition for pairs of rows whose keys are equal."""

    def __init__(self, plan: JoinPlan, context: KernelContext) -> None:
        self.left = [arrow_type(kind) for kind in plan.left_types]
        self.right = [arrow_type(kind) for kind in plan.right_types]
        self._types = [*self.left, *self.right]
        self._condition = None
        self._needed: set[int] = set()
        if plan.condition is not None:
            self._condition = compile_filter(plan.condition, plan.settings.context(context))
            self._needed = set(input_columns(plan.condition))

    def close(self) -> None:
        """Close the user functions."""
        if self._condition is not None:
            self._condition.close()

    @property
    def types(self) -> list[Cell]:
        """Return the Arrow types of both sides' columns."""
        return self._types

    def fitting(self, index: int, row: Row, others: list[Row]) -> list[bool]:
        """Return for each row of the other side whether the condition holds; `index` is the side of `row`."""
        return self.all_fitting(index, [row], [others])[0]

    def all_fitting(self, index: int, rows: list[Row], others: list[list[Row]]) -> list[list[bool]]:
        """Do the same for several rows, each with its own rows of the other side, in one evaluation."""
        counts = [len(candidates) for candidates in others]
        total = sum(counts)
        if self._condition is None or not total:
            return [[True] * count for count in counts]
        here = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
        there = [candidate for candidates in others for candidate in candidates]
        width = len(self.left)
        left, right = (here, there) if index == 0 else (there, here)
        unused = pa.nulls(total)  # Most columns are wide and not part of the condition.
        columns = tuple(
            pa.array([row[column] for row in left] if column < width else [row[column - width] for row in right], kind)
            if column in self._needed
            else unused
            for column, kind in enumerate(self._types)
        )
        found = iter(self._condition(ColumnBatch(columns, total)).tolist())
        return [list(islice(found, count)) for count in counts]


def has_null(key: Row) -> bool:
    """Return whether a key contains NULL, which never equals anything; its first part is the key group."""
    return None in key[1:]


class JoinSide:
    """The rows of one input by key, as entries `[row, number of matches, time of the last write (ms)]`.

    An outer join emits a row padded with NULLs while its number of matches is 0. Rows expire one by one, as in the map
    state of Flink's `JoinRecordStateViews`. Rows that were written without a time to live start to age when they are
    first read.
    """

    def __init__(self, context: KernelContext, name: str, ttl_ms: int) -> None:
        self._table = context.table(name)
        self._ttl_ms, self._now_ms = ttl_ms, context.now_ms
        self._rounds = CleanupRounds(self._table.data.keys, self.rows) if self._ttl_ms else None
        self._places, self._is_on_disk = RowPlaces(), context.is_state_on_disk

    @property
    def expires(self) -> bool:
        """Return whether rows have a time to live."""
        return self._ttl_ms > 0

    @property
    def data(self) -> MutableMapping[Cell, list[list[Cell]]]:
        """Return all keys with their entries, expired ones included."""
        return self._table.data

    def rows(self, key: Row) -> list[list[Cell]]:
        """Return the entries of a key that have not expired; remove the others."""
        rows: list[list[Cell]] = self._table.data.get(key) or []
        if not self._ttl_ms or not rows:
            return rows
        now_ms = self._now_ms()
        unaged = [entry for entry in rows if not entry[2]]
        for entry in unaged:  # written without a time to live
            entry[2] = now_ms
        live = [entry for entry in rows if entry[2] + self._ttl_ms > now_ms]
        if unaged or len(live) < len(rows):
            self._put(key, live)
        return live

    def keep(self, key: Row, rows: list[list[Cell]]) -> None:
        """Set the entries of a key."""
        self._put(key, rows)
        if self._rounds is not None:
            self._rounds.after_write()

    def take(self, key: Row, row: Row) -> list[Cell] | None:
        """Remove an entry of a row that has not expired, and return it; None if there is none."""
        rows = self.rows(key)
        entry = self._places.pop(key, rows, row)
        if entry is not None:
            self.keep(key, rows)
        return entry

    def flush(self) -> None:
        """Let go of rows that the state keeps on disk."""
        if self._is_on_disk:
            self._places = RowPlaces()

    def entry(self, row: Row, count: int) -> list[Cell]:
        """Return a new entry for a row."""
        return [row, count, self._now_ms() if self._ttl_ms else 0]

    def recount(self, entry: list[Cell], count: int) -> None:
        """Set the number of matches of an entry, which counts as a write."""
        entry[1:] = self.entry(entry[0], count)[1:]

    def _put(self, key: Row, rows: list[list[object]]) -> None:
        if rows:
            self._table.put(key, rows)
        else:
            self._table.remove(key)


def sides_of(plan: JoinPlan, context: KernelContext) -> tuple[JoinSide, JoinSide]:
    """Return the stored rows of both inputs."""
    left, right = plan.ttls_ms(context)
    return JoinSide(context, "left", left), JoinSide(context, "right", right)


class RegularJoin(Kernel):
    """Inner and outer joins; keeps the rows of both inputs.

    Args:
        plan: The plan.
        counts_anew: Whether the matches of restored rows have to be counted.
    """

    def __init__(self, plan: JoinPlan, counts_anew: bool = False) -> None:
        self._plan, self._counts_anew = plan, counts_anew
        self._outer = plan.outer

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._matcher = Matcher(self._plan, context)
        self._sides = sides_of(self._plan, context)
        self._output = RowOutput(self._matcher.types, context.emit)
        self._nulls = ((None,) * len(self._matcher.left), (None,) * len(self._matcher.right))
        if self._counts_anew:
            self._count_matches()

    def _count_matches(self) -> None:
        for index, side in enumerate(self._sides):
            for key, entries in list(side.data.items() if self._outer[index] else ()):
                others = [] if has_null(key) else self._sides[1 - index].rows(key)
                for entry in entries:
                    entry[1] = sum(self._matcher.fitting(index, entry[0], [other[0] for other in others]))
                side.keep(key, entries)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def flush(self) -> None:
        """Let go of rows that the state keeps on disk."""
        for side in self._sides:
            side.flush()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Join the rows of a batch with those of the other side that arrived before."""
        keys = keys_of(batch, self._plan.keys[index], self.context.max_parallelism)
        rows = rows_of(batch)
        matches = self._matches(index, zip(keys, rows, strict=True))
        for key, kind, row, others in zip(keys, kinds_list(batch), rows, matches, strict=True):
            if is_retraction(kind):
                self._retract(index, key, kind, row, others)
            else:
                self._add(index, key, kind, row, others)
        self._output.flush()

    def _pair(self, index: int, row: Row, other: Row) -> Row:
        return row + other if index == 0 else other + row

    def _matches(self, index: int, keyed: Iterable[tuple[Row, Row]]) -> Iterator[list[list[object]]]:
        """Yield for each row the entries of the other side that match it.

        Rows of one side change no rows of the other, so the condition is evaluated for many rows at once. But an outer
        join counts matches in the entries of the other side, and rows with a time to live expire: both look entries up
        as late as possible.
        """
        side = self._sides[1 - index]
        limit = 0 if any(self._outer) or side.expires else _PAIRS
        rows: list[Row] = []
        candidates: list[list[list[object]]] = []
        count = 0
        for key, row in keyed:
            rows.append(row)
            candidates.append([] if has_null(key) else side.rows(key))
            count += len(candidates[-1])
            if count >= limit:
                yield from self._matching(index, rows, candidates)
                rows, candidates, count = [], [], 0
        yield from self._matching(index, rows, candidates)

    def _matching(self, index: int, rows: list[Row], candidates: list[list[list[Cell]]]) -> Iterator[list[list[Cell]]]:
        others = [[entry[0] for entry in entries] for entries in candidates]
        for entries, fits in zip(candidates, self._matcher.all_fitting(index, rows, others), strict=True):
            yield list(compress(entries, fits))

    def _add(self, index: int, key: Row, kind: int, row: Row, others: list[list[Cell]]) -> None:
        output, other_outer = self._output, self._outer[1 - index]
        if not others and self._outer[index]:
            output.add(INSERT, self._pair(index, row, self._nulls[1 - index]))
        for other in others:
            if other_outer and other[1] == 0:  # its first match: retract the row padded with NULL
                output.add(DELETE, self._pair(index, self._nulls[index], other[0]))
                output.add(INSERT, self._pair(index, row, other[0]))
            else:
                # An outer join's rows may have replaced a padded one, so they are no updates of anything, as in Flink.
                output.add(INSERT if other_outer or self._outer[index] else kind, self._pair(index, row, other[0]))
            self._recount(1 - index, other, 1)
        if others and other_outer:
            self._touch(1 - index, key)
        side = self._sides[index]
        rows = side.rows(key)
        rows.append(side.entry(row, len(others)))
        side.keep(key, rows)

    def _recount(self, index: int, entry: list[Cell], change: int) -> None:
        """Update the number of matches of an entry; only outer joins need it."""
        if self._outer[index]:
            self._sides[index].recount(entry, entry[1] + change)

    def _touch(self, index: int, key: Row) -> None:
        self._sides[index].keep(key, self._sides[index].rows(key))

    def _retract(self, index: int, key: Row, kind: int, row: Row, others: list[list[Cell]]) -> None:
        if self._sides[index].take(key, row) is None:
            return
        if not others and self._outer[index]:
            self._output.add(DELETE, self._pair(index, row, self._nulls[1 - index]))
        for other in others:
            self._recount(1 - index, other, -1)
            kept_kind = DELETE if self._outer[0] or self._outer[1] else kind
            self._output.add(kept_kind, self._pair(index, row, other[0]))
            if self._outer[1 - index] and other[1] == 0:  # its last match is gone: pad it with NULL again
                self._output.add(INSERT, self._pair(index, self._nulls[index], other[0]))
        if others and self._outer[1 - index]:
            self._touch(1 - index, key)
