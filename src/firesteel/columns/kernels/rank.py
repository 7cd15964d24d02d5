"""Top-N. Flink: `AbstractTopNFunction`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import cmp_to_key, partial
from itertools import zip_longest
from math import isnan
from typing import TYPE_CHECKING

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.long_ranks import LONG, LongRanks, LongRows
from firesteel.columns.kernels.row_order import Order
from firesteel.columns.kernels.top_rows import TopRows
from firesteel.columns.kernels.window_rank import WindowRank
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Row,
    RowOutput,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from _typeshed import SupportsAllComparisons

_FEW = 32
"""Number of rows up to which comparing them takes less time than computing keys of them."""
_RETRACTIONS = (UPDATE_BEFORE, DELETE)

Rows = list[Row] | LongRows
"""The rows of a partition in the order of their ranks."""


def row_key(order: Order, types: Sequence[DataType] = ()) -> Callable[[Row], SupportsAllComparisons]:
    """Return the sort key function of rows, given the types of their columns if these are known."""
    parts = [_part(place, types[place[0]] if types else None) for place in order]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return cmp_to_key(partial(_compare, order))
    if len(known) == 1:
        return known[0]
    return lambda row: tuple([part(row) for part in known])


def _compare(order: Order, a: Row, b: Row) -> int:
    for index, descending, nulls_first in order:
        x, y = a[index], b[index]
        if x == y:
            continue
        if x is None or y is None:
            return -1 if (x is None) == nulls_first else 1
        return (-1 if x < y else 1) * (-1 if descending else 1)
    return 0


def _part(place: tuple[int, bool, bool], kind: DataType | None) -> Callable[[Row], SupportsAllComparisons] | None:
    """Return the key of one sort column, or None if its values have no negative or are not known."""
    index, descending, nulls_first = place
    if kind is None or (descending and not isinstance(kind, (t.IntegralType, t.FractionalType))):
        return None
    null = (0,) if nulls_first else (2,)
    if not descending:
        return lambda row: null if row[index] is None else (1, row[index])
    if isinstance(kind, t.IntegralType):
        return lambda row: null if row[index] is None else (1, -row[index])
    if isinstance(kind, t.DecimalType):
        return lambda row: null if row[index] is None else (1, row[index].copy_negate())
    # NaN is the largest number, and its negative would be no longer.
    return lambda row: null if row[index] is None else (1, 0) if isnan(row[index]) else (1, 1, -row[index])


class RankStrategy(Enum):
    """What the rows of a Top-N do, and so which of them it keeps. Flink: `RankProcessStrategy`."""

    APPEND_FAST = "rows only come"
    UPDATE_FAST = "rows come, and are replaced by better ones: what is behind the end never moves up by itself"
    RETRACT = "rows come and go"


@dataclass(frozen=True)
class RankFactory:
    """Plan that keeps the rows of each partition with a rank from `start` to `end`; see `rel.Rank`.

    Attributes:
        window_end: Index of the window end column; results are then emitted when the window ends.
        clock: The clock on which the windows lie.
        strategy: What the rows do. With RETRACT those ranked after `end` are kept, as they may move up.
    """

    function: str
    partition: tuple[int, ...]
    order: Order
    start: int
    end: int
    outputs_rank: bool
    types: tuple[DataType, ...]
    strategy: RankStrategy
    window_end: int | None = None
    clock: WindowClock = UTC_CLOCK

    def make(self) -> Kernel:
        """Return the kernel."""
        if self.window_end is not None:
            return WindowRank(self)
        return TopRows(self) if self.strategy is RankStrategy.APPEND_FAST else Rank(self)


class Rank(Kernel):
    """Keeps the sorted rows of each partition, and emits how the ranks from `start` to `end` change."""

    def __init__(self, plan: RankFactory) -> None:
        self._plan = plan
        self._key = row_key(plan.order, plan.types)

    def open(self, context: KernelContext) -> None:
        """Open the table of rows by partition."""
        super().open(context)
        self._table = expiring_table(context, "rows")
        self._output = rank_output(self._plan, context)
        self._long = LongRanks(context.table("ranked rows"), self._key)
        # An order of rows on disk would be read as a whole, and a partition expires as a whole.
        self._keeps_all = self._plan.strategy is RankStrategy.RETRACT
        self._becomes_long = self._keeps_all and not context.state_ttl_ms and not context.is_state_on_disk
        if not self._becomes_long:
            for key, rows in self._long.give_back().items():
                self._table.put(key, rows)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Insert or remove the rows and emit the changes."""
        keys = keys_of(batch, self._plan.partition, self.context.max_parallelism)
        self._table.prefetch(keys)
        change = self._numbered if self._plan.outputs_rank or self._plan.start > 1 else self._unnumbered
        sort_key, end, keeps_all, stored = self._key, self._plan.end, self._keeps_all, self._table.data
        read: dict[Row, Rows] = {}
        changed: dict[Row, Rows] = {}
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            rows = read.get(key)
            if rows is None:
                rows = read[key] = self._long.by_key.get(key) or stored.get(key) or []
            if rows.__class__ is list and len(rows) > LONG and self._becomes_long:
                rows = read[key] = changed[key] = self._long.take(key, rows)
            is_gone = kind in _RETRACTIONS
            if isinstance(rows, LongRows):
                place = rows.find(row) if is_gone else rows.place_for(row)
            else:
                # To the right of equal rows: of those at the end the first that came stays.
                place = self._place(rows, row) if is_gone else bisect_right(rows, sort_key(row), key=sort_key)
            if place is None:
                continue
            changed[key] = rows
            if place < end:
                change(rows, place, row, is_gone)
            if is_gone:
                del rows[place]
            elif keeps_all or place < end:
                rows.insert(place, row)
                if not keeps_all:
                    # Without retractions nothing moves up again, so what is over the end is never asked for.
                    assert isinstance(rows, list), "long partitions keep all rows"
                    del rows[end:]
        self._write(changed)
        self._output.flush()

    def _write(self, changed: dict[Row, Rows]) -> None:
        left = {key: rows for key, rows in changed.items() if rows}
        short = {key: rows for key, rows in left.items() if not isinstance(rows, LongRows)}
        self._table.put_all(list(short), list(short.values()))
        for key in changed.keys() - short.keys():
            self._table.remove(key)
        for key in changed.keys() - left.keys():
            self._long.by_key.pop(key, None)

    def _place(self, rows: list[Row], row: Row) -> int | None:
        """Return the index of a row among sorted ones, or None."""
        begin, end = 0, len(rows)
        if end > _FEW:
            sought = self._key(row)
            # Rows that sort alike may differ in other columns, so those between are compared as a whole.
            begin, end = bisect_left(rows, sought, key=self._key), bisect_right(rows, sought, key=self._key)
        try:
            return rows.index(row, begin, end)
        except ValueError:
            return None

    def _numbered(self, rows: Rows, place: int, row: Row, is_gone: bool) -> None:
        """Emit how the ranks change once a row comes or goes at a place."""
        plan = self._plan
        first = max(place, plan.start - 1)
        before = rows[first : plan.end]
        if is_gone:
            after = rows[first + 1 : plan.end + 1]
        else:
            after = [row, *rows[place : plan.end - 1]] if first == place else rows[first - 1 : plan.end - 1]
        for number, (old, new) in enumerate(zip_longest(before, after), first + 1):
            if old == new:
                continue
            rank = (number,) if plan.outputs_rank else ()
            if new is None:
                self._output.add(DELETE, (*old, *rank))
            elif old is None:
                self._output.add(INSERT, (*new, *rank))
            else:
                self._output.add(UPDATE_BEFORE, (*old, *rank))
                self._output.add(UPDATE_AFTER, (*new, *rank))

    def _unnumbered(self, rows: Rows, place: int, row: Row, is_gone: bool) -> None:
        """Emit the row that comes or goes at a place, and the one that it moves over the end."""
        end = self._plan.end
        if is_gone:
            up = rows[end] if len(rows) > end else None
            if up != row:
                self._output.add(DELETE, row)
                if up is not None:
                    self._output.add(INSERT, up)
        elif len(rows) < end:
            self._output.add(INSERT, row)
        else:
            # Like Flink, only a Top-1 of append-only input emits updates instead of a delete and an insert.
            is_update = end == 1 and self._plan.strategy is RankStrategy.APPEND_FAST
            self._output.add(UPDATE_BEFORE if is_update else DELETE, rows[end - 1])
            self._output.add(UPDATE_AFTER if is_update else INSERT, row)


def rank_output(plan: RankFactory, context: KernelContext) -> RowOutput:
    """Create the output of a Top-N."""
    import pyarrow as pa

    types = [arrow_type(kind) for kind in plan.types]
    return RowOutput([*types, pa.int64()] if plan.outputs_rank else types, context.emit)
