"""The ResourceManager tracks TaskExecutors and finds slots for jobs."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass

from firesteel.common.options.rpc_options import HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, RPC_ASK_TIMEOUT
from firesteel.common.options.slot_options import (
    RESOURCEMANAGER_JOB_TIMEOUT,
    START_UP_TIME,
    START_WORKER_MAX_FAILURE_RATE,
    START_WORKER_RETRY_INTERVAL,
)
from firesteel.common.stack_frames import ThreadText
from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway
from firesteel.runtime.process_usage import NO_USAGE, ProcessUsage
from firesteel.runtime.registration.retrying_registration import Declined, Rejected
from firesteel.runtime.resourcemanager.driver import ResourceManagerDriver, StandaloneDriver
from firesteel.runtime.resourcemanager.job_leader_ids import JobLeaderIds
from firesteel.runtime.resourcemanager.resource_manager_gateway import (
    JobMasterRegistration,
    JobMasterRegistrationSuccess,
    ResourceManagerError,
    ResourceOverview,
    TaskExecutorRegistration,
    TaskExecutorRegistrationSuccess,
    TaskManagerInfo,
    UnknownTaskExecutorError,
)
from firesteel.runtime.resourcemanager.slot_manager import SlotManager
from firesteel.runtime.resourcemanager.slot_manager_actions import (
    AllocateWorkers,
    AskIfReleasable,
    AssignSlot,
    NotifyAllocationFailure,
    ReleaseWorker,
    SlotManagerAction,
)
from firesteel.runtime.resourcemanager.slot_manager_options import SlotManagerOptions
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest
from firesteel.runtime.resourcemanager.workers import (
    DelayWorkerRequests,
    StartProcess,
    WorkerAction,
    WorkerCountError,
    Workers,
    WorkersLost,
)
from firesteel.runtime.rpc import FencedRpcEndpoint, RpcConnectionError, RpcService
from firesteel.runtime.taskexecutor.log_files import LogFile
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotOccupiedError,
    TaskExecutorGateway,
    TaskSlotRequest,
)

__all__ = ["ResourceManager"]

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Worker:
    resource_id: str
    instance_id: str
    gateway: TaskExecutorGateway
    address: str
    report: SlotReport
    usage: ProcessUsage = NO_USAGE


@dataclass(frozen=True, slots=True)
class _Job:
    registration: JobMasterRegistration
    gateway: JobMasterGateway


class ResourceManager(FencedRpcEndpoint):
    """The endpoint that tracks TaskExecutors and finds slots for jobs.

    Flink: `runtime.resourcemanager.ResourceManager`.

    Args:
        rpc_service: The RPC service of the endpoint.
        session_id: The leader session, used as fencing token.
        ha: Finds the leading JobMasters.
        configuration: The cluster's configuration.
        driver: Obtains workers.
        on_fatal_error: Called with errors after which the process must exit.
    """

    def __init__(
        self,
        rpc_service: RpcService,
        session_id: str,
        ha: HighAvailabilityServices,
        configuration: Mapping[str, str] | None = None,
        driver: ResourceManagerDriver | None = None,
        on_fatal_error: Callable[[BaseException], object] = lambda _: None,
    ) -> None:
        super().__init__(rpc_service, f"resourcemanager-{session_id}", session_id)
        configuration = configuration or {}
        self._session_id = session_id
        self._driver = driver or StandaloneDriver()
        self._on_fatal_error = on_fatal_error
        self._options = SlotManagerOptions.of(configuration, self._driver.worker_slot)
        self._slot_manager = SlotManager(self._options)
        self._containers = Workers(
            self._options.slots_per_worker,
            START_WORKER_MAX_FAILURE_RATE.of(configuration),
            START_WORKER_RETRY_INTERVAL.of(configuration),
        )
        start_up_s = START_UP_TIME.of(configuration)
        self._start_up_s = self._options.request_timeout_s if start_up_s is None else start_up_s
        self._workers: dict[str, _Worker] = {}  # by resource id
        self._instances: dict[str, _Worker] = {}  # by instance id
        self._connecting: dict[str, str] = {}  # resource id -> instance id of the latest registration under way
        self._jobs: dict[str, _Job] = {}
        self._leader_ids = JobLeaderIds(
            ha.leader_retrieval,
            self.clock,
            RPC_ASK_TIMEOUT.of(configuration),
            RESOURCEMANAGER_JOB_TIMEOUT.of(configuration),
            self._job_master_lost_leadership,
            lambda job_id: self._close_job(job_id, "its job has had no leader for too long"),
        )
        self._worker_heartbeats = self._heartbeats(configuration, self._stop_worker, self._ask_worker)
        self._job_heartbeats = self._heartbeats(configuration, self._close_job, self._ask_job)

    def _heartbeats(
        self,
        configuration: Mapping[str, str],
        lose: Callable[[str, str], object],
        ask: Callable[[str], Coroutine[object, object, None]],
    ) -> HeartbeatManager:
        return HeartbeatManager(
            self.clock,
            HEARTBEAT_TIMEOUT.of(configuration),
            lambda target: lose(target, "its heartbeat timed out"),
            HEARTBEAT_INTERVAL.of(configuration),
            lambda target: self.spawn(ask(target), "heartbeat"),
        )

    async def on_start(self) -> None:
        """Start to serve requests; workers of a former leader register again."""
        self._slot_manager.start()
        if self._driver.worker_slot is None:
            # Give TaskExecutors time to register before a request counts as unfulfillable.
            self._slot_manager.fail_unfulfillable(False)
            self.schedule_run_async(
                self._start_up_s, lambda: self._perform(self._slot_manager.fail_unfulfillable(True))
            )
        self._containers.recover(list(await self._driver.start(self)))
        self._repeat(self._options.request_timeout_s, self._slot_manager.check_request_timeouts)
        self._repeat(self._options.idle_timeout_s, self._slot_manager.check_idle)

    async def on_stop(self) -> None:
        """Discard all state; TaskExecutors and JobMasters connect to the next leader."""
        self._worker_heartbeats.stop()
        self._job_heartbeats.stop()
        self._leader_ids.clear()
        self._slot_manager.suspend()
        await self._driver.close()

    # Calls of JobMasters

    async def register_job_master(self, registration: JobMasterRegistration) -> JobMasterRegistrationSuccess | Declined:
        """Register a JobMaster. Idempotent; a later session replaces an earlier one."""
        job_id = registration.job_id
        try:
            leader_id = await self._leader_ids.leader_id(job_id)
        except TimeoutError:
            return Declined(f"job {job_id} has no leader")
        try:
            gateway = await self.rpc_service.connect(registration.address, JobMasterGateway, registration.job_master_id)
        except Exception as error:
            return Declined(f"can't connect to the JobMaster at {registration.address}: {error}")
        # After the connection, since leaders may have changed meanwhile.
        if leader_id != registration.job_master_id:
            return Declined(f"job {job_id} is led by JobMaster {leader_id}, not by {registration.job_master_id}")
        known = self._jobs.get(job_id)
        if known is None or known.registration != registration:
            if known is not None:
                self._disconnect_job(job_id, "another JobMaster leads the job")
            self._jobs[job_id] = _Job(registration, gateway)
            self._job_heartbeats.monitor_target(job_id)
        return JobMasterRegistrationSuccess(self._session_id)

    async def request_slot(self, job_master_id: str, request: SlotRequest) -> None:
        """Find a slot for a job; the slot's TaskExecutor then offers it to the job."""
        job = self._jobs.get(request.job_id)
        if job is None:
            raise ResourceManagerError(f"job {request.job_id} has no JobMaster registered at {self.address}")
        if job.registration.job_master_id != job_master_id:
            raise ResourceManagerError(
                f"job {request.job_id} is led by JobMaster {job.registration.job_master_id}, "
                f"not by {job_master_id}, which asked for a slot"
            )
        self._perform(self._slot_manager.register_slot_request(request, self._now_s())[1])

    async def cancel_slot_request(self, allocation_id: str) -> None:
        """Cancel a slot request; unknown ids are ignored."""
        self._slot_manager.unregister_slot_request(allocation_id)

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """Disconnect a JobMaster whose job has ended or that is lost."""
        self._leader_ids.remove(job_id)
        self._jobs.pop(job_id, None)
        self._job_heartbeats.unmonitor_target(job_id)

    async def heartbeat_from_job_master(self, job_id: str) -> None:
        """Receive a heartbeat request of a JobMaster."""
        if job_id not in self._jobs:
            raise ResourceManagerError(f"job {job_id} has no JobMaster registered at {self.address}")
        self._job_heartbeats.receive_heartbeat(job_id)

    # Calls of TaskExecutors

    async def register_task_executor(
        self, registration: TaskExecutorRegistration
    ) -> TaskExecutorRegistrationSuccess | Declined | Rejected:
        """Register a TaskExecutor; a known one becomes a new instance."""
        resource_id, instance_id = registration.resource_id, uuid.uuid4().hex
        if self._driver.worker_slot is not None and resource_id not in self._containers.known:
            return Rejected(f"TaskExecutor {resource_id} is unrecognized: the cluster's framework did not start it")
        self._connecting[resource_id] = instance_id
        try:
            gateway = await self.rpc_service.connect(registration.address, TaskExecutorGateway)
        except Exception as error:
            return Declined(f"can't connect to the TaskExecutor at {registration.address}: {error}")
        # Connecting took time, in which the TaskExecutor may have given up and begun anew.
        if self._connecting.get(resource_id) != instance_id:
            return Declined("a later registration of the same TaskExecutor is under way")
        del self._connecting[resource_id]
        # What the former instance ran is over, though no heartbeat was missed: its allocations fail now, not at a
        # timeout.
        self._forget_worker(resource_id, "the TaskExecutor registered anew")
        self._workers[resource_id] = self._instances[instance_id] = _Worker(
            resource_id, instance_id, gateway, registration.address, SlotReport(())
        )
        self._worker_heartbeats.monitor_target(resource_id)
        logger.info("TaskExecutor %s registered at %s", resource_id, registration.address)
        return TaskExecutorRegistrationSuccess(instance_id, self._session_id)

    async def send_slot_report(self, resource_id: str, instance_id: str, report: SlotReport) -> None:
        """Report the slots of a TaskExecutor after its registration."""
        worker = self._workers.get(resource_id)
        if worker is None or worker.instance_id != instance_id:
            raise ResourceManagerError(f"instance {instance_id} of TaskExecutor {resource_id} is not registered")
        self._perform(self._slot_manager.register_task_manager(instance_id, report, self._now_s(), resource_id)[1])

    async def notify_slot_available(self, instance_id: str, slot_index: int, allocation_id: str) -> None:
        """Report that a slot of a TaskExecutor is free again; ignored from an outdated instance."""
        self._perform(self._slot_manager.free_slot(instance_id, slot_index, allocation_id, self._now_s()))

    async def disconnect_task_executor(self, resource_id: str, cause: str) -> None:
        """Disconnect a TaskExecutor."""
        self._forget_worker(resource_id, cause)

    async def request_task_managers(self) -> tuple[TaskManagerInfo, ...]:
        """Return all TaskExecutors."""
        now_ms = self.clock.now_ms()
        return tuple(
            TaskManagerInfo(
                worker.resource_id,
                worker.address,
                self._slot_manager.jobs_of_slots(worker.instance_id),
                tuple(slot.tasks for slot in worker.report.slots),
                now_ms - round(1000 * self._worker_heartbeats.silent_s(worker.resource_id)),
                worker.usage,
            )
            for worker in self._workers.values()
        )

    async def request_task_manager_stacks(self, resource_id: str, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        """Sample the stacks of a job's subtasks on a TaskExecutor."""
        return await self._task_executor(resource_id).request_stacks(request)

    async def request_task_manager_state(self, resource_id: str, request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in the state of a job's subtasks on a TaskExecutor."""
        return await self._task_executor(resource_id).request_state(request)

    async def request_task_manager_threads(self, resource_id: str) -> tuple[ThreadText, ...]:
        """Return the threads of a TaskExecutor's process and of its slots'."""
        return await self._task_executor(resource_id).request_thread_dump()

    async def request_task_manager_logs(self, resource_id: str) -> tuple[LogFile, ...] | None:
        """Return the log files of a TaskExecutor's process, None if that is the JobManager's process."""
        return await self._task_executor(resource_id).request_log_list()

    async def request_task_manager_log_piece(self, resource_id: str, name: str, offset: int) -> bytes:
        """Return a part of a log file of a TaskExecutor's process."""
        return await self._task_executor(resource_id).request_log_piece(name, offset)

    def _task_executor(self, resource_id: str) -> TaskExecutorGateway:
        if resource_id not in self._workers:
            raise UnknownTaskExecutorError(resource_id)
        return self._workers[resource_id].gateway

    async def request_resource_overview(self) -> ResourceOverview:
        """Return the cluster's resources."""
        return ResourceOverview(len(self._workers), self._slot_manager.slots_total, self._slot_manager.slots_free)

    # Decisions of the SlotManager

    def _perform(self, actions: Iterable[SlotManagerAction]) -> None:
        for action in actions:
            match action:
                case AssignSlot():
                    self._assign(action)
                case AllocateWorkers(workers):
                    self._perform_workers(self._containers.request(workers))
                case AskIfReleasable(instance_id):
                    self.spawn(self._ask_if_releasable(instance_id), "asking whether a worker is idle")
                case ReleaseWorker(instance_id, cause):
                    self._release_worker(instance_id, cause)
                case NotifyAllocationFailure(job_id, allocation_id, cause):
                    job = self._jobs.get(job_id)
                    if job is not None:
                        told = job.gateway.notify_allocation_failure(allocation_id, cause)
                        self.spawn(told, "reporting a failed allocation")

    def _assign(self, assignment: AssignSlot) -> None:
        worker = self._instances.get(assignment.instance_id)
        if worker is not None:
            request = assignment.request
            asked = worker.gateway.request_slot(
                TaskSlotRequest(
                    assignment.slot_index,
                    request.job_id,
                    request.allocation_id,
                    self._session_id,
                    request.resource_profile,
                )
            )
            self.spawn(self._assigned(assignment, asked), "assigning a slot")

    async def _assigned(self, assignment: AssignSlot, asked: Awaitable[None]) -> None:
        try:
            await asked
        except SlotOccupiedError as error:
            occupied_by = error.occupied_by
            self._perform(self._slot_manager.slot_assignment_failed(assignment, self._now_s(), occupied_by))
        except Exception:
            self._perform(self._slot_manager.slot_assignment_failed(assignment, self._now_s()))
        else:
            self._slot_manager.slot_assigned(assignment, self._now_s())

    async def _ask_if_releasable(self, instance_id: str) -> None:
        worker = self._instances.get(instance_id)
        if worker is not None:
            is_releasable = await worker.gateway.can_be_released()
            self._perform(self._slot_manager.releasable(instance_id, is_releasable, self._now_s()))

    def _repeat(self, interval_s: float, check: Callable[[float], Iterable[SlotManagerAction]]) -> None:
        def run() -> None:
            # Schedule the next check first, so that an error in this one does not prevent it.
            self._repeat(interval_s, check)
            self._perform(check(self._now_s()))

        self.schedule_run_async(interval_s, run)

    def _now_s(self) -> float:
        return self.clock.monotonic_s()

    # Workers of the cluster's framework

    def containers_granted(self, container_ids: Sequence[str], pending_at_framework: int | None = None) -> None:
        """Handle containers that the driver obtained."""
        try:
            self._perform_workers(self._containers.granted(list(container_ids), pending_at_framework))
        except WorkerCountError as error:
            self._on_fatal_error(error)

    def container_completed(self, container_id: str, diagnostics: str) -> None:
        """Handle the end of a container: its TaskExecutor is lost without waiting for a heartbeat timeout."""
        lost = self._containers.completed(container_id, container_id in self._workers, self._now_s())
        self._close_worker(container_id, diagnostics)
        if lost is not None:
            self._replace_worker(lost)

    def _replace_worker(self, lost: Iterable[WorkerAction]) -> None:
        self._perform_workers(lost)
        self._perform_workers(self._containers.require(self._slot_manager.slots_wanted))

    def _perform_workers(self, actions: Iterable[WorkerAction]) -> None:
        for action in actions:
            match action:
                case WorkersLost(workers):
                    self._perform(self._slot_manager.workers_lost(workers, self._now_s()))
                case DelayWorkerRequests(delay_s):
                    self.schedule_run_async(delay_s, self._retry_workers)
                case StartProcess():
                    self.spawn(self._start_process(action), "starting a worker")
                case _:
                    self.spawn(self._driver.perform(action), "asking the cluster's framework")

    def _retry_workers(self) -> None:
        self._perform_workers(self._containers.retry_due(self._slot_manager.slots_wanted))

    async def _start_process(self, action: StartProcess) -> None:
        try:
            await self._driver.perform(action)
        except Exception as error:
            logger.warning("can't start a worker in container %s: %s", action.container_id, error)
            self._replace_worker(self._containers.start_failed(action.container_id, self._now_s()))

    def _release_worker(self, instance_id: str, cause: str) -> None:
        worker = self._instances.get(instance_id)
        if worker is not None:
            self._stop_worker(worker.resource_id, cause)

    def _stop_worker(self, resource_id: str, cause: str) -> None:
        """Disconnect a TaskExecutor and release its container."""
        self._close_worker(resource_id, cause)
        if self._driver.worker_slot is not None:
            self._perform_workers(self._containers.stop(resource_id))

    # Heartbeats and leaders

    async def _ask_worker(self, resource_id: str) -> None:
        worker = self._workers.get(resource_id)
        if worker is not None:
            try:
                payload = await worker.gateway.heartbeat_from_resource_manager()
            except RpcConnectionError:
                self._worker_heartbeats.report_unreachable(resource_id)
                raise
            self._worker_heartbeats.receive_heartbeat(resource_id)
            worker.report, worker.usage = payload.slots, payload.usage
            self._perform(self._slot_manager.report_slot_status(worker.instance_id, payload.slots, self._now_s())[1])

    async def _ask_job(self, job_id: str) -> None:
        job = self._jobs.get(job_id)
        if job is not None:
            await job.gateway.heartbeat_from_resource_manager()
            self._job_heartbeats.receive_heartbeat(job_id)

    def _job_master_lost_leadership(self, job_id: str, session_id: str) -> None:
        job = self._jobs.get(job_id)
        if job is not None and job.registration.job_master_id == session_id:
            self._disconnect_job(job_id, "its JobMaster is no longer the leader")

    def _forget_worker(self, resource_id: str, cause: str) -> _Worker | None:
        worker = self._workers.pop(resource_id, None)
        if worker is not None:
            del self._instances[worker.instance_id]
            self._worker_heartbeats.unmonitor_target(resource_id)
            self._perform(self._slot_manager.unregister_task_manager(worker.instance_id, cause, self._now_s())[1])
        return worker

    def _close_worker(self, resource_id: str, cause: str) -> None:
        worker = self._forget_worker(resource_id, cause)
        if worker is not None:
            self.spawn(worker.gateway.disconnect_resource_manager(cause), "telling a TaskExecutor")

    def _close_job(self, job_id: str, cause: str) -> None:
        self._leader_ids.remove(job_id)
        self._disconnect_job(job_id, cause)

    def _disconnect_job(self, job_id: str, cause: str) -> None:
        job = self._jobs.pop(job_id, None)
        if job is not None:
            self._job_heartbeats.unmonitor_target(job_id)
            self.spawn(job.gateway.disconnect_resource_manager(cause), "telling a JobMaster")
