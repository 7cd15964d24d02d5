"""Joins without time bounds, and the choice of the algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.bounded_joins import BoundedJoin, BroadcastJoin
from firesteel.columns.kernels.chosen import ChosenKernel
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.join_state import to_changes, to_rows
from firesteel.columns.kernels.row_joins import RegularJoin
from firesteel.columns.kernels.semi_joins import semi_join
from firesteel.columns.kernels.updating_semi_joins import updating_join


@dataclass(frozen=True)
class JoinFactory:
    """Creates the kernel of a join without time bounds."""

    join: JoinPlan

    def make(self) -> Kernel:
        """Return the kernel."""
        return Join(self.join)


class Join(ChosenKernel[JoinPlan]):
    """A join whose algorithm depends on how the job runs, which is known when it opens.

    Whole batches are joined if the inputs are bounded, or if the state is in memory and does not expire. Otherwise, and
    for NOT IN over streams, rows are joined one by one.
    """

    def _choose(self, context: KernelContext) -> Kernel:
        plan = self._plan
        if not context.is_streaming:
            return BoundedJoin(plan) if plan.broadcast is None else BroadcastJoin(plan, plan.broadcast)
        if any(plan.ttls_ms(context)) or context.is_state_on_disk or plan.null_aware:
            counts_anew = to_rows(plan, context)
            return semi_join(plan, context, counts_anew) if plan.is_semi else RegularJoin(plan, counts_anew)
        to_changes(plan, context)
        return updating_join(plan)
