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


class JobParts:
    """The state of a job and the deciding components, none of which communicates with others.

    Args:
        job_graph: The job.
        session_id: The leader session; makes allocation ids unique.
        configuration: The merged configuration of the cluster and the job.
        clock: The clock.
        status_changed: Called with each change of the job's status.
        has_queries: Whether the records flow through queries.
        serialized_job_graph: The job serialized for tasks; None to serialize it here.

    Attributes:
        graph: The job's vertices and their executions.
        scheduler: Decides which tasks run.
        pool: The job's slots.
        slots: Assigns slots to tasks.
        deployments: The deployed tasks per TaskExecutor.

    Raises:
        ExecutionGraphError: the job can't be run.
        InvalidOptionError: an option can't be read.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        session_id: str,
        configuration: Mapping[str, str],
        clock: Clock,
        status_changed: Callable[[JobEvent], None],
        has_queries: bool,
        serialized_job_graph: bytes | None,
    ) -> None:
        self._configuration = configuration
        self._clock = clock
        self._status_changed = status_changed
        self._options = SchedulerOptions.of(configuration, has_queries)
        self.graph = ExecutionGraph(job_graph, clock.now_ms, status_changed)
        self.scheduler = self._new_scheduler(serialized_job_graph, 0)
        self.deployments = ExecutionDeployments(self.graph.has_attempt, self.graph.is_over)
        selection = slot_selection_strategy(configuration)
        # With the session: allocation ids of a former leader's pool may still be in use at TaskExecutors.
        self.pool = SlotPool(f"{job_graph.job_id}-{session_id[:8]}", selection)
        self.slots = SlotProvider(self.pool, selection)

    def continue_with(self, job_graph: JobGraph, serialized_job_graph: bytes | None) -> None:
        """Replace the graph by one that differs in the parallelism only, and all that depends on it but the slots.

        Args:
            job_graph: The job.
            serialized_job_graph: The job serialized for tasks; None to serialize it here.
        """
        self.graph = ExecutionGraph(job_graph, self._clock.now_ms, self._status_changed, self.graph)
        # Runs go on counting, so that events of the former graph's queries are recognized as old.
        self.scheduler = self._new_scheduler(serialized_job_graph, self.scheduler.run + 1)
        self.deployments = ExecutionDeployments(self.graph.has_attempt, self.graph.is_over)

    def _new_scheduler(self, serialized_job_graph: bytes | None, run: int) -> Scheduler:
        restarts = restart_strategy(self._configuration)
        return Scheduler(self.graph, restarts, self._clock, self._options, serialized_job_graph, run)
