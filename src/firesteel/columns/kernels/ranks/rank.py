"""Top-N. Flink: `AbstractTopNFunction`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import taken_values
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.ranks.rank_changes import RankChanges
from firesteel.columns.kernels.ranks.ranked_rows import RankedRows
from firesteel.columns.kernels.ranks.top_rows import TopRows
from firesteel.columns.kernels.ranks.window_rank import WindowRank
from firesteel.columns.kernels.rows.row_order import Order
from firesteel.columns.rows import UPDATE_AFTER, UPDATE_BEFORE, are_retractions, batch_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        emits_before: Whether `-U` comes before an update.
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
    emits_before: bool = True

    @property
    def shows_ranks(self) -> bool:
        """Whether it can be seen which rank a row has, beyond being one of the best."""
        return self.outputs_rank or self.start > 1

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        kind = "window Top-N" if self.window_end is not None else f"Top-N ({self.strategy.name})"
        return rows_layout(kind, self.types, self.partition, self.order)

    def make(self) -> Kernel:
        """Return the kernel."""
        if self.window_end is not None:
            return WindowRank(self)
        return TopRows(self) if self.strategy is RankStrategy.APPEND_FAST else Rank(self)


class Rank(Kernel):
    """Keeps the rows of each partition, and emits how the ranks from `start` to `end` change.

    State: the rows as columns; without retractions only the best ones.
    """

    def __init__(self, plan: RankFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        plan = self._plan
        ttl_ms = context.state_ttl_ms
        self._rows = RankedRows(plan.partition, plan.order, len(plan.types), context, "ranked", ttl_ms)
        for rows, written in self._former(context):
            self._rows.add(rows, np.zeros(rows.length, np.int64), written)

    def _former(self, context: KernelContext) -> Iterator[tuple[ColumnBatch, Array]]:
        """Yield rows that an earlier release kept in lists, by partition and rank; those of long ones one by one."""
        types = [arrow_type(kind) for kind in self._plan.types]
        for lists, written in taken_values(context, "rows"):
            yield batch_of([row for rows in lists for row in rows], types), np.repeat(written, list(map(len, lists)))
        single = context.table("ranked rows")
        if entries := sorted(single.data.items(), key=lambda entry: entry[0][-1]):
            for entry, _ in entries:
                single.remove(entry)
            yield batch_of([row for _, row in entries], types), np.zeros(len(entries), np.int64)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Insert or remove the rows and emit the changes."""
        if not batch.length:
            return
        plan, is_fast = self._plan, self._plan.strategy is RankStrategy.UPDATE_FAST
        ranked = self._rows.rank(batch, self._rows.partitions(batch), plan.end)
        events, own = ranked.events()
        gone, come = _steps(batch.kinds_or_inserts(), own, ranked.partitions.groups.codes if is_fast else None)
        if len(gone):
            changes = RankChanges(events, gone, come, np.full(len(gone), plan.end), plan.emits_before)
            for part in changes.parts(plan.start, plan.outputs_rank):
                self.context.emit(part)
        if is_fast:
            ranked.apply_best(plan.end)
        else:
            ranked.apply()

    def flush(self) -> None:
        """Write the rows that have changed."""
        self._rows.flush()


def _steps(kinds: Array, own: Array, partitions: Array | None) -> tuple[Array, Array]:
    """Return the events of each step by which a row goes and comes.

    Args:
        kinds: The kinds of the rows of a batch.
        own: The event of each, or -1.
        partitions: The partition of each if rows are only replaced by better ones. An update is one step then: what is
            behind the row does not move.
    """
    is_second = np.zeros(len(kinds) + 1, bool)
    if partitions is not None:
        is_update = (kinds[:-1] == UPDATE_BEFORE) & (kinds[1:] == UPDATE_AFTER)
        is_second[1:-1] = is_update & (partitions[:-1] == partitions[1:])
    goes = are_retractions(kinds)
    gone = np.where(goes, own, -1)
    come = np.where(goes, np.where(is_second[1:], np.append(own[1:], -1), -1), own)
    chosen = ~is_second[:-1] & ((gone >= 0) | (come >= 0))
    return gone[chosen], come[chosen]
