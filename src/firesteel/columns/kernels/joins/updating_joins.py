"""Inner and outer joins of changelogs by whole batches. Flink: `StreamingJoinOperator`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.kernel import KernelContext, PlannedKernel
from firesteel.columns.kernels.joins.column_joins import PairMatcher
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.join_state import CHANGES, take_former
from firesteel.columns.kernels.rows.live_rows import LiveRows
from firesteel.columns.kernels.rows.segments import count_on, parts_of
from firesteel.columns.orders import stable_order
from firesteel.columns.rows import DELETE, INSERT, are_retractions

if TYPE_CHECKING:
    from firesteel.columns.column_types import DataType

PAIRS = 1 << 17
"""Number of pairs that are looked at, and about that of those emitted, at once."""

_GONE, _PAIR, _AGAIN = range(3)
"""The order of what a pair emits: its padded row goes, the pair, a padded row comes again."""


class UpdatingJoin(PlannedKernel[JoinPlan]):
    """Joins the rows of a batch with those of the other side that are there.

    An outer join counts the matches of each row: it emits a row padded with NULLs while there are none. So does a semi
    join for its left rows, see `UpdatingSemiJoin`.

    State: the rows of both sides, see `LiveRows`. Unless rows expire, matches are counted anew when a job is restored.
    """

    def open(self, context: KernelContext) -> None:
        """Compile the condition and restore the rows."""
        super().open(context)
        plan = self._plan
        self._outer = (True, False) if plan.is_semi else plan.outer
        self._matcher = PairMatcher(plan, context)
        left, right = plan.ttls_ms(context)
        self._sides = self._side(0, plan.left_types, (left, right)), self._side(1, plan.right_types, (right, left))
        have_matches = take_former(plan, context, self._sides)
        for index in np.flatnonzero(self._outer).tolist():
            if not (have_matches and self._sides[index].has_matches):
                self._count_matches(index)

    def _side(self, index: int, types: tuple[DataType, ...], ttls_ms: tuple[int, int]) -> LiveRows:
        keys, unique = self._plan.keys[index], self._plan.unique[index]
        return LiveRows(keys, len(types), self.context, CHANGES[index], ttls_ms, self._outer[index], unique)

    def _count_matches(self, index: int) -> None:
        side = self._sides[index]
        for rows, numbers in side.parts():
            hashes = self._matcher.hashes(index, rows)
            found_others = self._sides[1 - index].find(hashes)
            for start, stop in parts_of(found_others.counts, PAIRS):
                places, _, _ = self._pairs(index, rows.slice(start, stop), *found_others.pairs(start, stop))
                side.matches[numbers[start:stop]] = np.bincount(places, minlength=stop - start)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def flush(self) -> None:
        """Write what has changed."""
        for side in self._sides:
            side.flush()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Join the rows of a batch, none of which matches another one, with those of the other side."""
        side = self._sides[index]
        if not (self._outer[index] or self._plan.null_aware):
            # Rows with NULL in their key match nothing, so they would only fill the state.
            batch = batch.filter(~self._matcher.has_null_key(index, batch))
            if not batch.length:
                return
        hashes, matches = self._matcher.hashes(index, batch), np.zeros(batch.length, np.int64)
        changes = side.changes(batch, hashes)
        effective = np.flatnonzero(changes.is_effective)
        rows, found = batch.take(effective) if len(effective) < batch.length else batch, hashes[effective]
        steps = np.where(are_retractions(rows.kinds_or_inserts()), -1, 1)
        if changes.is_update is not None:
            steps[changes.is_update[effective]] = 0
        matches[effective] = self._join_all(index, rows, found, steps)
        side.apply(batch, hashes, changes, matches)

    def _join_all(self, index: int, rows: ColumnBatch, hashes: Hashes, steps: Array) -> Array:
        """Emit what rows change, and return how many others each of them matches.

        Args:
            index: The side of the rows.
            rows: The rows.
            hashes: The hashes of their keys.
            steps: By how much each changes the number of matches of those that it matches.
        """
        matches = np.zeros(rows.length, np.int64)
        found = self._sides[1 - index].find(hashes)
        for start, stop in parts_of(found.counts, PAIRS):
            matches[start:stop] = self._join(
                index, rows.slice(start, stop), *found.pairs(start, stop), steps[start:stop]
            )
        return matches

    def _pairs(
        self, index: int, rows: ColumnBatch, places: Array, numbers: Array
    ) -> tuple[Array, Array, ColumnBatch | None]:
        """Return which rows match which others of those with the same hash; if any do, with what decides of these."""
        other = self._sides[1 - index]
        places, numbers = other.there(places, numbers)
        if len(places):
            is_null = self._matcher.has_null_key(index, rows)
            if is_null.any():
                places, numbers = places[~is_null[places]], numbers[~is_null[places]]
        if not len(places):
            return places, numbers, None
        others = other.take_columns(numbers, self._matcher.deciding[1 - index])
        fits = self._matcher.fits(index, rows, places, others)
        if fits.all():
            return places, numbers, others
        return places[fits], numbers[fits], others.take(np.flatnonzero(fits))

    def _whole(self, index: int, others: ColumnBatch, numbers: Array) -> ColumnBatch:
        """Return all columns of the others that `_pairs` has found."""
        return self._sides[1 - index].complete(others, numbers, self._matcher.deciding[1 - index])

    def _join(self, index: int, rows: ColumnBatch, places: Array, numbers: Array, steps: Array) -> Array:
        """Emit what rows change, and return how many others each of them matches."""
        places, numbers, others = self._pairs(index, rows, places, numbers)
        matches = np.bincount(places, minlength=rows.length)
        kinds = rows.kinds_or_inserts()
        if any(self._outer):  # What an outer join emits may replace a padded row, so it is no update, as in Flink.
            kinds = np.where(steps < 0, DELETE, INSERT).astype(np.int8)
        rows = replace(rows, kinds=kinds)
        parts, orders = [], []
        if others is not None:
            others = self._whole(index, others, numbers)
            parts.append(self._matcher.paired(index, rows.take(places), others))
            orders.append(4 * np.arange(len(places)) + _PAIR)
        if self._outer[1 - index] and others is not None:
            is_gone, is_again = self._recount(index, numbers, steps[places])
            for chosen, kind, order in ((is_gone, DELETE, _GONE), (is_again, INSERT, _AGAIN)):
                padded = np.flatnonzero(chosen)
                kept = ColumnBatch(others.take(padded).columns, len(padded), np.full(len(padded), kind, np.int8))
                parts.append(self._matcher.padded(1 - index, kept))
                orders.append(4 * padded + order)
        if self._outer[index]:
            alone = np.flatnonzero(matches == 0)
            parts.append(self._matcher.padded(index, rows.take(alone)))
            # Before the first pair of the next row, and behind the last one of the row before.
            orders.append(4 * np.searchsorted(places, alone) - 1)
        if parts:
            self._emit(concat(parts), np.concatenate(orders))
        return matches

    def _emit(self, rows: ColumnBatch, order: Array) -> None:
        if (np.diff(order) < 0).any():
            rows = rows.take(stable_order(order))
        is_plain = rows.kinds is not None and not rows.kinds.any()
        if rows.length:
            self.context.emit(replace(rows, kinds=None) if is_plain else rows)

    def _recount(self, index: int, numbers: Array, steps: Array) -> tuple[Array, Array]:
        """Count the matches of the other rows of pairs; return which pairs are a first match or end a last one."""
        after = count_on(self._sides[1 - index].matches, numbers, steps)
        # A changed number of matches counts as a write, which prolongs the life of the row, as in Flink's outer views.
        self._sides[1 - index].touch(numbers)
        return (after == 1) & (steps > 0), (after == 0) & (steps < 0)
