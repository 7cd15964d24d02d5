"""Joins of bounded inputs.

Why: `docs/decisions/0059-small-inputs-and-partial-groups.md`.
"""

from __future__ import annotations

from firesteel.columns.batch import ColumnBatch, concat, merged
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.joins.column_joins import PAIRS, CompleteJoin, IndexedSide
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.rows.spilled_rows import BoundedInputs, SpilledRows

__all__ = ["BoundedJoin", "BroadcastJoin"]


class BroadcastJoin(Kernel):
    """A join with an input that is broadcast, as it is small: it is indexed, and the rows of the other one pass by.

    Args:
        plan: The plan of the join.
        small: The input that is broadcast; its rows without a match are not emitted.
    """

    def __init__(self, plan: JoinPlan, small: int) -> None:
        self._plan = plan
        self._small = small
        self._rows: list[ColumnBatch] = []
        self._early: SpilledRows | None = None
        self._indexed: IndexedSide | None = None
        self._passing: list[ColumnBatch] = []
        self._passing_rows = 0

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._join = CompleteJoin(self._plan, context)

    def close(self) -> None:
        """Close the user functions, and remove the file."""
        self._join.close()
        if self._early is not None:
            self._early.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows of the small input; those of the other one search it once it is complete."""
        if index == self._small:
            self._rows.append(batch)
        elif self._indexed is not None:
            self._passing.append(batch)
            self._passing_rows += batch.length
            if self._passing_rows >= PAIRS:  # Small batches cost more than their rows.
                self._search(self._indexed)
        else:
            if self._early is None:
                self._early = SpilledRows((), self.context.configuration)
            self._early.add(batch)

    def _search(self, indexed: IndexedSide) -> None:
        if self._passing:
            indexed.search(concat(self._passing))
            self._passing, self._passing_rows = [], 0

    def end_input(self, index: int) -> None:
        """Index the small input, and let those rows of the other one search it that came before its end."""
        if index == self._small:
            self._indexed = self._join.indexed(index, self._rows)
            self._rows = []
            for batch in () if self._early is None else merged(self._early.take(0), PAIRS):
                self._indexed.search(batch)

    def end(self) -> None:
        """Join the last rows."""
        assert self._indexed is not None
        self._search(self._indexed)


class BoundedJoin(Kernel):
    """A join of bounded inputs: stores both and joins them at the end of input.

    The rows are no keyed state, because bounded jobs write no versions. If they have more bytes than
    `execution.sorted-inputs.memory`, they are in files, in parts by key. They are one part if there are no keys, and
    for NOT IN, which has to know of any NULL; then the input with fewer rows must fit into memory.
    """

    def __init__(self, plan: JoinPlan) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._join = CompleteJoin(self._plan, context)
        self._inputs = BoundedInputs(((), ()) if self._plan.null_aware else self._plan.keys, context.configuration)

    def close(self) -> None:
        """Close the user functions, and remove the files."""
        self._join.close()
        self._inputs.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows of a batch."""
        self._inputs.add(index, batch)

    def end(self) -> None:
        """Join the stored rows."""
        for left, right in self._inputs.parts():
            self._join.join_counted((left.batches, right.batches), (left.rows, right.rows))
