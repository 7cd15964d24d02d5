"""Joins of changelogs, without bounds in time. Flink: `StreamingJoinOperator`, `StreamingSemiAntiJoinOperator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import compile_filter
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.rex import Rex
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    Row,
    RowOutput,
    batch_of,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class JoinPlan:
    """What all joins share.

    Attributes:
        kind: INNER, LEFT, RIGHT, FULL, SEMI or ANTI.
        keys: The columns that must be equal, of both inputs.
        condition: What else must hold, over the columns of both.
        left_types: Logical types of the left input's columns, likewise `right_types`.
    """

    kind: str
    keys: tuple[tuple[int, ...], tuple[int, ...]]
    condition: Rex | None
    left_types: tuple[Any, ...]
    right_types: tuple[Any, ...]
    settings: Any
    null_aware: bool = False

    def make(self) -> Kernel:
        """Return the kernel of a regular join."""
        return SemiJoin(self) if self.kind in ("SEMI", "ANTI") else RegularJoin(self)


class Matcher:
    """Finds which rows of the other side fit a row: equal keys were looked up already."""

    def __init__(self, plan: JoinPlan, context: KernelContext) -> None:
        self.left = [arrow_type(kind) for kind in plan.left_types]
        self.right = [arrow_type(kind) for kind in plan.right_types]
        self._types = [*self.left, *self.right]
        self._condition = None
        if plan.condition is not None:
            self._condition = compile_filter(plan.condition, plan.settings.context(context))

    def close(self) -> None:
        """Close the user's functions."""
        if self._condition is not None:
            self._condition.close()

    @property
    def types(self) -> list[Any]:
        """The Arrow types of both sides' columns."""
        return self._types

    def fitting(self, index: int, row: Row, others: list[Row]) -> list[bool]:
        """Return for each row of the other side whether the condition holds; `index`: the side of `row`."""
        if self._condition is None or not others:
            return [True] * len(others)
        pairs = [row + other for other in others] if index == 0 else [other + row for other in others]
        return self._condition(batch_of(pairs, self._types)).tolist()  # type: ignore[no-any-return]


def has_null(key: Row) -> bool:
    """Return whether a key has a NULL, which equals nothing; its first part is the key group."""
    return None in key[1:]


class RegularJoin(Kernel):
    """Keeps both inputs. State per side and key: rows with their number and how many rows of the other side fit."""

    def __init__(self, plan: JoinPlan) -> None:
        self._plan = plan
        self._outer = (plan.kind in ("LEFT", "FULL"), plan.kind in ("RIGHT", "FULL"))

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._matcher = Matcher(self._plan, context)
        self._tables = (context.table("left"), context.table("right"))
        self._output = RowOutput(self._matcher.types, context.emit)
        self._nulls = ((None,) * len(self._matcher.left), (None,) * len(self._matcher.right))

    def close(self) -> None:
        """Close the user's functions."""
        self._matcher.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Take rows; BATCH gives results at the end, where no outer row is taken back."""
        keys = keys_of(batch, self._plan.keys[index], self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            if not self.context.is_streaming:
                self._keep(index, key, row)
            elif is_retraction(kind):
                self._retract(index, key, kind, row)
            else:
                self._add(index, key, kind, row)
        self._output.flush()

    def _keep(self, index: int, key: Row, row: Row) -> None:
        rows = self._tables[index].data.setdefault(key, [])
        rows.append([row, 0])

    def _pair(self, index: int, row: Row, other: Row) -> Row:
        return row + other if index == 0 else other + row

    def _others(self, index: int, key: Row, row: Row) -> list[list[Any]]:
        if has_null(key):
            return []
        others = self._tables[1 - index].data.get(key) or []
        fits = self._matcher.fitting(index, row, [other[0] for other in others])
        return [other for other, fit in zip(others, fits, strict=True) if fit]

    def _add(self, index: int, key: Row, kind: int, row: Row) -> None:
        others = self._others(index, key, row)
        output, other_outer = self._output, self._outer[1 - index]
        if not others and self._outer[index]:
            output.add(INSERT, self._pair(index, row, self._nulls[1 - index]))
        for other in others:
            if other_outer and other[1] == 0:
                output.add(DELETE, self._pair(index, self._nulls[index], other[0]))
                output.add(INSERT, self._pair(index, row, other[0]))
            else:
                output.add(INSERT if other_outer or self._outer[index] else kind, self._pair(index, row, other[0]))
            other[1] += 1
        if others and other_outer:
            self._touch(1 - index, key)
        table = self._tables[index]
        rows = table.data.get(key) or []
        rows.append([row, len(others)])
        table.put(key, rows)

    def _touch(self, index: int, key: Row) -> None:
        self._tables[index].put(key, self._tables[index].data[key])

    def _retract(self, index: int, key: Row, kind: int, row: Row) -> None:
        table = self._tables[index]
        rows = table.data.get(key) or []
        place = next((i for i, kept in enumerate(rows) if kept[0] == row), None)
        if place is None:
            return
        del rows[place]
        if rows:
            table.put(key, rows)
        else:
            table.remove(key)
        others = self._others(index, key, row)
        if not others and self._outer[index]:
            self._output.add(DELETE, self._pair(index, row, self._nulls[1 - index]))
        for other in others:
            other[1] -= 1
            kept_kind = DELETE if self._outer[0] or self._outer[1] else kind
            self._output.add(kept_kind, self._pair(index, row, other[0]))
            if self._outer[1 - index] and other[1] == 0:
                self._output.add(INSERT, self._pair(index, self._nulls[index], other[0]))
        if others and self._outer[1 - index]:
            self._touch(1 - index, key)

    def end(self) -> None:
        """Join what a bounded query kept."""
        if self.context.is_streaming:
            return
        left, right = (table.data for table in self._tables)
        for key, rows in left.items():
            for row, _ in rows:
                others = self._others(0, key, row)
                for other in others:
                    other[1] += 1
                    self._output.add(INSERT, row + other[0])
                if not others and self._outer[0]:
                    self._output.add(INSERT, row + self._nulls[1])
        if self._outer[1]:
            for rows in right.values():
                self._output.extend(self._nulls[0] + row for row, count in rows if count == 0)
        self._output.flush()


class SemiJoin(Kernel):
    """SEMI and ANTI: rows of the left input that have, or do not have, a fitting row on the right."""

    def __init__(self, plan: JoinPlan) -> None:
        self._plan = plan
        self._is_anti = plan.kind == "ANTI"

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._matcher = Matcher(self._plan, context)
        self._tables = (context.table("left"), context.table("right"))
        self._output = RowOutput(self._matcher.left, context.emit)

    def close(self) -> None:
        """Close the user's functions."""
        self._matcher.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Take rows."""
        keys = keys_of(batch, self._plan.keys[index], self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            if not self.context.is_streaming:
                self._tables[index].data.setdefault(key, []).append([row, 0])
            elif index == 0:
                self._left(key, kind, row)
            else:
                self._right(key, kind, row)
        self._output.flush()

    def _count(self, key: Row, row: Row) -> int:
        if self._plan.null_aware and self._null_decides(key):
            return 1
        if has_null(key):
            return 0
        others = [other[0] for other in self._tables[1].data.get(key) or []]
        return sum(self._matcher.fitting(0, row, others))

    def _null_decides(self, key: Row) -> bool:
        """NOT IN: a NULL on the right, or a NULL on the left of rows that there are, makes it unknown."""
        right = self._tables[1].data
        return any(has_null(other) for other in right) or (has_null(key) and bool(right))

    def _left(self, key: Row, kind: int, row: Row) -> None:
        table = self._tables[0]
        rows = table.data.get(key) or []
        if is_retraction(kind):
            place = next((i for i, kept in enumerate(rows) if kept[0] == row), None)
            if place is None:
                return
            _, count = rows.pop(place)
        else:
            count = self._count(key, row)
            rows.append([row, count])
        if rows:
            table.put(key, rows)
        else:
            table.remove(key)
        if (count > 0) != self._is_anti:
            self._output.add(kind, row)

    def _right(self, key: Row, kind: int, row: Row) -> None:
        table = self._tables[1]
        rows = table.data.get(key) or []
        change = 1
        if is_retraction(kind):
            place = next((i for i, kept in enumerate(rows) if kept[0] == row), None)
            if place is None:
                return
            del rows[place]
            change = -1
        else:
            rows.append([row, 0])
        if rows:
            table.put(key, rows)
        else:
            table.remove(key)
        if self._plan.null_aware:
            self._recount()
            return
        if has_null(key):
            return
        kept = self._tables[0].data.get(key) or []
        fits = self._matcher.fitting(1, row, [entry[0] for entry in kept])
        for entry, fit in zip(kept, fits, strict=True):
            if fit:
                self._turn(entry, entry[1] + change)
        if any(fits):
            self._tables[0].put(key, kept)

    def _recount(self) -> None:
        for key, kept in list(self._tables[0].data.items()):
            for entry in kept:
                self._turn(entry, self._count(key, entry[0]))
            self._tables[0].put(key, kept)

    def _turn(self, entry: list[Any], count: int) -> None:
        before, entry[1] = entry[1] > 0, count
        if before != (count > 0):
            self._output.add(INSERT if (count > 0) != self._is_anti else DELETE, entry[0])

    def end(self) -> None:
        """Give the rows of a bounded query."""
        if self.context.is_streaming:
            return
        for key, rows in self._tables[0].data.items():
            self._output.extend(row for row, _ in rows if (self._count(key, row) > 0) != self._is_anti)
        self._output.flush()
