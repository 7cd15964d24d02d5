"""Semi joins of changelogs, row by row. Flink: `StreamingSemiAntiJoinOperator`."""

from __future__ import annotations

from collections.abc import Callable
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

    Args:
        plan: The plan.
        counts_anew: Whether the matches of restored rows have to be counted.
    """

    def __init__(self, plan: JoinPlan, counts_anew: bool = False) -> None:
        self._plan, self._counts_anew = plan, counts_anew
        self._is_anti = plan.kind == "ANTI"

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._matcher = Matcher(self._plan, context)
        self._sides = sides_of(self._plan, context)
        self._output = RowOutput(self._matcher.left, context.emit)
        self._null_keys = {key for key in self._sides[1].data if has_null(key)} if self._plan.null_aware else set()
        self._nulls = self._present_nulls()
        self._restore_counts()

    def _restore_counts(self) -> None:
        """Count the matches of stored left rows anew, which `SemiJoinByKey` does not keep."""
        if self._counts_anew or self._plan.condition is None:
            for key, entries in list(self._sides[0].data.items()):
                for entry in entries:
                    entry[1] = self._count(key, entry[0])
                self._sides[0].keep(key, entries)

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
        if self._sides[1].expires:
            self._follow_nulls(self._kept_count)
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

    def _kept_count(self, key: Row, entry: list[Cell]) -> int:
        """Return the number of matches of a stored left row."""
        count: int = entry[1]
        return count

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
        if is_retraction(kind):
            entry = side.take(key, row)
            if entry is None:
                return
            count = self._kept_count(key, entry)
        else:
            count = self._count(key, row)
            rows = side.rows(key)
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
        # By identity: two equal left rows are two entries, each with its own count.
        counts = {id(entry): count for entry, count in changed}
        if self._follow_nulls(lambda key, entry: counts.get(id(entry), self._kept_count(key, entry))):
            return
        for entry, count in changed:
            self._turn(entry, self._is_shown(key, count, self._nulls), self._is_shown(key, entry[1], self._nulls))

    def _follow_nulls(self, former: Callable[[Row, list[Cell]], int]) -> bool:
        """Look at all left rows if the first or last NULL, or row, of the right side has come or gone.

        Args:
            former: Returns the number of matches that a left row had before, by its key and entry.

        Returns:
            Whether that was so. Most right rows change no left ones but those of their key.
        """
        before, self._nulls = self._nulls, self._present_nulls()
        if before == self._nulls:
            return False
        for key, entries in list(self._sides[0].data.items()):
            for entry in entries:
                was = self._is_shown(key, former(key, entry), before)
                self._turn(entry, was, self._is_shown(key, self._kept_count(key, entry), self._nulls))
        return True

    def _change_right(self, key: Row, kind: int, row: Row) -> int:
        """Store or remove a right row, and return by how much the matches of its left rows change."""
        side = self._sides[1]
        if is_retraction(kind):
            return 0 if side.take(key, row) is None else -1
        rows = side.rows(key)
        rows.append(side.entry(row, 0))
        side.keep(key, rows)
        if self._plan.null_aware and has_null(key):
            self._null_keys.add(key)
        return 1

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


class SemiJoinByKey(SemiJoin):
    """SEMI and ANTI joins by equations alone: all left rows of a key have the same matches.

    A right row then needs to look at left rows only if it is the first or last one of its key.
    """

    def _restore_counts(self) -> None:
        """Do nothing: what is stored with left rows is not read."""

    def _count(self, key: Row, row: Row) -> int:
        return 0 if has_null(key) else len(self._sides[1].rows(key))

    def _kept_count(self, key: Row, entry: list[Cell]) -> int:
        return self._count(key, ())

    def _right(self, key: Row, kind: int, row: Row) -> None:
        change = self._change_right(key, kind, row)
        count = self._count(key, row)
        former = 0 if has_null(key) else count - change
        if not change or self._follow_nulls(lambda other, _: former if other == key else self._count(other, ())):
            return
        was, is_shown = self._is_shown(key, former, self._nulls), self._is_shown(key, count, self._nulls)
        if was != is_shown:
            for entry in self._sides[0].rows(key):
                self._turn(entry, was, is_shown)


def semi_join(plan: JoinPlan, context: KernelContext, counts_anew: bool = False) -> SemiJoin:
    """Return the kernel of a SEMI or ANTI join; rows with a time to live have matches of their own."""
    expires = any(plan.ttls_ms(context))
    return SemiJoin(plan, counts_anew) if expires or plan.condition is not None else SemiJoinByKey(plan)
