"""GROUP BY of bounded tables in two phases: before the exchange by subtask, after it by key.

Flink: `LocalHashAggregate` and the merging `HashAggregate`. Partial results are rows of the keys and the parts of the
accumulators of the calls.

Sums of floats are rounded as the rows are grouped, as in Flink.

Why: `docs/decisions/0059-small-inputs-and-partial-groups.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import VectorCall
from firesteel.columns.kernels.calls.vectorized import group_calls
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.groups.gathered_groups import GatheredGroups, MergedGroups
from firesteel.columns.kernels.groups.group_vectors import partial_rows
from firesteel.columns.kernels.rows.spilled_rows import PARTS, SpilledRows
from firesteel.columns.row_groups import can_factorize
from firesteel.columns.state_layout import STATELESS, Layout
from firesteel.columns.values import arrow_type
from firesteel.common.options.execution_options import SORTED_INPUTS_MEMORY

_SAMPLE = 100_000
"""Rows after which it is known whether they share groups."""
_MOST = 200_000
"""Groups that a subtask keeps before the exchange."""


def mergeable_calls(plan: GroupAggregateFactory) -> list[VectorCall] | None:
    """Return the calls over arrays, or None if partial results can't be columns, or can't be merged in any order."""
    calls = None if plan.flat or plan.retracts else group_calls(plan.calls, plan.input_types)
    are_keys = all(can_factorize(arrow_type(plan.input_types[key])) for key in plan.keys)
    return calls if calls is not None and are_keys and all(call.is_mergeable for call in calls) else None


def _calls(plan: GroupAggregateFactory) -> list[VectorCall]:
    calls = mergeable_calls(plan)
    assert calls is not None
    return calls


@dataclass(frozen=True)
class LocalGroupsFactory:
    """Plan of the phase before the exchange."""

    plan: GroupAggregateFactory

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return LocalGroups(self.plan)


@dataclass(frozen=True)
class MergedGroupsFactory:
    """Plan of the phase after the exchange."""

    plan: GroupAggregateFactory

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return self.plan.state_layout()

    def make(self) -> Kernel:
        """Return the kernel."""
        return MergedGroupAggregate(self.plan)


class _Phase(Kernel):
    """Base of both phases.

    Args:
        plan: The plan of the aggregation.
        keys: The key columns of the input of the phase.

    Attributes:
        groups: How rows are added to groups.
    """

    groups: type[GatheredGroups]

    def __init__(self, plan: GroupAggregateFactory, keys: tuple[int, ...]) -> None:
        self._plan = plan
        self._keys = keys
        self._calls = _calls(plan)
        self._types = [arrow_type(plan.input_types[key]) for key in plan.keys]

    def open(self, context: KernelContext) -> None:
        """Prepare the calls."""
        super().open(context)
        self._empty = AggregateSet(self._plan.calls, self._plan.input_types, False, context).new()
        self._groups = self._no_groups()

    def _no_groups(self) -> GatheredGroups:
        return self.groups(self._keys, self._calls, self._types, self._empty)


class LocalGroups(_Phase):
    """Aggregates the rows of a subtask; if most have a group of their own, each of the others is a partial result."""

    groups = GatheredGroups

    def __init__(self, plan: GroupAggregateFactory) -> None:
        super().__init__(plan, plan.keys)
        self._rows = 0
        self._passes = False

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their groups."""
        if self._passes:
            keys = [batch.columns[key] for key in self._keys]
            fields = [call.contributions(batch) for call in self._calls]
            self.context.emit(partial_rows(self._calls, keys, fields, batch.length))
            return
        self._groups.append(batch)
        self._rows += batch.length
        if self._rows < _SAMPLE:
            return
        self._passes = 2 * self._groups.count > self._rows
        if self._passes or self._groups.count > _MOST:
            self.end()
            self._groups = self._no_groups()
            self._rows = 0

    def end(self) -> None:
        """Emit the partial results."""
        for batch in self._groups.partial_results():
            self.context.emit(batch)


class MergedGroupAggregate(_Phase):
    """Merges partial results; those that have no room in memory are in a file, and are merged part by part."""

    groups = MergedGroups

    def __init__(self, plan: GroupAggregateFactory) -> None:
        super().__init__(plan, tuple(range(len(plan.keys))))
        self._spilled: SpilledRows | None = None

    def open(self, context: KernelContext) -> None:
        """Prepare the calls."""
        super().open(context)
        self._memory = SORTED_INPUTS_MEMORY.of(context.configuration)

    def close(self) -> None:
        """Remove the file."""
        if self._spilled is not None:
            self._spilled.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add partial results to their groups."""
        if self._spilled is not None:
            self._spilled.add(batch)
            return
        self._groups.append(batch)
        # Adding rows to groups takes copies of both.
        if self._keys and 4 * self._groups.bytes > self._memory:
            self._spilled = SpilledRows(self._keys, self.context.configuration)
            for part in self._groups.partial_results():
                self._spilled.add(part)
            self._groups = self._no_groups()

    def end(self) -> None:
        """Emit the results. Without keys there is one, even if there was no row; the first subtask emits it."""
        if self._spilled is None:
            self._emit(self._groups)
            if not self._keys and not self._groups.count and self.context.subtask_index == 0:
                self.context.emit(self._groups.result_of_no_rows())
            return
        for part in range(PARTS):
            groups = self._no_groups()
            for batch in self._spilled.take(part):
                groups.append(batch)
            self._emit(groups)

    def _emit(self, groups: GatheredGroups) -> None:
        for batch in groups.results():
            self.context.emit(batch)
