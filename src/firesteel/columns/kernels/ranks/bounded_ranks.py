"""Top-N of bounded tables, before and after the exchange. Flink: `BatchExecRank`, local and global."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.kernel import Kernel
from firesteel.columns.kernels.ranks.row_ranks import ranked, ranks
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.state_layout import STATELESS, Layout

if TYPE_CHECKING:
    from firesteel.columns.kernels.ranks.rank import RankFactory

_AT_ONCE = 1 << 17
"""Number of rows among which those are dropped that have a rank behind the last one."""


@dataclass(frozen=True)
class LocalRanksFactory:
    """Plan of the phase before the exchange of a Top-N."""

    plan: RankFactory

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return LocalRanks(self.plan)


@dataclass(frozen=True)
class BoundedRanksFactory:
    """Plan of the phase after the exchange."""

    plan: RankFactory

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return BoundedRanks(self.plan)


class LocalRanks(Kernel):
    """Drops rows that can't be among the first ones, as long as these are less than half of them."""

    def __init__(self, plan: RankFactory) -> None:
        self._plan = plan
        self._waiting: list[ColumnBatch] = []
        self._rows = 0
        self._passes = False

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows until there are enough of them."""
        if self._passes:
            self.context.emit(batch)
            return
        self._waiting.append(batch)
        self._rows += batch.length
        if self._rows >= _AT_ONCE:
            self.end()

    def end(self) -> None:
        """Emit the best ones of the rows."""
        if not self._rows:
            return
        rows = concat(self._waiting)
        self._waiting, self._rows = [], 0
        order, found = ranks(self._plan, rows, groups_by(rows, self._plan.partition).codes)
        kept = np.sort(order[found <= self._plan.end])  # in the order of arrival
        self._passes = 2 * len(kept) > rows.length
        self.context.emit(rows.take(kept))


class BoundedRanks(Kernel):
    """Emits the rows with a rank from `start` to `end` at the end of input, by partition."""

    def __init__(self, plan: RankFactory) -> None:
        self._plan = plan
        self._rows: list[ColumnBatch] = []

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows."""
        if batch.length:
            self._rows.append(batch)

    def end(self) -> None:
        """Emit the rows."""
        if self._rows:
            rows = concat(self._rows)
            self.context.emit(ranked(self._plan, rows, groups_by(rows, self._plan.partition).codes))
