"""How a job is scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["WHOLE_JOB", "SchedulerOptions"]


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """How a job is scheduled and restarted.

    Attributes:
        scheduling_strategy: A key of `SCHEDULING_STRATEGIES`.
        failover_strategy: A key of `FAILOVER_STRATEGIES`.
        slot_sharing_strategy: A key of `SLOT_SHARING_STRATEGIES`.
        has_query: Whether the records of all subtasks flow through one query. Then everything is scheduled at once and
            restarted at once, and all slots are kept until then or to the end, as the query goes through all of them.
        keeps_allocations: Whether a subtask should have the very slot again that it had before.
    """

    scheduling_strategy: str = "pipelined-region"
    failover_strategy: str = "region"
    slot_sharing_strategy: str = "local-input-preferred"
    has_query: bool = False
    keeps_allocations: bool = False

    @classmethod
    def of(cls, configuration: Mapping[str, str], spans_job: bool) -> SchedulerOptions:
        """What a configuration asks for; nothing where the data plane runs one query over the whole job."""
        if spans_job:
            return WHOLE_JOB
        default = cls()
        from_local = configuration.get("execution.state-recovery.from-local", "false")
        return cls(
            configuration.get("jobmanager.scheduler.scheduling-strategy", default.scheduling_strategy),
            configuration.get("jobmanager.execution.failover-strategy", default.failover_strategy),
            configuration.get("jobmanager.scheduler.slot-sharing-strategy", default.slot_sharing_strategy),
            keeps_allocations=from_local.strip().lower() == "true",
        )


WHOLE_JOB = SchedulerOptions("eager", "full", "numbered", has_query=True)
"""For a data plane that runs one query over the whole job."""
