"""The search for pairs of rows, and joins of inputs that are complete.

Pairs of rows are found by the hash of their keys and are then checked: equal keys, and the further condition.

Why: `docs/decisions/0030-joins-on-columns.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat, merged
from firesteel.columns.cells import Array
from firesteel.columns.evaluate import compile_filter
from firesteel.columns.hashing import Hashes, row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.row_index import RowIndex, pairs
from firesteel.columns.orders import stable_order
from firesteel.columns.rex import input_columns
from firesteel.columns.row_keys import are_same
from firesteel.columns.values import arrow_type

PAIRS = 1 << 17
"""Number of pairs that are checked, and about that of those emitted, at once."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of rows that the join condition holds for.

    Attributes:
        run: The number of the run of the other side.
        rows: Rows of the batch.
        others: The row of the run that each of them is paired with.
    """

    run: int
    rows: Array
    others: Array


class PairMatcher:
    """Finds the pairs of rows that a join condition holds for.

    Attributes:
        types: The types of the columns of each side.
        deciding: The columns of each side that keys and condition read, ascending.
    """

    def __init__(self, plan: JoinPlan, context: KernelContext) -> None:
        self._plan = plan
        self.types = tuple([arrow_type(kind) for kind in types] for types in (plan.left_types, plan.right_types))
        self._condition = None
        self._needed: frozenset[int] = frozenset()
        if plan.condition is not None:
            self._condition = compile_filter(plan.condition, plan.settings.context(context))
            self._needed = frozenset(input_columns(plan.condition))
        width = len(plan.left_types)
        used = (
            {number for number in self._needed if number < width},
            {number - width for number in self._needed if number >= width},
        )
        self.deciding = tuple(tuple(sorted(used[index].union(plan.keys[index]))) for index in (0, 1))

    def close(self) -> None:
        """Close the user functions."""
        if self._condition is not None:
            self._condition.close()

    def has_null_key(self, index: int, batch: ColumnBatch) -> Array:
        """Return per row of side `index` whether a key is NULL, which equals nothing."""
        return batch.has_null(self._plan.keys[index])

    def hashes(self, index: int, batch: ColumnBatch) -> Hashes:
        """Return the hashes of the keys of side `index`."""
        return row_hashes(batch, self._plan.keys[index])

    def matches(self, index: int, batch: ColumnBatch, hashes: Hashes, others: RowIndex) -> Iterator[Matches]:
        """Yield the rows of the other side that match the rows of a batch of side `index`, none of whose keys is NULL.

        Within a run, the pairs are in the order of the batch's rows.
        """
        for number, run in enumerate(others.runs()):
            for rows, positions in pairs(run, hashes, PAIRS):
                is_match = self._are_equal(index, batch, rows, run.rows, positions)
                rows, positions = rows[is_match], positions[is_match]
                if self._condition is not None and len(rows):
                    is_match = self._holds(index, batch, rows, run.rows, positions)
                    rows, positions = rows[is_match], positions[is_match]
                if len(rows):
                    yield Matches(number, rows, positions)

    def fits(self, index: int, batch: ColumnBatch, rows: Array, others: ColumnBatch) -> Array:
        """Return per row of a batch whether the join condition holds for it and the other row in its place.

        Of the other rows only the `deciding` columns are read.
        """
        places = np.arange(len(rows))
        found = self._are_equal(index, batch, rows, others, places)
        if self._condition is not None and found.any():
            found[found] = self._holds(index, batch, rows[found], others, places[found])
        return found

    def _are_equal(self, index: int, batch: ColumnBatch, rows: Array, other: ColumnBatch, positions: Array) -> Array:
        """Return per pair whether the keys are equal and not only their hashes."""
        equal = np.ones(len(rows), bool)
        here, there = pa.array(rows), pa.array(positions)
        for a, b in zip(self._plan.keys[index], self._plan.keys[1 - index], strict=True):
            equal &= are_same(batch.columns[a].take(here), other.columns[b].take(there))
        return equal

    def _holds(self, index: int, batch: ColumnBatch, rows: Array, other: ColumnBatch, positions: Array) -> Array:
        """Return per pair whether the further condition holds."""
        sides = [(batch, pa.array(rows)), (other, pa.array(positions))]
        (left, here), (right, there) = sides if index == 0 else sides[::-1]
        unused = pa.nulls(len(rows))
        columns = [
            column.take(places) if number in self._needed else unused
            for number, (column, places) in enumerate(
                [(column, here) for column in left.columns] + [(column, there) for column in right.columns]
            )
        ]
        assert self._condition is not None
        return self._condition(ColumnBatch(tuple(columns), len(rows)))

    def paired(self, index: int, rows: ColumnBatch, others: ColumnBatch) -> ColumnBatch:
        """Return rows of side `index`, each with another one."""
        left, right = (rows, others) if index == 0 else (others, rows)
        return ColumnBatch((*left.columns, *right.columns), rows.length, rows.kinds)

    def padded(self, index: int, rows: ColumnBatch) -> ColumnBatch:
        """Return rows of side `index` with NULLs for the other."""
        nulls = [pa.nulls(rows.length, kind) for kind in self.types[1 - index]]
        return rows.with_columns([*rows.columns, *nulls] if index == 0 else [*nulls, *rows.columns])

    def joined(self, index: int, batch: ColumnBatch, other: RowIndex, matches: list[Matches]) -> ColumnBatch:
        """Return the joined rows, in the order of the batch's rows."""
        runs = other.runs()
        rows = np.concatenate([found.rows for found in matches])
        others = concat([runs[found.run].rows.take(found.others) for found in matches])
        if len(matches) > 1:
            # Matches come run by run; the result is in the order of the batch, as row by row.
            order = stable_order(rows)
            rows, others = rows[order], others.take(order)
        here = batch.take(rows)
        left, right = (here, others) if index == 0 else (others, here)
        return ColumnBatch((*left.columns, *right.columns), len(rows))


def _in_parts(matches: Iterator[Matches]) -> Iterator[list[Matches]]:
    """Yield matches in lists of about `PAIRS` pairs."""
    part: list[Matches] = []
    count = 0
    for found in matches:
        part.append(found)
        count += len(found.rows)
        if count >= PAIRS:
            yield part
            part, count = [], 0
    if part:
        yield part


class CompleteJoin:
    """Joins inputs that are complete: indexes the one with fewer rows and searches it with the other.

    Args:
        plan: The plan of a join of any kind.
        context: Provides what the condition needs, and takes the joined rows.
    """

    def __init__(self, plan: JoinPlan, context: KernelContext) -> None:
        self._plan = plan
        self._emit = context.emit
        self._matcher = PairMatcher(plan, context)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def join(self, left: Sequence[ColumnBatch], right: Sequence[ColumnBatch]) -> None:
        """Emit the joined rows."""
        self.join_counted((left, right), (_row_count(left), _row_count(right)))

    def join_counted(self, sides: tuple[Iterable[ColumnBatch], Iterable[ColumnBatch]], rows: tuple[int, int]) -> None:
        """Emit the joined rows of sides with known numbers of rows; one of them is read batch by batch."""
        # NOT IN asks first whether a row of the right side has NULL.
        build = 1 if self._plan.null_aware or rows[1] <= rows[0] else 0
        indexed = self.indexed(build, sides[build])
        # Each exchange divides batches by the parallelism; small ones cost more than their rows.
        for batch in merged(sides[1 - build], PAIRS):
            indexed.search(batch)
        indexed.end()

    def indexed(self, side: int, batches: Iterable[ColumnBatch]) -> IndexedSide:
        """Return all rows of a side, ready to be searched."""
        return IndexedSide(self._plan, self._matcher, self._emit, side, merged(batches, PAIRS))


class IndexedSide:
    """All rows of one side of a join, which those of the other one search.

    Args:
        plan: The plan of the join; NOT IN needs the right side.
        matcher: Finds pairs of rows.
        emit: Takes the joined rows.
        side: The number of the side.
        batches: Its rows.
    """

    def __init__(
        self,
        plan: JoinPlan,
        matcher: PairMatcher,
        emit: Callable[[ColumnBatch], None],
        side: int,
        batches: Iterable[ColumnBatch],
    ) -> None:
        self._plan = plan
        self._matcher = matcher
        self._emit = emit
        self._probe = 1 - side
        self._index = RowIndex()
        # Beside the index: NULL equals nothing, but such rows count for outer joins, ANTI and NOT IN.
        self._without_key: list[ColumnBatch] = []
        for batch in batches:
            found, nulls = self._by_key(side, batch)
            self._index.add(found, matcher.hashes(side, found))
            self._without_key += [nulls] if nulls.length else []
        # One mark per row: an unmatched row is known at the end only.
        self._matched = [np.zeros(run.rows.length, bool) for run in self._index.runs()]

    def search(self, batch: ColumnBatch) -> None:
        """Emit what the join makes of rows of the other side."""
        rows, nulls = self._by_key(self._probe, batch)
        if self._plan.is_semi and self._probe == 0:
            self._emit_semi(rows, nulls)
            return
        if self._plan.is_semi:
            for found in self._matcher.matches(1, rows, self._matcher.hashes(1, rows), self._index):
                self._matched[found.run][found.others] = True
            return
        self._emit_pairs(rows)
        if self._plan.outer[self._probe]:
            self._emit_padded(self._probe, nulls)

    def end(self) -> None:
        """Emit what is known of the indexed rows at the end only: which of them no row of the other side matches."""
        side, is_semi = 1 - self._probe, self._plan.kind == "SEMI"
        if self._plan.is_semi and side == 0:
            for rows in self._indexed_rows(matched=is_semi):
                self._emit(rows)
        elif not self._plan.is_semi and self._plan.outer[side]:
            for rows in self._indexed_rows(matched=False):
                self._emit_padded(side, rows)

    def _indexed_rows(self, *, matched: bool) -> Iterator[ColumnBatch]:
        """Yield the indexed rows with a match, or those without one, among them those with NULL in their key."""
        for run, found in zip(self._index.runs(), self._matched, strict=True):
            yield run.rows.filter(found if matched else ~found)
        if not matched:
            yield from self._without_key

    def _by_key(self, side: int, batch: ColumnBatch) -> tuple[ColumnBatch, ColumnBatch]:
        """Return the rows without a NULL in their key, and those with one."""
        is_null = self._matcher.has_null_key(side, batch)
        if not is_null.any():
            return batch, batch.slice(0, 0)
        return batch.filter(~is_null), batch.take(np.flatnonzero(is_null))

    def _emit_pairs(self, rows: ColumnBatch) -> None:
        probe, index = self._probe, self._index
        found_here = np.zeros(rows.length, bool)
        for matches in _in_parts(self._matcher.matches(probe, rows, self._matcher.hashes(probe, rows), index)):
            for found in matches:
                found_here[found.rows] = True
                self._matched[found.run][found.others] = True
            self._emit(self._matcher.joined(probe, rows, index, matches))
        if self._plan.outer[probe]:
            self._emit_padded(probe, rows.filter(~found_here))

    def _emit_semi(self, rows: ColumnBatch, nulls: ColumnBatch) -> None:
        """Emit the left rows with a match (SEMI) or without (ANTI).

        For NOT IN, NULL on the right makes the answer unknown for all rows; NULL on the left does so for its row,
        unless there is nothing on the right. Unknown excludes a row as a match does.
        """
        index, right_has_null = self._index, bool(self._without_key)
        is_unknown = self._plan.null_aware and right_has_null
        matched = np.full(rows.length, is_unknown)
        if not is_unknown:
            for found in self._matcher.matches(0, rows, self._matcher.hashes(0, rows), index):
                matched[found.rows] = True
        is_semi = self._plan.kind == "SEMI"
        self._emit(rows.filter(matched if is_semi else ~matched))
        is_null_match = self._plan.null_aware and (right_has_null or bool(index.runs()))
        if is_null_match == is_semi:
            self._emit(nulls)

    def _emit_padded(self, side: int, rows: ColumnBatch) -> None:
        """Emit rows of one side with NULLs for the other."""
        self._emit(self._matcher.padded(side, replace(rows, kinds=None)))


def _row_count(batches: Sequence[ColumnBatch]) -> int:
    return sum(batch.length for batch in batches)
