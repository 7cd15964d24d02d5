"""Options of scheduling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from firesteel.common.options.restart_options import FAILOVER_STRATEGY, SCHEDULING_STRATEGY, SLOT_SHARING_STRATEGY
from firesteel.common.options.state_options import RECOVERY_FROM_LOCAL

__all__ = ["SchedulerOptions"]


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Options of scheduling and restarts.

    Attributes:
        scheduling_strategy: A key of `SCHEDULING_STRATEGIES`.
        failover_strategy: A key of `FAILOVER_STRATEGIES`.
        slot_sharing_strategy: A key of `SLOT_SHARING_STRATEGIES`.
        has_queries: Whether the records of each connected component of the job flow through a query. Then each is one
        region: its subtasks are scheduled and restarted together, and keep their slots until the restart or the end of
        the region.
        keeps_allocations: Whether a subtask should get its previous slot again.
        cluster: The options of the cluster, of which tasks get those that jobs inherit.
    """

    scheduling_strategy: str = "pipelined-region"
    failover_strategy: str = "region"
    slot_sharing_strategy: str = "local-input-preferred"
    has_queries: bool = False
    keeps_allocations: bool = False
    cluster: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, configuration: Mapping[str, str], has_queries: bool) -> SchedulerOptions:
        """Return the options of a configuration, as far as the data plane leaves a choice."""
        default = cls()
        scheduling = SCHEDULING_STRATEGY.of(configuration)
        failover = FAILOVER_STRATEGY.of(configuration)
        if has_queries:
            # A query needs all subtasks of its region, so they must be scheduled together.
            scheduling = default.scheduling_strategy if scheduling == "lazy-from-sources" else scheduling
            return cls(scheduling, failover, "numbered", has_queries=True, cluster=configuration)
        return cls(
            scheduling,
            failover,
            SLOT_SHARING_STRATEGY.of(configuration),
            keeps_allocations=RECOVERY_FROM_LOCAL.of(configuration),
            cluster=configuration,
        )
