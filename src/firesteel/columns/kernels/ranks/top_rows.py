"""Top-N over inserted rows, on columns. Flink: `AppendOnlyTopNFunction`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.expiring_state import taken_values
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.ranks.best_rows import BestRows, Ranking
from firesteel.columns.kernels.ranks.rank_changes import RankChanges, RankEvents
from firesteel.columns.orders import lexical_order
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.ranks.rank import RankFactory


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
        # Like Flink, only a Top-1 emits updates instead of a delete and an insert.
        kinds = (UPDATE_BEFORE, UPDATE_AFTER) if plan.end == 1 else (DELETE, INSERT)
        changes = _changes(self._best.add(batch), plan)
        for part in changes.parts(plan.start, plan.outputs_rank, kinds):
            self.context.emit(part)

    def flush(self) -> None:
        """Write the rows that have changed."""
        self._best.flush()


def _changes(ranking: Ranking, plan: RankFactory) -> RankChanges:
    ends = np.full(len(ranking.sorted), plan.end)
    if not plan.shows_ranks:
        ranking, settled = ranking.without_settled()
        ends = plan.end - settled
    by_arrival = lexical_order([ranking.starts, ranking.sorted])
    starts, rows = ranking.starts[by_arrival], ranking.sorted[by_arrival]
    added = np.flatnonzero(rows >= ranking.known)
    added = added[np.argsort(rows[added])]
    events = RankEvents(ranking.places[by_arrival], starts, None, ranking.sorted, starts, ranking.take)
    return RankChanges(events, np.full(len(added), -1), added, ends[by_arrival[added]], plan.emits_before)
