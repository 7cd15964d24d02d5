"""Joins without time bounds, and the choice of the algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.chosen_kernel import ChosenKernel
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.joins.bounded_joins import BoundedJoin, BroadcastJoin
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.not_in import NotIn, NotInByKey
from firesteel.columns.kernels.joins.updating_joins import UpdatingJoin
from firesteel.columns.kernels.joins.updating_semi_joins import UpdatingSemiJoin, UpdatingSemiJoinByKey
from firesteel.columns.state_layout import Layout


@dataclass(frozen=True)
class JoinFactory:
    """Creates the kernel of a join without time bounds."""

    join: JoinPlan

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return self.join.state_layout("join")

    def make(self) -> Kernel:
        """Return the kernel."""
        return Join(self.join)


class Join(ChosenKernel[JoinPlan]):
    """A join whose algorithm depends on how the job runs, which is known when it opens."""

    def _choose(self, context: KernelContext) -> Kernel:
        plan = self._plan
        if not context.is_streaming:
            return BoundedJoin(plan) if plan.broadcast is None else BroadcastJoin(plan, plan.broadcast)
        if not plan.is_semi:
            return UpdatingJoin(plan)
        # Rows that expire have matches of their own.
        if plan.condition is not None or any(plan.ttls_ms(context)):
            return NotIn(plan) if plan.null_aware else UpdatingSemiJoin(plan)
        return NotInByKey(plan) if plan.null_aware else UpdatingSemiJoinByKey(plan)
