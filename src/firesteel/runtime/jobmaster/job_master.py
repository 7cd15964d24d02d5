"""The JobMaster runs one job."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from firesteel.common.cases import case
from firesteel.common.options.checkpointing_options import CHECKPOINTING_SAVEPOINT_DIR
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointsSummary
from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.runtime.executiongraph.execution_errors import ExecutionNotFoundError
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.job_details import (
    ArchivedExecutionGraph,
    JobDetails,
    archive,
    job_details,
    job_overview,
)
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint, DataPlane
from firesteel.runtime.jobmaster.job_activity import JobActivity
from firesteel.runtime.jobmaster.job_master_gateway import (
    TaskExecutionState,
    TaskManagerRegistrationSuccess,
    TaskProgress,
    UnknownTaskManagerError,
)
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.job_queries import JobQueries
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.jobmaster.rescale_steps import RescaleSteps
from firesteel.runtime.jobmaster.rescaler import Rescaler
from firesteel.runtime.jobmaster.slot_requests import SlotRequests
from firesteel.runtime.jobmaster.task_calls import TaskCalls
from firesteel.runtime.jobmaster.task_managers import TaskManagers
from firesteel.runtime.registration.retrying_registration import Declined
from firesteel.runtime.resourcemanager.resource_manager_connection import ResourceManagerConnection
from firesteel.runtime.resourcemanager.resource_manager_gateway import (
    JobMasterRegistration,
    JobMasterRegistrationSuccess,
    ResourceManagerGateway,
)
from firesteel.runtime.rpc import FencedRpcEndpoint, RpcService
from firesteel.runtime.scheduler.actions import (
    CancelTask,
    Deploy,
    JobTerminated,
    ReleaseSlots,
    RequestSlots,
    ScheduleRestart,
    StartQuery,
    StoppedForRescale,
    StopQuery,
)
from firesteel.runtime.scheduler.scheduler import Scheduler
from firesteel.runtime.slotpool.actions import (
    CancelSlotRequest,
    FreeSlot,
    LogicalSlotsAllocated,
    LogicalSlotsFailed,
    SendSlotRequest,
    SlotAllocated,
    SlotLost,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.slot import SlotOffer

__all__ = ["JobMaster"]

logger = logging.getLogger(__name__)


class JobMaster(FencedRpcEndpoint):
    """The endpoint that runs one job. Flink: `runtime.jobmaster.JobMaster`.

    `Scheduler` and `SlotPool` make the decisions and are pure; the JobMaster passes events to them and carries out
    their actions in order.

    Args:
        rpc_service: The RPC service of the endpoint.
        session_id: The leader session, used as fencing token.
        job_graph: The job, prepared by `restored`.
        ha: Finds the leaders.
        data_plane: Moves the records.
        configuration: The cluster's configuration, overridden by the job's.
        on_terminated: Called once with the job after its end.
        listeners: Notified of each change of the job's status.
        serialized_job_graph: The job serialized for tasks; None to serialize it here.

    Attributes:
        pool: The job's slots.

    Raises:
        ExecutionGraphError: the job can't be run.
        InvalidOptionError: an option can't be read.
    """

    def __init__(
        self,
        rpc_service: RpcService,
        session_id: str,
        job_graph: JobGraph,
        ha: HighAvailabilityServices,
        data_plane: DataPlane,
        configuration: Mapping[str, str],
        on_terminated: Callable[[ArchivedExecutionGraph], object],
        listeners: Sequence[JobStatusListener] = (),
        serialized_job_graph: bytes | None = None,
    ) -> None:
        super().__init__(rpc_service, f"jobmanager-{job_graph.job_id}-{session_id}", session_id)
        configuration = {**configuration, **job_graph.configuration}
        self.job_id = job_graph.job_id
        self._session_id = session_id
        self._on_terminated = on_terminated
        self._activity = JobActivity(job_graph.job_id, job_graph.name, listeners)
        self._savepoint_directory = CHECKPOINTING_SAVEPOINT_DIR.of(configuration)
        self._actions: deque[object] = deque()
        self._is_performing = False
        self._followers: tuple[Callable[[JobStatus], None], ...] = ()  # None yet when the graph is created.
        self._session = session = JobSession(self, self.job_id, session_id, self._perform)
        status_changed, has_queries = self._job_status_changed, data_plane.has_queries
        self._parts = parts = JobParts(
            job_graph, session_id, configuration, self.clock, status_changed, has_queries, serialized_job_graph
        )
        self.pool = parts.pool
        self._queries = JobQueries(session, parts, data_plane, self._activity, lambda: self._rescaler.query_started())
        self._rescale_steps = RescaleSteps(session, parts, self._queries, data_plane)
        self._rescaler: Rescaler = Rescaler(session, parts, self._rescale_steps, configuration)
        self._followers = self._rescaler.status_changed, self._rescale_steps.status_changed
        self._task_managers = self._task_managers_of(configuration)
        self._calls: TaskCalls = TaskCalls(session, self._task_managers, parts, self._release_task_manager)
        self._resource_manager = self._connection(ha, configuration)
        self._requests = SlotRequests(session, parts, self._rescaler, self._resource_manager, configuration)
        self._handlers = self._handlers_of_actions()

    def _task_managers_of(self, configuration: Mapping[str, str]) -> TaskManagers:
        return TaskManagers(
            self._session,
            configuration,
            self.pool.allocated_slot_report,
            lambda task_manager_id: self._parts.deployments.expected(task_manager_id),
            lambda *report: self._calls.deployments_reported(*report),
            lambda task_manager_id: self._release_task_manager(task_manager_id, "its heartbeat timed out"),
        )

    def _connection(
        self, ha: HighAvailabilityServices, configuration: Mapping[str, str]
    ) -> ResourceManagerConnection[JobMasterRegistrationSuccess]:
        """Return the connection to the ResourceManager, not started yet."""
        registration = JobMasterRegistration(self.job_id, self._session_id, self.address)
        return ResourceManagerConnection(
            self,
            ha,
            configuration,
            lambda gateway: gateway.register_job_master(registration),
            JobMasterRegistrationSuccess,
            lambda gateway, success: self._perform(self.pool.connect_to_resource_manager()),
            self.pool.disconnect_resource_manager,
        )

    @property
    def graph(self) -> ExecutionGraph:
        """The execution graph of the job; another one after a change of its parallelism."""
        return self._parts.graph

    @property
    def _scheduler(self) -> Scheduler:
        return self._parts.scheduler

    def _handlers_of_actions(self) -> dict[type, Callable[[object], None]]:
        """Return the handler of each type of action."""
        return dict(
            [
                case(RequestSlots, self._requests.request),
                case(ReleaseSlots, self._requests.release),
                case(SendSlotRequest, self._requests.send),
                case(CancelSlotRequest, self._requests.cancel),
                case(SlotAllocated, self._requests.allocated),
                case(SlotRequestFailed, self._requests.failed),
                case(SlotLost, self._requests.failed),
                case(LogicalSlotsAllocated, self._requests.logical_slots_allocated),
                case(LogicalSlotsFailed, self._requests.logical_slots_failed),
                case(FreeSlot, self._calls.free_slot),
                case(Deploy, self._calls.deploy),
                case(CancelTask, self._calls.cancel),
                case(StartQuery, self._queries.start),
                case(StopQuery, self._queries.stop),
                case(StoppedForRescale, lambda _: self._rescale_steps.stopped()),
                case(ScheduleRestart, self._schedule_restart),
                case(JobTerminated, self._terminated),
            ]
        )

    async def start(self) -> None:
        """Start the job. Idempotent."""
        if not self.is_running:
            await super().start()

    async def on_start(self) -> None:
        """Connect to the ResourceManager and schedule the job."""
        self._resource_manager.start()
        self._perform(self._scheduler.start_scheduling())
        self._requests.start()

    async def on_stop(self) -> None:
        """Stop the job here; unless it has ended, another leader may take it over."""
        await self._queries.stop_all()
        if not self.graph.status.is_terminal:
            self._perform(self._scheduler.suspend(TaskFailure("the JobMaster is stopping")))
        self._leave("the JobMaster is stopping")
        # Calls that still arrive find a leader that is none, and look for the next one.
        self.fencing_token = None

    # Calls of TaskExecutors

    async def register_task_manager(
        self, task_manager_id: str, address: str, host: str = ""
    ) -> TaskManagerRegistrationSuccess | Declined:
        """Register a TaskExecutor with slots for the job. Idempotent."""
        if task_manager_id not in self._task_managers:
            try:
                await self._task_managers.connect(task_manager_id, address)
            except Exception as error:
                return Declined(f"can't connect to the TaskExecutor at {address}: {error}")
            self.pool.register_task_manager(task_manager_id, host)
        return TaskManagerRegistrationSuccess(self.job_id, self._session_id)

    async def offer_slots(self, task_manager_id: str, offers: tuple[SlotOffer, ...]) -> tuple[SlotOffer, ...]:
        """Offer slots to the JobMaster, which returns the accepted ones."""
        if task_manager_id not in self._task_managers:
            raise UnknownTaskManagerError(self.job_id, task_manager_id)
        accepted, actions = self.pool.offer_slots(task_manager_id, offers, self.clock.monotonic_s())
        # Respond before tasks are submitted into the accepted slots.
        self.run_async(lambda: self._perform(actions))
        return tuple(accepted)

    async def fail_slot(self, task_manager_id: str, allocation_id: str, cause: str) -> None:
        """Report that a slot failed; ignored from unknown TaskExecutors."""
        if task_manager_id in self._task_managers:
            await self.notify_allocation_failure(allocation_id, cause)

    async def update_task_execution_state(self, state: TaskExecutionState) -> bool:
        """Report the state of a task; on False its TaskExecutor must give up the task."""
        acknowledged, actions = self._scheduler.task_state_reported(
            state.execution_attempt_id, state.state, state.failure
        )
        self._perform(actions)
        return acknowledged

    async def update_task_execution_states(self, states: tuple[TaskExecutionState, ...]) -> tuple[bool, ...]:
        """Report the states of several tasks, in order; on False the TaskExecutor must give up the task."""
        acknowledged = []
        for state in states:
            try:
                acknowledged.append(await self.update_task_execution_state(state))
            except ExecutionNotFoundError:
                # One unknown attempt must not keep the reports of the others from being processed.
                acknowledged.append(False)
        return tuple(acknowledged)

    async def update_task_progress(self, progress: tuple[TaskProgress, ...]) -> None:
        """Report the numbers of records that tasks have read and emitted; former attempts are ignored."""
        for report in progress:
            try:
                execution = self.graph.vertex_of(report.execution_attempt_id).current
            except ExecutionNotFoundError:
                continue
            is_first = report.records_out > 0 and not execution.records_out
            execution.progressed(report.records_in, report.records_out)
            if is_first:
                self._perform(self._scheduler.data_produced(report.execution_attempt_id))

    # Calls of the ResourceManager

    async def disconnect_resource_manager(self, cause: str) -> None:
        """Disconnect from a ResourceManager that considers the JobMaster lost, and register again."""
        self._resource_manager.reconnect(cause)

    async def notify_allocation_failure(self, allocation_id: str, cause: str) -> None:
        """Report a failed allocation; unknown ids are ignored."""
        emptied, actions = self.pool.fail_allocation(allocation_id, cause)
        self._perform(actions)
        if emptied is not None:
            self._release_task_manager(emptied, "it has no slot left for the job")

    async def heartbeat_from_resource_manager(self) -> None:
        """Receive a heartbeat of the ResourceManager."""
        self._resource_manager.receive_heartbeat()

    # Calls of the Dispatcher

    async def cancel(self) -> None:
        """Request the cancellation of the job; returns before the job is cancelled."""
        self._perform(self._scheduler.cancel())

    async def check_resource_requirements(
        self, requirements: Mapping[str, ParallelismBounds]
    ) -> dict[str, ParallelismBounds]:
        """Return bounds with their defaults filled in, if the job can have them."""
        return self._rescaler.checked(requirements)

    async def update_resource_requirements(self, requirements: Mapping[str, ParallelismBounds]) -> None:
        """Set the bounds of the parallelism of each vertex; the job changes it when it can."""
        self._rescaler.require(requirements)

    async def request_resource_requirements(self) -> Mapping[str, ParallelismBounds]:
        """Return the bounds of the parallelism of each vertex."""
        return self._rescaler.requirements

    async def trigger_savepoint(self, target_directory: str | None, after: AfterSavepoint) -> str:
        """Take a savepoint and return its path."""
        path = await self._queries.trigger_savepoint(target_directory or self._savepoint_directory, after)
        if after is AfterSavepoint.HOLD:
            await self.cancel()
        return path

    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint, full or incremental, and return its id."""
        return await self._queries.trigger_checkpoint(full)

    async def request_job_status(self) -> JobStatus:
        """Return the current status of the job."""
        return self.graph.status

    async def request_job_details(self) -> JobDetails:
        """Return the details of the job."""
        return job_details(self.graph, *self._measured())

    async def request_job_overview(self) -> JobDetails:
        """Return the details of the job without its vertices."""
        return job_overview(self.graph, *self._measured())

    async def request_job(self) -> ArchivedExecutionGraph:
        """Return the current execution graph of the job."""
        return self._archive()

    def _archive(self) -> ArchivedExecutionGraph:
        now_ms, checkpoints, regions = self._measured()
        return archive(self.graph, now_ms, checkpoints, self._rescaler.summary(), regions)

    def _measured(self) -> tuple[int, CheckpointsSummary, dict[int, BatchTimes]]:
        return self.clock.now_ms(), self._queries.checkpoints.summary(), self._queries.batches

    # Decisions of Scheduler and SlotPool

    def _perform(self, actions: Iterable[object]) -> None:
        """Carry out actions in order; subsequent actions are appended."""
        self._actions.extend(actions)
        # A handler may cause further actions at once; they are carried out after those that were decided before them.
        if self._is_performing:
            return
        self._is_performing = True
        try:
            while self._actions:
                action = self._actions.popleft()
                self._handlers[type(action)](action)
        finally:
            self._is_performing = False

    def _schedule_restart(self, action: ScheduleRestart) -> None:
        self.schedule_run_async(action.delay_s, lambda: self._perform(self._scheduler.restart_due(action.restart_id)))

    def _terminated(self, _: JobTerminated) -> None:
        if self.graph.status.is_globally_terminal:
            self._perform(self.pool.close(f"the job is {self.graph.status.name}"))
            # Later, as actions that were decided together with the end are still being carried out.
            self.run_async(lambda: self._on_terminated(self._archive()))
        else:
            self._perform(self.pool.suspend())
        self._parts.slots.clear()

    # Connections

    def _job_status_changed(self, event: JobEvent) -> None:
        for follower in self._followers:
            follower(event.status)
        self._activity.status_changed(event)

    def _release_task_manager(self, task_manager_id: str, cause: str) -> None:
        if self._task_managers.release(task_manager_id, cause):
            text = f"TaskExecutor {task_manager_id} is gone: {cause}"
            # Process lost results first, so that tasks that failed with the slots restart together with their
            # consumers.
            self._perform(self._scheduler.task_manager_lost(task_manager_id))
            self._perform(self.pool.release_task_manager(task_manager_id, text)[1])

    def _leave(self, cause: str) -> None:
        if self.graph.status.is_globally_terminal:  # Otherwise the TaskExecutors keep the slots for the next leader.
            self._task_managers.release_all(cause)
        self._task_managers.stop()
        resource_manager: ResourceManagerGateway | None = self._resource_manager.gateway
        if resource_manager is not None:
            self.spawn(resource_manager.disconnect_job_master(self.job_id, cause), "leaving the ResourceManager")
        self._resource_manager.close(cause)
