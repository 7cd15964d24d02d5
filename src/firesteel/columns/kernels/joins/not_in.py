"""NOT IN over streams by whole batches. Flink: `StreamingSemiAntiJoinOperator`, whose planner adds conditions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins.updating_semi_joins import UpdatingSemiJoin, UpdatingSemiJoinByKey
from firesteel.columns.rows import are_retractions, signs_of


class _Right(NamedTuple):
    """What all left rows depend on.

    Attributes:
        has_null: Whether a row of the right side has NULL in its key.
        has_rows: Whether it has any row.
    """

    has_null: bool
    has_rows: bool


class NotIn(UpdatingSemiJoin):
    """A semi join in which a NULL on the right is as a match of all left rows, and any right row as one of a NULL.

    A right row that changes neither what is known of NULLs nor whether there are rows changes the left rows of its key
    alone. The few others look at all left rows.
    """

    def open(self, context: KernelContext) -> None:
        """Count the rows on the right."""
        super().open(context)
        self._count_right()
        self._right = self._present()
        self._looks_at_all = False

    def _count_right(self) -> None:
        self._nulls = self._rows = self._nulls_until_ms = self._rows_until_ms = 0
        for rows, numbers in self._sides[1].parts():
            is_null = self._matcher.has_null_key(1, rows)
            self._rows += rows.length
            self._nulls += int(is_null.sum())
            if self._sides[1].expires:
                self._rows_until_ms = max(self._rows_until_ms, self._sides[1].last_expiry_ms(numbers))
                self._nulls_until_ms = max(self._nulls_until_ms, self._sides[1].last_expiry_ms(numbers[is_null]))

    def _may_have_expired(self, index: int, batch: ColumnBatch) -> bool:
        """Return whether the counts, which may have rows that have expired, may not tell whether there are any."""
        now_ms = self.context.now_ms()
        is_retracted = index == 1 and batch.kinds is not None and bool(are_retractions(batch.kinds).any())
        last_rows, last_nulls = self._rows_until_ms <= now_ms, self._nulls_until_ms <= now_ms
        return is_retracted or (self._rows > 0 and last_rows) or (self._nulls > 0 and last_nulls)

    def _present(self) -> _Right:
        return _Right(self._nulls > 0, self._rows > 0)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Join the rows of a batch with those of the other side."""
        if self._sides[1].expires and self._may_have_expired(index, batch):
            self._count_right()
            if self._right != self._present():
                self._turn_all(self._right, self._left_rows())
        if index == 0:
            super().process(0, batch)
            return
        for part in self._parts(batch):
            self._process_right(part)

    def _parts(self, batch: ColumnBatch) -> Iterator[ColumnBatch]:
        """Yield the rows of the right side so that those that change what is known of it are by themselves."""
        is_null = self._matcher.has_null_key(1, batch)
        signs = signs_of(batch)
        steps = np.ones(batch.length, np.int64)
        if signs is not None:
            steps = signs * self._sides[1].changes(batch, self._matcher.hashes(1, batch)).is_effective
        nulls, rows = self._nulls + np.cumsum(steps * is_null), self._rows + np.cumsum(steps)
        known = 2 * (nulls > 0) + (rows > 0)
        changing = np.flatnonzero(np.diff(known, prepend=2 * self._right.has_null + self._right.has_rows))
        if self._sides[1].expires:
            self._rows_until_ms = self._sides[1].expiry_ms() if (steps > 0).any() else self._rows_until_ms
            self._nulls_until_ms = self._sides[1].expiry_ms() if (steps * is_null > 0).any() else self._nulls_until_ms
        cuts = np.unique([0, *changing, *(changing + 1), batch.length]).tolist()
        for start, stop in pairwise(cuts):
            self._nulls, self._rows = int(nulls[stop - 1]), int(rows[stop - 1])
            yield batch.slice(start, stop)

    def _process_right(self, part: ColumnBatch) -> None:
        before = self._right
        self._looks_at_all = before != self._present()
        shown = self._left_rows() if self._looks_at_all else []
        super().process(1, part)
        if self._looks_at_all:
            self._looks_at_all = False
            self._turn_all(before, shown)

    def _left_rows(self) -> list[tuple[ColumnBatch, Array, Array]]:
        """Return all left rows, their numbers, and the numbers of their matches, in parts."""
        return [(rows, numbers, self._matches_of(rows, numbers)) for rows, numbers in self._sides[0].parts()]

    def _turn_all(self, before: _Right, former: list[tuple[ColumnBatch, Array, Array]]) -> None:
        """Emit all left rows for which it makes a difference what is known now of the right side."""
        self._right, after = before, self._present()
        was_shown = [self._are_shown(rows, matches) for rows, _, matches in former]
        self._right = after
        for (rows, numbers, _), was in zip(former, was_shown, strict=True):
            is_shown = self._are_shown(rows, self._matches_of(rows, numbers))
            changed = np.flatnonzero(was != is_shown)
            self._emit_turned(rows.take(changed), is_shown[changed])

    def _are_decided(self, rows: ColumnBatch) -> Array:
        """Return for which left rows NULLs decide, and not their matches."""
        if self._right.has_null:
            return np.ones(rows.length, bool)
        return self._matcher.has_null_key(0, rows) & self._right.has_rows

    def _are_shown(self, rows: ColumnBatch, matches: Array) -> Array:
        return super()._are_shown(rows, matches + self._are_decided(rows))

    def _turn(self, rows: ColumnBatch, has_match: Array) -> None:
        if not self._looks_at_all:
            is_free = np.flatnonzero(~self._are_decided(rows))
            super()._turn(rows.take(is_free), has_match[is_free])


class NotInByKey(NotIn, UpdatingSemiJoinByKey):
    """NOT IN by equations alone: all left rows of a key have the same matches."""
