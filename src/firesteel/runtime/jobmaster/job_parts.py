"""The components of a JobMaster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import Clock
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.jobmaster.execution_deployments import ExecutionDeployments
from firesteel.runtime.rpc import RpcEndpoint
from firesteel.runtime.scheduler.restart_strategy import restart_strategy
from firesteel.runtime.scheduler.scheduler import Scheduler
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.slotpool.slot_pool import SlotPool
from firesteel.runtime.slotpool.slot_provider import SlotProvider
from firesteel.runtime.slotpool.slot_selection import slot_selection_strategy

__all__ = ["JobParts", "JobSession"]


@dataclass(frozen=True, slots=True)
class JobSession:
    """A leader session of a job, for the components that communicate with others.

    Attributes:
        endpoint: The JobMaster.
        job_id: The job.
        session_id: The leader session, sent to others.
        perform: Carries out the actions of Scheduler and SlotPool.
    """

    endpoint: RpcEndpoint
    job_id: str
    session_id: str
    perform: Callable[[Iterable[object]], None]


@dataclass(frozen=True, slots=True)
class JobParts:
    """The state of a job and the deciding components, none of which communicates with others.

    Attributes:
        graph: The job's vertices and their executions.
        scheduler: Decides which tasks run.
        pool: The job's slots.
        slots: Assigns slots to tasks.
        deployments: The deployed tasks per TaskExecutor.
    """

    graph: ExecutionGraph
    scheduler: Scheduler
    pool: SlotPool
    slots: SlotProvider
    deployments: ExecutionDeployments

    @classmethod
    def of(
        cls,
        job_graph: JobGraph,
        session_id: str,
        configuration: Mapping[str, str],
        clock: Clock,
        status_changed: Callable[[JobEvent], None],
        has_queries: bool,
        serialized_job_graph: bytes | None,
        former: JobParts | None = None,
    ) -> JobParts:
        """Create the components for a job, or for another graph of it, which keeps the slots.

        Args:
            job_graph: The job.
            session_id: The leader session; makes allocation ids unique.
            configuration: The merged configuration of the cluster and the job.
            clock: The clock.
            status_changed: Called with each change of the job's status.
            has_queries: Whether the records flow through queries.
            serialized_job_graph: The job serialized for tasks; None to serialize it here.
            former: The components with the graph before.

        Raises:
            ExecutionGraphError: the job can't be run.
            InvalidOptionError: an option can't be read.
        """
        graph = ExecutionGraph(job_graph, clock.now_ms, status_changed, None if former is None else former.graph)
        options = SchedulerOptions.of(configuration, has_queries)
        restarts = restart_strategy(configuration)
        run = 0 if former is None else former.scheduler.run + 1
        scheduler = Scheduler(graph, restarts, clock, options, serialized_job_graph, run)
        deployments = ExecutionDeployments(graph.has_attempt, graph.is_over)
        if former is not None:
            return cls(graph, scheduler, former.pool, former.slots, deployments)
        selection = slot_selection_strategy(configuration)
        pool = SlotPool(f"{job_graph.job_id}-{session_id[:8]}", selection)
        return cls(graph, scheduler, pool, SlotProvider(pool, selection), deployments)
