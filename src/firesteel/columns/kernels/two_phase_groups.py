"""GROUP BY of bounded tables in two phases: before the exchange by subtask, after it by key.

Flink: `LocalHashAggregate` and the merging `HashAggregate`. Partial results are rows of the keys and the parts of the
accumulators of the calls.

Sums of floats are rounded as the rows are grouped, as in Flink.

Why: `docs/decisions/0059-small-inputs-and-partial-groups.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.aggregate import GroupAggregate, GroupAggregateFactory
from firesteel.columns.kernels.aggregate_set import AggregateSet
from firesteel.columns.kernels.gathered_groups import GatheredGroups, MergedGroups
from firesteel.columns.kernels.group_vectors import load, partial_rows, store
from firesteel.columns.kernels.row_groups import RowGroups, can_factorize
from firesteel.columns.kernels.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.vectorized import group_calls
from firesteel.columns.values import arrow_type

_SAMPLE = 100_000
"""Rows after which it is known whether they share groups."""
_MOST = 200_000
"""Groups that a subtask keeps: those of one phase for keys, or in memory before they go to disk."""


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

    def make(self) -> Kernel:
        """Return the kernel."""
        return LocalGroups(self.plan)


@dataclass(frozen=True)
class MergedGroupsFactory:
    """Plan of the phase after the exchange."""

    plan: GroupAggregateFactory

    def make(self) -> Kernel:
        """Return the kernel."""
        return MergedGroupAggregate(self.plan)


class LocalGroups(Kernel):
    """Aggregates the rows of a subtask; if most have a group of their own, each of the others is a partial result."""

    def __init__(self, plan: GroupAggregateFactory) -> None:
        self._plan = plan
        self._calls = _calls(plan)
        self._rows = 0
        self._passes = False

    def open(self, context: KernelContext) -> None:
        """Prepare the calls."""
        super().open(context)
        self._empty = AggregateSet(self._plan.calls, self._plan.input_types, False, context).new()
        self._groups = self._no_groups()

    def _no_groups(self) -> GatheredGroups:
        plan = self._plan
        types = [arrow_type(plan.input_types[key]) for key in plan.keys]
        return GatheredGroups(plan.keys, self._calls, types, self._empty)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their groups."""
        if self._passes:
            keys = [batch.columns[key] for key in self._plan.keys]
            self.context.emit(partial_rows(keys, [call.contributions(batch) for call in self._calls], batch.length))
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


class MergedGroupAggregate(GroupAggregate):
    """Merges partial results; groups that have no room in memory are kept as those of one phase, on disk."""

    def __init__(self, plan: GroupAggregateFactory) -> None:
        super().__init__(replace(plan, keys=tuple(range(len(plan.keys)))))
        self._merging = _calls(plan)

    def open(self, context: KernelContext) -> None:
        """Open the functions."""
        super().open(context)
        self._calls = self._merging
        self._groups = self._gathered = self._no_groups()

    def _no_groups(self) -> MergedGroups:
        keys = self._plan.keys
        return MergedGroups(keys, self._merging, self._types[: len(keys)], self._empty())

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add partial results to their groups."""
        self._groups.append(batch)
        if self.context.is_state_on_disk and self._groups.count > _MOST:
            self._write()

    def _write(self) -> None:
        """Add the groups to those on disk."""
        found = list(self._groups.take(self.context.max_parallelism))
        self._groups = self._gathered = self._no_groups()
        entries = [entry for entry, _ in found]
        self._table.prefetch(entries)
        before = [known[1] if (known := self._table.data.get(entry)) else self._empty() for entry in entries]
        fields = self._added(before, [state[1] for _, state in found])
        for (entry, state), accumulators in zip(found, store(self._merging, fields, len(found)), strict=True):
            self._table.put(entry, [0, accumulators, state[2]])

    def _added(self, before: Sequence[list[object]], after: Sequence[list[object]]) -> list[Fields]:
        first, second = load(self._merging, before), load(self._merging, after)
        assert first is not None
        assert second is not None
        groups = RowGroups.numbered(np.arange(len(before)), len(before))
        calls = zip(self._merging, first, second, strict=True)
        return [call.fold(groups, parts, added) for call, parts, added in calls]

    def end(self) -> None:
        """Emit the results."""
        if self._table.data:
            self._write()
            self._gathered = None
        super().end()
