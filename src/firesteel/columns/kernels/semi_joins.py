"""Semi joins of changelogs, row by row. Flink: `StreamingSemiAntiJoinOperator`."""

from __future__ import annotations

from itertools import compress

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.row_joins import Matcher, has_null, sides_of
from firesteel.columns.rows import DELETE, INSERT, Row, RowOutput, is_retraction, keys_of, kinds_list, rows_of


class SemiJoin(Kernel):
    """SEMI and ANTI joins: left rows with, or without, a match on the right.

    For NOT IN, a NULL on the right is as a match of all left rows, and any right row as one of a NULL on the left.
    """

    def __init__(self, plan: JoinPlan) -> None:
        self._plan = plan
        self._is_anti = plan.kind == "ANTI"

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._matcher = Matcher(self._plan, context)
        self._sides = sides_of(self._plan, context)
        self._output = RowOutput(self._matcher.left, context.emit)
        self._null_keys = {key for key in self._sides[1].data if has_null(key)} if self._plan.null_aware else set()
        self._nulls = self._present_nulls()

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Join the rows of a batch with those of the other side that arrived before."""
        keys = keys_of(batch, self._plan.keys[index], self.context.max_parallelism)
        if self._sides[1].expires:
            self._follow_nulls({})
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            if index == 0:
                self._left(key, kind, row)
            else:
                self._right(key, kind, row)
        self._output.flush()

    def _count(self, key: Row, row: Row) -> int:
        """Return the number of matches of a left row."""
        if has_null(key):
            return 0
        others = [other[0] for other in self._sides[1].rows(key)]
        return sum(self._matcher.fitting(0, row, others))

    def _present_nulls(self) -> tuple[bool, bool]:
        """Return whether a key with NULL is on the right, and whether any key is; only NOT IN asks."""
        side = self._sides[1]
        if not self._plan.null_aware:
            return False, False
        return any(side.rows(key) for key in self._null_keys), bool(side.data)

    def _is_shown(self, key: Row, count: int, nulls: tuple[bool, bool]) -> bool:
        """Return whether a left row is in the result.

        Args:
            key: Its key.
            count: The number of its matches.
            nulls: The result of `_present_nulls`.
        """
        decides = self._plan.null_aware and (nulls[0] or (nulls[1] and has_null(key)))
        return (count > 0 or decides) != self._is_anti

    def _left(self, key: Row, kind: int, row: Row) -> None:
        side = self._sides[0]
        rows = side.rows(key)
        if is_retraction(kind):
            place = next((i for i, kept in enumerate(rows) if kept[0] == row), None)
            if place is None:
                return
            count = rows.pop(place)[1]
        else:
            count = self._count(key, row)
            rows.append(side.entry(row, count))
        side.keep(key, rows)
        if self._is_shown(key, count, self._nulls):
            self._output.add(kind, row)

    def _right(self, key: Row, kind: int, row: Row) -> None:
        # A retraction of a row that is not there, as it had expired, changes nothing.
        change = self._change_right(key, kind, row)
        if not change:
            return
        changed = self._changed_counts(key, row, change)
        if self._follow_nulls({id(entry): count for entry, count in changed}):
            return
        for entry, count in changed:
            self._turn(entry, self._is_shown(key, count, self._nulls), self._is_shown(key, entry[1], self._nulls))

    def _follow_nulls(self, counts: dict[int, int]) -> bool:
        """Look at all left rows if the first or last NULL, or row, of the right side has come or gone.

        Args:
            counts: The former counts of entries, where they have changed.

        Returns:
            Whether that was so. Most right rows change no left ones but those of their key.
        """
        before, self._nulls = self._nulls, self._present_nulls()
        if before == self._nulls:
            return False
        for key, entries in list(self._sides[0].data.items()):
            for entry in entries:
                # By identity: two equal left rows are two entries, each with its own count.
                count = counts[id(entry)] if id(entry) in counts else entry[1]
                was = self._is_shown(key, count, before)
                self._turn(entry, was, self._is_shown(key, entry[1], self._nulls))
        return True

    def _change_right(self, key: Row, kind: int, row: Row) -> int:
        """Store or remove a right row, and return by how much the matches of its left rows change."""
        side = self._sides[1]
        rows = side.rows(key)
        change = 1
        if is_retraction(kind):
            place = next((i for i, kept in enumerate(rows) if kept[0] == row), None)
            if place is None:
                return 0
            del rows[place]
            change = -1
        else:
            rows.append(side.entry(row, 0))
            if self._plan.null_aware and has_null(key):
                self._null_keys.add(key)
        side.keep(key, rows)
        return change

    def _changed_counts(self, key: Row, row: Row, change: int) -> list[tuple[list[Cell], int]]:
        """Count a right row at the left rows that it matches, and return these with their former counts."""
        if has_null(key):
            return []
        side = self._sides[0]
        kept = side.rows(key)
        fits = self._matcher.fitting(1, row, [entry[0] for entry in kept])
        found = [(entry, entry[1]) for entry in compress(kept, fits)]
        for entry, count in found:
            side.recount(entry, count + change)
        if found:
            side.keep(key, kept)
        return found

    def _turn(self, entry: list[Cell], was_shown: bool, is_shown: bool) -> None:
        if was_shown != is_shown:
            self._output.add(INSERT if is_shown else DELETE, entry[0])
