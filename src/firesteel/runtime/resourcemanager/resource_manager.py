"""Knows the TaskExecutors and finds slots for jobs."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass

from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway
from firesteel.runtime.options import duration_s
from firesteel.runtime.registration.retrying_registration import Declined
from firesteel.runtime.resourcemanager.driver import ResourceManagerDriver, StandaloneDriver
from firesteel.runtime.resourcemanager.resource_manager_gateway import (
    JobMasterRegistration,
    JobMasterRegistrationSuccess,
    ResourceManagerError,
    ResourceOverview,
    TaskExecutorRegistration,
    TaskExecutorRegistrationSuccess,
)
from firesteel.runtime.resourcemanager.slot_manager import (
    AllocateWorkers,
    AssignSlot,
    NotifyAllocationFailure,
    SlotManager,
    SlotManagerAction,
)
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest
from firesteel.runtime.rpc import FencedRpcEndpoint, RpcService
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotOccupiedError,
    TaskExecutorGateway,
    TaskSlotRequest,
)

__all__ = ["ResourceManager"]


@dataclass(frozen=True, slots=True)
class _Worker:
    resource_id: str
    instance_id: str
    gateway: TaskExecutorGateway


@dataclass(frozen=True, slots=True)
class _Job:
    registration: JobMasterRegistration
    gateway: JobMasterGateway


class ResourceManager(FencedRpcEndpoint):
    """Knows the TaskExecutors and finds slots for jobs. Flink: `runtime.resourcemanager.ResourceManager`.

    Args:
        rpc_service: What makes it reachable.
        session_id: The leader session it works in; its fencing token.
        configuration: The cluster's configuration.
        driver: Obtains workers.
    """

    def __init__(
        self,
        rpc_service: RpcService,
        session_id: str,
        configuration: Mapping[str, str] | None = None,
        driver: ResourceManagerDriver | None = None,
    ) -> None:
        super().__init__(rpc_service, f"resourcemanager-{session_id}", session_id)
        self._session_id = session_id
        self._driver = driver or StandaloneDriver()
        self._slot_manager = SlotManager()
        self._workers: dict[str, _Worker] = {}  # by resource id
        self._connecting: dict[str, str] = {}  # resource id -> instance id of the latest registration under way
        self._jobs: dict[str, _Job] = {}
        configuration = configuration or {}
        interval_s = duration_s(configuration, "heartbeat.interval", 10)
        timeout_s = duration_s(configuration, "heartbeat.timeout", 50)
        self._worker_heartbeats = HeartbeatManager(
            self.clock,
            timeout_s,
            lambda resource_id: self._close_worker(resource_id, "its heartbeat timed out"),
            interval_s,
            lambda resource_id: self.spawn(self._ask_worker(resource_id), "heartbeat"),
        )
        self._job_heartbeats = HeartbeatManager(
            self.clock,
            timeout_s,
            lambda job_id: self._close_job(job_id, "its heartbeat timed out"),
            interval_s,
            lambda job_id: self.spawn(self._ask_job(job_id), "heartbeat"),
        )

    async def on_stop(self) -> None:
        """Forget everything; TaskExecutors and JobMasters turn to the next leader."""
        self._worker_heartbeats.stop()
        self._job_heartbeats.stop()
        self._slot_manager.clear()
        await self._driver.close()

    # Calls of JobMasters

    async def register_job_master(self, registration: JobMasterRegistration) -> JobMasterRegistrationSuccess | Declined:
        """Register a JobMaster; a second time has no effect, a later session replaces the former."""
        known = self._jobs.get(registration.job_id)
        if known is None or known.registration != registration:
            try:
                gateway = await self.rpc_service.connect(
                    registration.address, JobMasterGateway, registration.job_master_id
                )
            except Exception as error:
                return Declined(f"can't connect to the JobMaster at {registration.address}: {error}")
            if known is not None:
                self._close_job(registration.job_id, "another JobMaster leads the job")
            self._jobs[registration.job_id] = _Job(registration, gateway)
            self._job_heartbeats.monitor_target(registration.job_id)
        return JobMasterRegistrationSuccess(self._session_id)

    async def request_slot(self, job_master_id: str, request: SlotRequest) -> None:
        """Find a slot for a job; it is offered to the job by its TaskExecutor."""
        job = self._jobs.get(request.job_id)
        if job is None:
            raise ResourceManagerError(f"job {request.job_id} has no JobMaster registered at {self.address}")
        if job.registration.job_master_id != job_master_id:
            raise ResourceManagerError(
                f"job {request.job_id} is led by JobMaster {job.registration.job_master_id}, "
                f"not by {job_master_id}, which asked for a slot"
            )
        self._perform(self._slot_manager.register_slot_request(request)[1])

    async def cancel_slot_request(self, allocation_id: str) -> None:
        """Look no further; unknown ids are ignored."""
        self._slot_manager.unregister_slot_request(allocation_id)

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """A job is over, or its JobMaster gone."""
        self._jobs.pop(job_id, None)
        self._job_heartbeats.unmonitor_target(job_id)

    async def heartbeat_from_job_master(self, job_id: str) -> None:
        """A JobMaster asks whether the ResourceManager lives."""
        if job_id not in self._jobs:
            raise ResourceManagerError(f"job {job_id} has no JobMaster registered at {self.address}")
        self._job_heartbeats.receive_heartbeat(job_id)

    # Calls of TaskExecutors

    async def register_task_executor(
        self, registration: TaskExecutorRegistration
    ) -> TaskExecutorRegistrationSuccess | Declined:
        """Register a TaskExecutor; a known one is taken for a new instance."""
        resource_id, instance_id = registration.resource_id, uuid.uuid4().hex
        self._connecting[resource_id] = instance_id
        try:
            gateway = await self.rpc_service.connect(registration.address, TaskExecutorGateway)
        except Exception as error:
            return Declined(f"can't connect to the TaskExecutor at {registration.address}: {error}")
        if self._connecting.get(resource_id) != instance_id:
            return Declined("a later registration of the same TaskExecutor is under way")
        del self._connecting[resource_id]
        self._forget_worker(resource_id, "the TaskExecutor registered anew")
        self._workers[resource_id] = _Worker(resource_id, instance_id, gateway)
        self._worker_heartbeats.monitor_target(resource_id)
        return TaskExecutorRegistrationSuccess(instance_id, self._session_id)

    async def send_slot_report(self, resource_id: str, instance_id: str, report: SlotReport) -> None:
        """What a TaskExecutor has, sent once it is registered."""
        worker = self._workers.get(resource_id)
        if worker is None or worker.instance_id != instance_id:
            raise ResourceManagerError(f"instance {instance_id} of TaskExecutor {resource_id} is not registered")
        self._perform(self._slot_manager.register_task_manager(instance_id, report)[1])

    async def notify_slot_available(self, instance_id: str, slot_index: int, allocation_id: str) -> None:
        """A TaskExecutor has a slot back; ignored from an outdated instance."""
        self._perform(self._slot_manager.free_slot(instance_id, slot_index, allocation_id))

    async def disconnect_task_executor(self, resource_id: str, cause: str) -> None:
        """A TaskExecutor leaves."""
        self._forget_worker(resource_id, cause)

    async def request_resource_overview(self) -> ResourceOverview:
        """What the cluster has."""
        return ResourceOverview(len(self._workers), self._slot_manager.slots_total, self._slot_manager.slots_free)

    # What the SlotManager decides

    def _perform(self, actions: Iterable[SlotManagerAction]) -> None:
        for action in actions:
            match action:
                case AssignSlot():
                    self._assign(action)
                case AllocateWorkers(missing_slots):
                    self.spawn(self._driver.request_slots(missing_slots), "asking for workers")
                case NotifyAllocationFailure(job_id, allocation_id, cause):
                    job = self._jobs.get(job_id)
                    if job is not None:
                        told = job.gateway.notify_allocation_failure(allocation_id, cause)
                        self.spawn(told, "reporting a failed allocation")

    def _assign(self, assignment: AssignSlot) -> None:
        worker = next((w for w in self._workers.values() if w.instance_id == assignment.instance_id), None)
        if worker is not None:
            request = assignment.request
            asked = worker.gateway.request_slot(
                TaskSlotRequest(assignment.slot_index, request.job_id, request.allocation_id, self._session_id)
            )
            self.spawn(self._assigned(assignment, asked), "assigning a slot")

    async def _assigned(self, assignment: AssignSlot, asked: Awaitable[None]) -> None:
        try:
            await asked
        except SlotOccupiedError as error:
            self._perform(self._slot_manager.slot_assignment_failed(assignment, error.occupied_by))
        except Exception:
            self._perform(self._slot_manager.slot_assignment_failed(assignment))
        else:
            self._slot_manager.slot_assigned(assignment)

    # Heartbeats

    async def _ask_worker(self, resource_id: str) -> None:
        worker = self._workers.get(resource_id)
        if worker is not None:
            report = await worker.gateway.heartbeat_from_resource_manager()
            self._worker_heartbeats.receive_heartbeat(resource_id)
            self._perform(self._slot_manager.report_slot_status(worker.instance_id, report)[1])

    async def _ask_job(self, job_id: str) -> None:
        job = self._jobs.get(job_id)
        if job is not None:
            await job.gateway.heartbeat_from_resource_manager()
            self._job_heartbeats.receive_heartbeat(job_id)

    def _forget_worker(self, resource_id: str, cause: str) -> _Worker | None:
        worker = self._workers.pop(resource_id, None)
        if worker is not None:
            self._worker_heartbeats.unmonitor_target(resource_id)
            self._perform(self._slot_manager.unregister_task_manager(worker.instance_id, cause)[1])
        return worker

    def _close_worker(self, resource_id: str, cause: str) -> None:
        worker = self._forget_worker(resource_id, cause)
        if worker is not None:
            self.spawn(worker.gateway.disconnect_resource_manager(cause), "telling a TaskExecutor")

    def _close_job(self, job_id: str, cause: str) -> None:
        job = self._jobs.pop(job_id, None)
        if job is not None:
            self._job_heartbeats.unmonitor_target(job_id)
            self.spawn(job.gateway.disconnect_resource_manager(cause), "telling a JobMaster")
