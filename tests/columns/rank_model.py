"""Top-N row by row: the model of the kernels that process columns."""

from __future__ import annotations

from bisect import bisect_right
from itertools import zip_longest

import pyarrow as pa

from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel
from firesteel.columns.kernels.ranks.rank import RankStrategy
from firesteel.columns.kernels.rows.row_order import row_key
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    RowOutput,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.values import arrow_type


class RankModel(Kernel):
    """Keeps the sorted rows of each partition in a list."""

    def __init__(self, plan):
        self._plan = plan
        self._key = row_key(plan.order)

    def open(self, context):
        super().open(context)
        self._table = expiring_table(context, "rows")
        types = [arrow_type(kind) for kind in self._plan.types]
        self._output = RowOutput([*types, pa.int64()] if self._plan.outputs_rank else types, context.emit)

    def process(self, index, batch):
        keys = keys_of(batch, self._plan.partition, self.context.max_parallelism)
        change = self._numbered if self._plan.outputs_rank or self._plan.start > 1 else self._unnumbered
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            rows = list(self._table.data.get(key) or ())
            if not is_retraction(kind):
                place = bisect_right(rows, self._key(row), key=self._key)
            elif repr(row) in (found := list(map(repr, rows))):  # NaN equals itself
                place = found.index(repr(row))
            else:
                continue
            if place < self._plan.end:
                change(rows, place, row, is_retraction(kind))
            if is_retraction(kind):
                del rows[place]
            else:
                rows.insert(place, row)
                if self._plan.strategy is not RankStrategy.RETRACT:
                    del rows[self._plan.end :]
            if rows:
                self._table.put(key, rows)
            else:
                self._table.remove(key)
        self._output.flush()

    def _numbered(self, rows, place, row, is_gone):
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

    def _unnumbered(self, rows, place, row, is_gone):
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
