"""The JobMaster runs one job."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from firesteel.common.cases import case
from firesteel.common.options.checkpointing_options import CHECKPOINTING_SAVEPOINT_DIR
from firesteel.common.options.cluster_options import recorded_options
from firesteel.common.options.rpc_options import HEARTBEAT_TIMEOUT
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.graph.parallelism import set_max_parallelism, set_parallelism
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStatsTracker
from firesteel.runtime.executiongraph.execution_errors import ExecutionNotFoundError
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_history import HistoryEntry
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import (
    ArchivedExecutionGraph,
    JobDetails,
    archive,
    job_details,
    job_overview,
)
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.executiongraph.task_metrics import held_up_ms
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER, HighAvailabilityServices
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint, DataPlane, SubtaskProgress
from firesteel.runtime.jobmaster.job_master_gateway import (
    CheckpointError,
    SavepointError,
    TaskExecutionState,
    TaskManagerRegistrationSuccess,
    TaskProgress,
    UnknownTaskManagerError,
)
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.jobmaster.query import QueryRun, query_descriptor
from firesteel.runtime.jobmaster.rescaler import Rescaler
from firesteel.runtime.jobmaster.slot_requests import SlotRequests
from firesteel.runtime.jobmaster.task_calls import TaskCalls
from firesteel.runtime.jobmaster.task_managers import TaskManagers
from firesteel.runtime.logs import about
from firesteel.runtime.registration.leader_connection import LeaderConnection
from firesteel.runtime.registration.retrying_registration import Declined, RegistrationOptions
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

__all__ = ["JobMaster", "restored", "with_cluster_defaults"]

logger = logging.getLogger(__name__)


def with_cluster_defaults(job_graph: JobGraph, configuration: Mapping[str, str]) -> None:
    """Complete the job's options for its state by those of the cluster."""
    job_graph.configuration = {**recorded_options(configuration), **job_graph.configuration}


async def restored(
    job_graph: JobGraph, configuration: Mapping[str, str], default_parallelism: int, data_plane: DataPlane
) -> bytes | None:
    """Prepare a job graph for its JobMaster, with slow work in a thread, and return the result of `restore`.

    Args:
        job_graph: The job; completed by the cluster's defaults, its parallelism, and the settings of its state.
        configuration: The cluster's configuration.
        default_parallelism: Parallelism of the vertices that leave theirs to the scheduler.
        data_plane: Restores the state.

    Raises:
        FiresteelError: the state can't be restored.
        OSError: a file can't be read or written.
    """
    with_cluster_defaults(job_graph, configuration)
    set_parallelism(job_graph, default_parallelism)
    serialized = await data_plane.restore(job_graph)
    set_max_parallelism(job_graph)
    return serialized


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
        self._data_plane = data_plane
        self._on_terminated = on_terminated
        self._listeners = listeners
        self._configuration = configuration
        session = JobSession(self, self.job_id, session_id, self._perform)
        self._rescaler = Rescaler(session, self, job_graph, configuration)
        self._stopping: asyncio.Future[bool] | None = None
        self._parts = self._parts_of(job_graph, serialized_job_graph)
        self.pool, self._slots = self._parts.pool, self._parts.slots
        self._queries: dict[int, QueryRun] = {}
        self._checkpoints = CheckpointStatsTracker()
        self._actions: deque[object] = deque()
        self._is_performing = False
        self._savepoint_directory = CHECKPOINTING_SAVEPOINT_DIR.of(configuration)
        self._task_managers = TaskManagers(
            session,
            configuration,
            self.pool.allocated_slot_report,
            lambda task_manager_id: self._parts.deployments.expected(task_manager_id),
            self._deployments_reported,
            lambda task_manager_id: self._release_task_manager(task_manager_id, "its heartbeat timed out"),
        )
        self._resource_manager = self._connection(ha, configuration)
        self._resource_manager_heartbeats = HeartbeatManager(
            self.clock,
            HEARTBEAT_TIMEOUT.of(configuration),
            lambda _: self._resource_manager.reconnect("its heartbeat timed out"),
        )
        is_batch = job_graph.job_type == "BATCH"
        self._requests = SlotRequests(
            session, is_batch, self.pool, self._slots, lambda: self._resource_manager.gateway, configuration
        )
        calls = TaskCalls(session, self._task_managers, lambda: self._parts, self._release_task_manager)
        self._handlers = self._handlers_of_actions(calls)

    def _parts_of(
        self, job_graph: JobGraph, serialized_job_graph: bytes | None, former: JobParts | None = None
    ) -> JobParts:
        return JobParts.of(
            job_graph,
            self._session_id,
            self._configuration,
            self.clock,
            self._job_status_changed,
            self._data_plane.has_queries,
            serialized_job_graph,
            former,
        )

    @property
    def graph(self) -> ExecutionGraph:
        """The execution graph of the job; another one after a change of its parallelism."""
        return self._parts.graph

    @property
    def _scheduler(self) -> Scheduler:
        return self._parts.scheduler

    def _connection(
        self, ha: HighAvailabilityServices, configuration: Mapping[str, str]
    ) -> LeaderConnection[ResourceManagerGateway, JobMasterRegistrationSuccess]:
        """Return the connection to the ResourceManager, not started yet."""
        return LeaderConnection(
            self,
            ha.leader_retrieval(RESOURCE_MANAGER),
            ResourceManagerGateway,
            lambda gateway: gateway.register_job_master(
                JobMasterRegistration(self.job_id, self._session_id, self.address)
            ),
            JobMasterRegistrationSuccess,
            self._resource_manager_connected,
            self._resource_manager_disconnected,
            RegistrationOptions.of(configuration),
        )

    def _handlers_of_actions(self, calls: TaskCalls) -> dict[type, Callable[[object], None]]:
        """Return the handler of each type of action."""
        return dict(
            [
                case(RequestSlots, self._requests.request),
                case(ReleaseSlots, self._requests.release),
                case(Deploy, calls.deploy),
                case(CancelTask, calls.cancel),
                case(StartQuery, self._start_query),
                case(StopQuery, self._stop_query),
                case(ScheduleRestart, self._schedule_restart),
                case(JobTerminated, self._terminated),
                case(SendSlotRequest, self._requests.send),
                case(CancelSlotRequest, self._requests.cancel),
                case(StoppedForRescale, lambda _: self._stopped_for_rescale(True)),
                case(SlotAllocated, self._slot_allocated),
                case(SlotRequestFailed, self._slot_failed),
                case(SlotLost, self._slot_failed),
                case(
                    LogicalSlotsAllocated, lambda action: self._perform(self._scheduler.slots_allocated(action.slots))
                ),
                case(LogicalSlotsFailed, self._slots_failed),
                case(FreeSlot, self._free_slot),
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
        for query in list(self._queries.values()):
            await query.stop()
        if not self.graph.status.is_terminal:
            self._perform(self._scheduler.suspend(TaskFailure("the JobMaster is stopping")))
        self._leave("the JobMaster is stopping")
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

    async def disconnect_task_manager(self, task_manager_id: str, cause: str) -> None:
        """Disconnect a TaskExecutor, whose tasks fail; unknown ones are ignored."""
        self._release_task_manager(task_manager_id, cause)

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
        self._resource_manager_heartbeats.receive_heartbeat(RESOURCE_MANAGER)

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
        directory = target_directory or self._savepoint_directory
        try:
            if directory is None:
                raise ValueError(f"no directory is given, and {CHECKPOINTING_SAVEPOINT_DIR} is not set")
            path = await self._any_query("savepoints").trigger_savepoint(directory, after)
        except Exception as error:
            raise SavepointError(self.job_id, directory, str(error)) from error
        if after is AfterSavepoint.HOLD:
            await self.cancel()
        return path

    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint, full or incremental, and return its id."""
        try:
            if self.graph.job_graph.job_type == "BATCH":
                raise ValueError("it is not a streaming job, and has no checkpoints")
            return await self._any_query("checkpoints").trigger_checkpoint(full)
        except Exception as error:
            raise CheckpointError(self.job_id, str(error)) from error

    def _any_query(self, what: str) -> QueryRun:
        """Return one of the queries, which take checkpoints and savepoints together.

        Raises:
            RuntimeError: the job is not fully running.
        """
        if self.graph.status is not JobStatus.RUNNING or not self._queries:
            raise RuntimeError(f"the job is {self.graph.status.name}, and has no query that takes {what}")
        return next(iter(self._queries.values()))

    async def request_job_status(self) -> JobStatus:
        """Return the current status of the job."""
        return self.graph.status

    async def request_job_details(self) -> JobDetails:
        """Return the details of the job."""
        return job_details(self.graph, self.clock.now_ms(), self._checkpoints.summary())

    async def request_job_overview(self) -> JobDetails:
        """Return the details of the job without its vertices."""
        return job_overview(self.graph, self.clock.now_ms(), self._checkpoints.summary())

    async def request_history(
        self,
        vertex_id: str | None = None,
        subtask_index: int | None = None,
        attempt_number: int | None = None,
        since: int = 0,
    ) -> tuple[HistoryEntry, ...]:
        """Return the events from number `since` on, of the given vertex, subtask or attempt only."""
        return tuple(self.graph.history.select(vertex_id, subtask_index, attempt_number, since))

    async def request_job(self) -> ArchivedExecutionGraph:
        """Return the current execution graph of the job."""
        return self._archive()

    def _archive(self) -> ArchivedExecutionGraph:
        rescales = self._rescaler.summary()
        return archive(self.graph, self.clock.now_ms(), self._checkpoints.summary(), rescales)

    # Changes of the parallelism, for the Rescaler

    async def hold(self) -> None:
        """Take a checkpoint, after which the job processes nothing until it is stopped."""
        if self._data_plane.has_queries:
            await self._any_query("checkpoints").trigger_checkpoint(full=False, after=AfterSavepoint.HOLD)

    async def stop_for_rescale(self) -> bool:
        """Cancel all tasks and wait for their end; return False if the job ends meanwhile."""
        self._stopping = asyncio.get_running_loop().create_future()
        self._perform(self._scheduler.stop_for_rescale())
        if self.graph.status is not JobStatus.RESTARTING:
            self._stopped_for_rescale(False)
        return await self._stopping

    def _stopped_for_rescale(self, may_go_on: bool) -> None:
        if self._stopping is not None and not self._stopping.done():
            self._stopping.set_result(may_go_on)

    async def run(self, job_graph: JobGraph) -> None:
        """Start the job anew with a graph that differs in the parallelism only."""
        serialized = await self._data_plane.restore(job_graph)
        if self.graph.status is JobStatus.RESTARTING:  # Otherwise it was cancelled or given up meanwhile.
            self._parts = self._parts_of(job_graph, serialized, self._parts)
            self._perform(self._scheduler.start_scheduling())

    # Decisions of Scheduler and SlotPool

    def _perform(self, actions: Iterable[object]) -> None:
        """Carry out actions in order; subsequent actions are appended."""
        self._actions.extend(actions)
        if self._is_performing:
            return
        self._is_performing = True
        try:
            while self._actions:
                action = self._actions.popleft()
                self._handlers[type(action)](action)
        finally:
            self._is_performing = False

    def _slot_allocated(self, action: SlotAllocated) -> None:
        if not self._rescaler.reserved(action.request_id):
            self._perform(self._slots.slot_allocated(action, self.clock.monotonic_s()))
        self._rescaler.slot_came(action.request_id)

    def _slot_failed(self, action: SlotRequestFailed | SlotLost) -> None:
        if self._rescaler.reserved(action.request_id):
            self._rescaler.reserve_failed(action.request_id)
        else:
            self._perform(self._slots.slot_failed(action))

    def _slots_failed(self, action: LogicalSlotsFailed) -> None:
        kind = "" if action.was_allocated else "NoResourceAvailableException: "
        failure = TaskFailure(f"{kind}{action.cause}")
        self._perform(self._scheduler.slots_failed(action.request_ids, failure))

    def _free_slot(self, action: FreeSlot) -> None:
        gateway = self._task_managers.get(action.task_manager_id)
        if gateway is not None:
            self.spawn(gateway.free_slot(action.allocation_id, action.cause), "freeing a slot")

    def _deployments_reported(self, task_manager_id: str, expected: frozenset[str], running: tuple[str, ...]) -> None:
        """Process the attempts reported by a TaskExecutor; missing ones count as failed."""
        discrepancy = self._parts.deployments.reconcile(expected, running)
        for attempt_id in discrepancy.missing:
            failure = TaskFailure(
                f"TaskExecutor {task_manager_id} does not run the task any more, and did not report why"
            )
            self._perform(self._scheduler.task_state_reported(attempt_id, ExecutionState.FAILED, failure)[1])
        self._perform(CancelTask(task_manager_id, attempt_id) for attempt_id in discrepancy.unknown)

    def _start_query(self, action: StartQuery) -> None:
        numbering = self._scheduler.numbering
        assert numbering is not None, "a query goes through numbered slots"
        self._queries[action.region] = QueryRun(
            self,
            self._query_progressed,
            self._checkpoints,
            self._query_finished,
            lambda *about: self._perform(self._scheduler.query_failed(*about)),
            self._data_plane,
            query_descriptor(self.graph, numbering, action.region, action.run),
        )
        self._rescaler.query_started()

    def _query_finished(self, region: int, run: int) -> None:
        if self._scheduler.is_at(region, run):
            self._queries.pop(region, None)
            self._perform(self._scheduler.query_finished(region, run))

    def _query_progressed(self, region: int, run: int, progress: Sequence[SubtaskProgress]) -> None:
        if not self._scheduler.is_at(region, run):
            return
        vertices = self.graph.job_vertices
        executions = [vertices[report.vertex_id].vertices[report.subtask_index].current for report in progress]
        held_up = held_up_ms(
            [(one.metrics.busy_ms, report.metrics) for one, report in zip(executions, progress, strict=True)]
        )
        for report, execution, waited_ms in zip(progress, executions, held_up, strict=True):
            execution.progressed(report.records_in, report.records_out)
            if report.metrics:
                execution.measured(report.metrics, self.clock.now_ms(), waited_ms)
            if report.finished:
                self._perform(self._scheduler.subtask_finished(report.vertex_id, report.subtask_index))

    def _stop_query(self, action: StopQuery) -> None:
        query = self._queries.pop(action.region, None)
        if query is not None:
            self.spawn(self._stop(query, action), "stopping the query")

    async def _stop(self, query: QueryRun, action: StopQuery) -> None:
        await query.stop()
        self._perform(self._scheduler.query_stopped(action.region, action.run))

    def _schedule_restart(self, action: ScheduleRestart) -> None:
        self.schedule_run_async(action.delay_s, lambda: self._perform(self._scheduler.restart_due(action.restart_id)))

    def _terminated(self, _: JobTerminated) -> None:
        if self.graph.status.is_globally_terminal:
            self._perform(self.pool.close(f"the job is {self.graph.status.name}"))
            self.run_async(lambda: self._on_terminated(self._archive()))
        else:
            self._perform(self.pool.suspend())
        self._slots.clear()

    # Connections

    def _job_status_changed(self, event: JobEvent) -> None:
        self._rescaler.status_changed(event.status)
        if event.status not in {JobStatus.RESTARTING, JobStatus.RUNNING}:
            self._stopped_for_rescale(False)
        for listener in self._listeners:
            try:
                listener.job_status_changed(self.job_id, event)
            except (Exception, SystemExit):  # An error of a listener must not affect the job or the JobManager.
                logger.exception("a listener of job status %s failed", event, extra=about(self.job_id))

    def _resource_manager_connected(self, gateway: object, success: JobMasterRegistrationSuccess) -> None:
        self._resource_manager_heartbeats.monitor_target(RESOURCE_MANAGER)
        self._perform(self.pool.connect_to_resource_manager())

    def _resource_manager_disconnected(self, gateway: object, cause: str) -> None:
        self._resource_manager_heartbeats.unmonitor_target(RESOURCE_MANAGER)
        self.pool.disconnect_resource_manager()

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
        self._resource_manager_heartbeats.stop()
        resource_manager: ResourceManagerGateway | None = self._resource_manager.gateway
        if resource_manager is not None:
            self.spawn(resource_manager.disconnect_job_master(self.job_id, cause), "leaving the ResourceManager")
        self._resource_manager.close(cause)
