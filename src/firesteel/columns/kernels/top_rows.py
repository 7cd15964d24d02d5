"""Top-N over inserted rows, on columns. Flink: `AppendOnlyTopNFunction`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import taken_values
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.best_rows import BestRows, Ranking
from firesteel.columns.kernels.changes import replacements
from firesteel.columns.kernels.key_numbers import groups_by
from firesteel.columns.kernels.prefix_ranks import PrefixRanks
from firesteel.columns.kernels.segments import ranges
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.rank import RankFactory

_AT_ONCE = 1 << 18
"""Number of changed ranks that are emitted together, about."""


class TopRows(Kernel):
    """Keeps the best rows of each partition, and emits how the ranks from `start` to `end` change.

    State: the rows as columns.
    """

    def __init__(self, plan: RankFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        plan = self._plan
        self._best = BestRows(plan.partition, plan.order, plan.end, context)
        types = [arrow_type(kind) for kind in plan.types]
        for kept, written in taken_values(context, "rows"):
            rows = batch_of([row for rows in kept for row in rows], types)
            self._best.add_former(rows, np.repeat(written, list(map(len, kept))))

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit what the rows change, in their order."""
        if not batch.length:
            return
        plan = self._plan
        changes = _Changes(self._best.add(batch), plan.end)
        if plan.outputs_rank or plan.start > 1:
            for part in changes.of_ranks(plan.start, plan.outputs_rank):
                self.context.emit(part)
        else:
            self.context.emit(changes.of_rows())

    def flush(self) -> None:
        """Write the rows that have changed."""
        self._best.flush()


class _Changes:
    """What the added rows of a ranking change, one after the other.

    A row is accepted if it was among the best when it came. Positions are those of rows sorted by key and arrival.
    """

    def __init__(self, ranking: Ranking, end: int) -> None:
        self._ranking, self._end = ranking, end
        rows, starts = ranking.sorted, ranking.starts
        by_arrival = np.lexsort((rows, starts))
        self._elements, self._starts = ranking.places[by_arrival], starts[by_arrival]
        rows = rows[by_arrival]
        added = np.flatnonzero(rows >= ranking.known)
        self._added = added[np.argsort(rows[added])]

    @cached_property
    def _prefixes(self) -> PrefixRanks:
        sizes = np.bincount(self._starts)[self._starts] if len(self._starts) else self._starts
        return PrefixRanks(self._elements, self._starts, sizes)

    def _counts(self, positions: Array) -> Array:
        """Return how many rows keys had before the rows at these positions."""
        return positions - self._starts[positions]

    def _rows(self, positions: Array, elements: Array) -> Array:
        """Return the indexes of rows from their places among those of their keys."""
        rows: Array = self._ranking.sorted[self._starts[positions] + elements]
        return rows

    def of_rows(self) -> ColumnBatch:
        """Return each accepted row, after the one that it moves over the end."""
        is_full = self._counts(self._added) >= self._end
        full = self._added[is_full]
        last = self._prefixes.at(full, np.full(len(full), self._end - 1)) if len(full) else full
        before = np.full(len(self._added), -1)
        before[is_full] = self._rows(full, last)
        is_accepted = ~is_full
        is_accepted[is_full] = self._elements[full] < last
        after = self._rows(self._added, self._elements[self._added])
        # Like Flink, only a Top-1 emits updates instead of a delete and an insert.
        kinds = (UPDATE_BEFORE, UPDATE_AFTER) if self._end == 1 else (DELETE, INSERT)
        rows, (before, after) = self._ranking.take(before[is_accepted], after[is_accepted])
        return replacements(rows, before, after, kinds)

    def of_ranks(self, start: int, outputs_rank: bool) -> Iterator[ColumnBatch]:
        """Yield the changes of each rank from `start` on, with the rank if requested."""
        places = self._prefixes.smaller(self._added, self._elements[self._added])
        low = np.maximum(places, start - 1)
        high = np.maximum(np.minimum(self._counts(self._added) + 1, self._end), low)
        part = np.cumsum(high - low) // _AT_ONCE
        for chosen in np.split(np.arange(len(part)), np.flatnonzero(np.diff(part)) + 1):
            positions = np.repeat(self._added[chosen], (high - low)[chosen])
            own, ranks = np.repeat(places[chosen], (high - low)[chosen]), ranges(low[chosen], high[chosen])
            rows, (before, after) = self._ranking.take(*self._pairs(positions, own, ranks))
            values = groups_by(rows, range(len(rows.columns))).codes
            is_changed = np.flatnonzero((before < 0) | (values[before] != values[after]))
            before, after, ranks = before[is_changed], after[is_changed], ranks[is_changed]
            found = replacements(rows, before, after)
            if outputs_rank:
                numbers = pa.array(np.repeat(ranks + 1, 1 + (before >= 0)))
                found = found.with_columns([*found.columns, numbers])
            yield found

    def _pairs(self, positions: Array, own: Array, ranks: Array) -> tuple[Array, Array]:
        """Return which rows had ranks before the rows at these positions came, -1 for none, and which have afterwards.

        Args:
            positions: The positions of the accepted rows.
            own: Their own ranks.
            ranks: The ranks that they change, from 0.
        """
        before = np.full(len(positions), -1)
        is_there = ranks < self._counts(positions)
        before[is_there] = self._prefixes.at(positions[is_there], ranks[is_there])
        after = self._elements[positions]
        is_moved = ranks > own
        after[is_moved] = self._prefixes.at(positions[is_moved], ranks[is_moved] - 1)
        found = self._rows(positions, np.maximum(before, 0))
        return np.where(before < 0, -1, found), self._rows(positions, after)
