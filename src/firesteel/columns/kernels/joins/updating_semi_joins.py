"""Semi joins of changelogs by whole batches. Flink: `StreamingSemiAntiJoinOperator`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.kernels.joins.key_counts import KeyCounts
from firesteel.columns.kernels.joins.updating_joins import PAIRS, UpdatingJoin
from firesteel.columns.kernels.rows.segments import parts_of
from firesteel.columns.rows import DELETE, INSERT


class UpdatingSemiJoin(UpdatingJoin):
    """SEMI and ANTI joins: left rows with, or without, a match on the right, whose matches are counted."""

    def _join(self, index: int, rows: ColumnBatch, places: Array, numbers: Array, steps: Array) -> Array:
        places, numbers, others = self._pairs(index, rows, places, numbers)
        matches = np.bincount(places, minlength=rows.length)
        if index == 0:
            self._emit_left(rows, matches)
        elif others is not None:
            is_first, is_last = self._recount(1, numbers, steps[places])
            turns = is_first | is_last
            self._turn(self._whole(1, others.filter(turns), numbers[turns]), is_first[turns])
        return matches

    def _emit_left(self, rows: ColumnBatch, matches: Array) -> None:
        """Emit the left rows that have, or have no, matches."""
        shown = rows.filter(self._are_shown(rows, matches))
        if shown.length:
            self.context.emit(shown)

    def _are_shown(self, rows: ColumnBatch, matches: Array) -> Array:
        """Return which left rows are in the result."""
        found: Array = (matches > 0) == (self._plan.kind == "SEMI")
        return found

    def _matches_of(self, rows: ColumnBatch, numbers: Array) -> Array:
        """Return how many matches stored left rows have."""
        return self._sides[0].matches[numbers]

    def _turn(self, rows: ColumnBatch, has_match: Array) -> None:
        """Emit stored left rows that have got their first match, or have lost their last one."""
        self._emit_turned(rows, has_match == (self._plan.kind == "SEMI"))

    def _emit_turned(self, rows: ColumnBatch, is_shown: Array) -> None:
        """Emit stored left rows that come into the result or leave it."""
        kinds = np.where(is_shown, INSERT, DELETE).astype(np.int8)
        if rows.length:
            self.context.emit(replace(rows, kinds=kinds if kinds.any() else None))


class UpdatingSemiJoinByKey(UpdatingSemiJoin):
    """SEMI and ANTI joins by equations alone: all left rows of a key have the same matches.

    A right row then needs to look at left rows only if it is the first or last one of its key.
    """

    def _count_matches(self, index: int) -> None:
        """Count the right rows of each key."""
        self._counts = KeyCounts(self._sides[1].room.spill)
        for rows, _ in self._sides[1].parts():
            self._counts.change(rows, self._plan.keys[1], np.ones(rows.length, np.int64))

    def _matches_of(self, rows: ColumnBatch, numbers: Array) -> Array:
        return self._counts.of(rows, self._plan.keys[0])

    def _join_all(self, index: int, rows: ColumnBatch, hashes: Hashes, steps: Array) -> Array:
        keys = self._plan.keys[index]
        if index == 0:
            self._emit_left(rows, self._counts.of(rows, keys))
        else:
            after = self._counts.change(rows, keys, steps)
            turns = np.flatnonzero((after == (steps > 0)) & (steps != 0))
            self._turn_keys(rows.take(turns), hashes[turns], after[turns] > 0)
        return np.zeros(rows.length, np.int64)

    def _turn_keys(self, rows: ColumnBatch, hashes: Hashes, has_match: Array) -> None:
        found = self._sides[0].find(hashes)
        for start, stop in parts_of(found.counts, PAIRS):
            places, numbers, others = self._pairs(1, rows.slice(start, stop), *found.pairs(start, stop))
            if others is not None:
                self._turn(self._whole(1, others, numbers), has_match[start:stop][places])
