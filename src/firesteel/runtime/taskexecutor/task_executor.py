"""The TaskExecutor runs the tasks of jobs in its slots."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from firesteel.common.options.rpc_options import HEARTBEAT_TIMEOUT, TASKMANAGER_HOST, TASKMANAGER_REGISTRATION_TIMEOUT
from firesteel.common.options.slot_options import TASKMANAGER_SLOT_TIMEOUT
from firesteel.common.stack_frames import ThreadText, threads_of_this_process
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.highavailability.high_availability import ClientHighAvailabilityServices
from firesteel.runtime.jobmaster.job_master_gateway import (
    JobMasterGateway,
    TaskExecutionState,
    TaskManagerRegistrationSuccess,
    TaskProgress,
)
from firesteel.runtime.process_usage import NO_USAGE, ProcessUsage
from firesteel.runtime.registration.leader_connection import RegistrationRejectedError, RegistrationTimeoutError
from firesteel.runtime.registration.retrying_registration import RegistrationOptions
from firesteel.runtime.resourcemanager.resource_manager_connection import ResourceManagerConnection
from firesteel.runtime.resourcemanager.resource_manager_gateway import (
    ResourceManagerGateway,
    TaskExecutorRegistration,
    TaskExecutorRegistrationSuccess,
)
from firesteel.runtime.resourcemanager.slot_report import TaskExecutorHeartbeatPayload
from firesteel.runtime.rpc import RpcEndpoint, RpcService, RpcTimeoutError
from firesteel.runtime.slotpool.resource_profile import ANY, ResourceProfile
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.job_leader_service import JobLeaderService
from firesteel.runtime.taskexecutor.log_files import LogFile, LogFiles
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotAllocationError,
    TaskNotFoundError,
    TaskSlotRequest,
    TaskSubmissionError,
)
from firesteel.runtime.taskexecutor.task_reports import TaskReports
from firesteel.runtime.taskexecutor.task_runner import TaskRunnerFactory
from firesteel.runtime.taskexecutor.task_slot_table import TaskSlot, TaskSlotState, TaskSlotTable
from firesteel.runtime.thread_pools import REQUESTED_FILES

__all__ = ["TaskExecutor"]

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL_S = 0.5
"""Interval in seconds at which the progress of tasks is reported."""


class TaskExecutor(RpcEndpoint):
    """The endpoint that owns slots and runs the tasks submitted into them. Flink: `runtime.taskexecutor.TaskExecutor`.

    It registers at the ResourceManager and reports its slots. When the ResourceManager requests a slot for a job, it
    opens the slot and offers it to the job's JobMaster, which then submits tasks.

    Args:
        rpc_service: The RPC service of the endpoint.
        resource_id: Its name, unique in the cluster.
        slots: Number of slots.
        ha: Finds the leaders.
        runner_factory: Creates the task runner.
        configuration: The cluster's configuration; `taskmanager.host` is the host reported to JobMasters.
        resources: The total resources of its slots.
        on_fatal_error: Called with errors after which the process should exit.
        logs: The log files of its process; None: it shares the JobManager's.
        usage: Returns the resource usage of its process.
    """

    def __init__(
        self,
        rpc_service: RpcService,
        resource_id: str,
        slots: int,
        ha: ClientHighAvailabilityServices,
        runner_factory: TaskRunnerFactory,
        configuration: Mapping[str, str] | None = None,
        resources: ResourceProfile = ANY,
        on_fatal_error: Callable[[BaseException], object] = lambda _: None,
        logs: LogFiles | None = None,
        usage: Callable[[], ProcessUsage] = lambda: NO_USAGE,
    ) -> None:
        super().__init__(rpc_service, f"taskmanager-{resource_id}")
        self._usage = usage
        configuration = configuration or {}
        self.resource_id = resource_id
        self._logs = logs
        self._runner = runner_factory(self)
        self._table = TaskSlotTable(slots, resources)
        host = TASKMANAGER_HOST.text_in(configuration) or ""
        self._jobs = JobLeaderService(
            self,
            ha,
            lambda gateway: gateway.register_task_manager(self.resource_id, self.address, host),
            RegistrationOptions.of(configuration),
        )
        self._slot_timeout_s = TASKMANAGER_SLOT_TIMEOUT.of(configuration)
        self._job_master_heartbeats = HeartbeatManager(
            self.clock,
            HEARTBEAT_TIMEOUT.of(configuration),
            lambda job_id: self._jobs.reconnect(job_id, "its heartbeat timed out"),
        )
        self._instance_id = ""
        self._offers: dict[str, int] = {}  # job -> number of slot offers to it
        self._progress: dict[str, TaskProgress] = {}
        self._reports = TaskReports(self, self._job_master, self._give_up)
        self._resource_manager = self._connection(ha, configuration, on_fatal_error)

    def _connection(
        self,
        ha: ClientHighAvailabilityServices,
        configuration: Mapping[str, str],
        on_fatal_error: Callable[[BaseException], object],
    ) -> ResourceManagerConnection[TaskExecutorRegistrationSuccess]:
        timeout_s = TASKMANAGER_REGISTRATION_TIMEOUT.of(configuration)
        return ResourceManagerConnection(
            self,
            ha,
            configuration,
            lambda gateway: gateway.register_task_executor(TaskExecutorRegistration(self.resource_id, self.address)),
            TaskExecutorRegistrationSuccess,
            self._resource_manager_connected,
            timeout_s=timeout_s,
            on_timeout=lambda: on_fatal_error(RegistrationTimeoutError(self.address, timeout_s)),
            # Its slots must not be offered any longer: the Spark application that it is a part of is not the leader's.
            on_rejected=lambda reason: on_fatal_error(RegistrationRejectedError(self.address, reason)),
        )

    async def on_start(self) -> None:
        """Start to connect to the ResourceManager."""
        self._resource_manager.start()

    async def on_stop(self) -> None:
        """Disconnect and stop all tasks."""
        self._jobs.close("the TaskExecutor is stopping")
        resource_manager: ResourceManagerGateway | None = self._resource_manager.gateway
        if resource_manager is not None:
            leave = resource_manager.disconnect_task_executor(self.resource_id, "the TaskExecutor is stopping")
            self.spawn(leave, "leaving the ResourceManager")
        self._resource_manager.close("the TaskExecutor is stopping")
        self._job_master_heartbeats.stop()
        await self._runner.close()

    # Calls of the ResourceManager

    async def request_slot(self, request: TaskSlotRequest) -> None:
        """Allocate a slot to a job and offer it to the job's JobMaster."""
        if self._resource_manager.gateway is None or request.resource_manager_id != self._resource_manager.session_id:
            raise SlotAllocationError(
                f"{self.address} is registered at ResourceManager {self._resource_manager.session_id}, "
                f"not at {request.resource_manager_id}, which asked for slot {request.slot_index}"
            )
        if self._table.allocate(request.slot_index, request.job_id, request.allocation_id, request.resource_profile):
            slot = self._table.get(request.allocation_id)
            assert slot is not None
            self._follow_job(slot)
            self.spawn(self._open(slot), f"opening slot {slot.index}")

    async def heartbeat_from_resource_manager(self) -> TaskExecutorHeartbeatPayload:
        """Receive a heartbeat of the ResourceManager; return the slots and the resource usage."""
        self._resource_manager.receive_heartbeat()
        return TaskExecutorHeartbeatPayload(self._table.report(), self._usage())

    async def disconnect_resource_manager(self, cause: str) -> None:
        """Disconnect from a ResourceManager that considers this TaskExecutor lost, and register again."""
        self._resource_manager.reconnect(cause)

    # Calls of JobMasters

    async def free_slot(self, allocation_id: str, cause: str) -> None:
        """Free a slot and stop its tasks; unknown ids are ignored."""
        slot = self._table.get(allocation_id)
        if slot is not None:
            self._free(slot, cause)

    async def submit_task(self, tdd: TaskDeploymentDescriptor, job_master_id: str) -> None:
        """Submit a task; returns before it runs."""
        self._check_job_master(tdd, job_master_id)
        self._check_slot(tdd)
        self._table.mark_slot_active(tdd.allocation_id)
        if not self._table.add_task(tdd.allocation_id, tdd.execution_attempt_id):
            raise TaskSubmissionError(
                f"{self.address} runs execution attempt {tdd.execution_attempt_id} already, or was told to stop it"
            )
        self.spawn(self._deploy(tdd), f"deploying {tdd.task_name_with_subtask}")

    async def cancel_task(self, execution_attempt_id: str) -> None:
        """Stop a task."""
        if self._table.slot_of_task(execution_attempt_id) is None:
            self._table.remove_task(execution_attempt_id)  # Its submission may still arrive.
            raise TaskNotFoundError(self.address, execution_attempt_id)
        self.spawn(self._runner.cancel(execution_attempt_id), "cancelling a task")

    async def heartbeat_from_job_master(self, job_id: str, slots: tuple[SlotOffer, ...]) -> tuple[str, ...]:
        """Receive a heartbeat of a JobMaster: free slots unknown to it, and report its missing slots."""
        self._job_master_heartbeats.receive_heartbeat(job_id)
        known = {offer.allocation_id for offer in slots}
        for slot in self._table.slots_of(job_id, TaskSlotState.ACTIVE):
            if slot.allocation_id not in known:
                self._free(slot, "the JobMaster does not know the slot")
        for allocation_id in known:
            if self._table.get(allocation_id) is None:
                self._fail_slot(job_id, allocation_id, "the TaskExecutor does not have the slot")
        return tuple(attempt_id for slot in self._table.slots_of(job_id) for attempt_id in sorted(slot.tasks))

    async def can_be_released(self) -> bool:
        """Return whether nothing is needed any more; only slots count, as results are in Spark."""
        return all(status.allocation_id is None for status in self._table.report().slots)

    async def request_log_list(self) -> tuple[LogFile, ...] | None:
        """Return the log files of its process, None if that is the JobManager's."""
        return None if self._logs is None else await REQUESTED_FILES.run(self._logs.list)

    async def request_log_piece(self, name: str, offset: int) -> bytes:
        """Return a part of a log file."""
        return await REQUESTED_FILES.run((self._logs or LogFiles(None)).read, name, offset)

    async def request_stacks(self, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        """Sample the stacks of a job's subtasks here."""
        return await self._runner.sample_stacks(request)

    async def request_state(self, request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in the state of a job's subtasks here."""
        return await self._runner.look_up_state(request)

    async def request_thread_dump(self) -> tuple[ThreadText, ...]:
        """Return the threads of its process and of its slots'."""
        return (*await REQUESTED_FILES.run(threads_of_this_process), *await self._runner.dump_threads())

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """Disconnect a JobMaster that no longer needs this TaskExecutor."""
        for slot in self._table.slots_of(job_id):
            self._free(slot, cause)
        self._leave_job(job_id, cause)

    # Reports of the runner

    def task_state_changed(
        self, execution_attempt_id: str, state: ExecutionState, failure: TaskFailure | None = None
    ) -> None:
        """Report a task's state to its JobMaster; unknown tasks are ignored."""
        self.validate_runs_in_main_thread()
        slot = self._table.slot_of_task(execution_attempt_id)
        if slot is None:
            return
        if state.is_terminal:
            # Before its end: a JobMaster ignores the progress of attempts that are over.
            self._flush_progress(slot.job_id)
            self._table.remove_task(execution_attempt_id)
        self._reports.report(slot.job_id, TaskExecutionState(execution_attempt_id, state, failure))

    def task_progress(self, execution_attempt_id: str, records_in: int, records_out: int) -> None:
        """Collect the progress of tasks, which is reported periodically."""
        if not self._progress:
            self.schedule_run_async(PROGRESS_INTERVAL_S, self._flush_progress)
        self._progress[execution_attempt_id] = TaskProgress(execution_attempt_id, records_in, records_out)

    # Slots

    async def _open(self, slot: TaskSlot) -> None:
        address = None
        try:
            address = await self._runner.open_slot(slot.allocation_id, slot.index)
        except Exception as error:
            # Kept until there is a JobMaster to tell: now there may be none.
            slot.open_error = f"slot {slot.index} of {self.address} can't be opened: {type(error).__name__}: {error}"
        if self._table.get(slot.allocation_id) is not slot:
            await self._runner.close_slot(slot.allocation_id)  # The slot was freed before it was open.
        elif slot.state is TaskSlotState.ALLOCATED:
            slot.address = address
            self._arm_timeout(slot)
            self._offer_slots(slot.job_id)

    def _arm_timeout(self, slot: TaskSlot) -> None:
        # A slot that was taken and freed since has another ticket, so that an old timer does not free it.
        ticket = slot.ticket

        def expire() -> None:
            if self._table.has_timed_out(slot, ticket):
                self._free(slot, f"no JobMaster took the slot within {self._slot_timeout_s:g} s")

        self.schedule_run_async(self._slot_timeout_s, expire)

    def _offer_slots(self, job_id: str) -> None:
        """Offer all slots that the job has not accepted yet."""
        job_master = self._job_master(job_id)
        if job_master is None:
            return
        slots = self._table.slots_of(job_id, TaskSlotState.ALLOCATED)
        for slot in slots:
            if slot.open_error is not None:
                self._fail_slot(job_id, slot.allocation_id, slot.open_error)
                self._free(slot, slot.open_error)
        opened = [slot for slot in slots if slot.address is not None]
        if opened:
            self.spawn(self._offer(job_id, job_master, opened), "offering slots")

    async def _offer(self, job_id: str, job_master: JobMasterGateway, slots: list[TaskSlot]) -> None:
        # Offers overlap, each with all open slots; the answer to an older one says nothing about slots that came later.
        number = self._offers[job_id] = self._offers.get(job_id, 0) + 1
        try:
            accepted = await job_master.offer_slots(self.resource_id, tuple(slot.offer for slot in slots))
        except RpcTimeoutError:
            if self._is_latest_offer(job_id, job_master, number):
                self._offer_slots(job_id)
        except Exception as error:
            if self._is_latest_offer(job_id, job_master, number):
                for slot in slots:
                    self._free(slot, f"the JobMaster refused the slot: {error}")
        else:
            if self._is_latest_offer(job_id, job_master, number):
                self._answered(job_id, slots, {offer.allocation_id for offer in accepted})

    def _is_latest_offer(self, job_id: str, job_master: JobMasterGateway, number: int) -> bool:
        """Return whether an answer is to the latest offer, and from the current JobMaster."""
        return self._job_master(job_id) is job_master and self._offers.get(job_id) == number

    def _answered(self, job_id: str, slots: list[TaskSlot], accepted: set[str]) -> None:
        for slot in slots:
            is_present = self._table.get(slot.allocation_id) is slot and slot.state is not TaskSlotState.RELEASING
            if slot.allocation_id not in accepted:
                self._free(slot, "the JobMaster did not accept the slot")
            elif is_present:
                self._table.mark_slot_active(slot.allocation_id)
            else:
                self._fail_slot(job_id, slot.allocation_id, "the slot was freed meanwhile")

    def _free(self, slot: TaskSlot, cause: str) -> None:
        # Several events free a slot at about the same time; the first one does it.
        if self._table.get(slot.allocation_id) is slot and slot.state is not TaskSlotState.RELEASING:
            self._table.set_state(slot, TaskSlotState.RELEASING)
            self.spawn(self._release(slot, cause), f"freeing slot {slot.index}")

    async def _release(self, slot: TaskSlot, cause: str) -> None:
        self._fail_tasks(slot, cause)
        try:
            await self._runner.close_slot(slot.allocation_id)
        finally:
            self._table.free(slot)
            resource_manager: ResourceManagerGateway | None = self._resource_manager.gateway
            if resource_manager is not None:
                told = resource_manager.notify_slot_available(self._instance_id, slot.index, slot.allocation_id)
                self.spawn(told, "reporting a free slot")
            if not self._table.slots_of(slot.job_id):
                self._leave_job(slot.job_id, "no slot of the job is left")

    def _fail_slot(self, job_id: str, allocation_id: str, cause: str) -> None:
        job_master = self._job_master(job_id)
        if job_master is not None:
            self.spawn(job_master.fail_slot(self.resource_id, allocation_id, cause), "reporting a failed slot")

    # Tasks

    def _check_job_master(self, tdd: TaskDeploymentDescriptor, job_master_id: str) -> None:
        if self._job_master(tdd.job_id) is None:
            raise TaskSubmissionError(f"{self.address} has no connection to a JobMaster of job {tdd.job_id}")
        session_id = self._jobs.session_id(tdd.job_id)
        if session_id != job_master_id:
            raise TaskSubmissionError(
                f"{self.address} is registered at JobMaster {session_id} of job {tdd.job_id}, "
                f"not at {job_master_id}, which submitted {tdd.task_name_with_subtask}"
            )

    def _check_slot(self, tdd: TaskDeploymentDescriptor) -> None:
        slot = self._table.get(tdd.allocation_id)
        if slot is None or slot.job_id != tdd.job_id or slot.state is TaskSlotState.RELEASING:
            raise TaskSubmissionError(
                f"{self.address} can't run {tdd.task_name_with_subtask}: "
                f"allocation {tdd.allocation_id} is not a slot of job {tdd.job_id} here"
            )

    async def _deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        self.task_state_changed(tdd.execution_attempt_id, ExecutionState.INITIALIZING)
        try:
            await self._runner.deploy(tdd)
        except Exception as error:
            failure = tdd.failure(f"{type(error).__name__}: {error}")
            self.task_state_changed(tdd.execution_attempt_id, ExecutionState.FAILED, failure)

    def _give_up(self, attempt_id: str) -> None:
        if self._table.slot_of_task(attempt_id) is not None:
            self.spawn(self._runner.cancel(attempt_id), "giving a task up")

    def _fail_tasks(self, slot: TaskSlot, cause: str) -> None:
        for attempt_id in sorted(slot.tasks):
            self.task_state_changed(attempt_id, ExecutionState.FAILED, TaskFailure(f"the slot was freed: {cause}"))

    def _flush_progress(self, only_job_id: str | None = None) -> None:
        by_job: dict[str, list[TaskProgress]] = {}
        for attempt_id, progress in list(self._progress.items()):
            slot = self._table.slot_of_task(attempt_id)
            if slot is None:
                del self._progress[attempt_id]
            elif only_job_id in {None, slot.job_id}:
                del self._progress[attempt_id]
                by_job.setdefault(slot.job_id, []).append(progress)
        for job_id, reports in by_job.items():
            job_master = self._job_master(job_id)
            if job_master is not None:
                self.spawn(job_master.update_task_progress(tuple(reports)), "reporting progress")

    # Connections

    def _resource_manager_connected(
        self, gateway: ResourceManagerGateway, success: TaskExecutorRegistrationSuccess
    ) -> None:
        self._instance_id = success.instance_id
        self.spawn(self._send_slot_report(gateway), "sending the slot report")

    async def _send_slot_report(self, gateway: ResourceManagerGateway) -> None:
        """Send the slot report; register again if the ResourceManager rejects it."""
        try:
            await gateway.send_slot_report(self.resource_id, self._instance_id, self._table.report())
        except Exception as error:
            if self._resource_manager.gateway is gateway:
                self._resource_manager.reconnect(f"the slot report was not accepted: {error}")

    def _job_master(self, job_id: str) -> JobMasterGateway | None:
        return self._jobs.gateway(job_id)

    def _follow_job(self, slot: TaskSlot) -> None:
        """Follow the JobMaster of a slot's job; free the slot if that is impossible."""
        if slot.job_id in self._jobs:
            return
        try:
            self._jobs.add_job(slot.job_id, self)
        except Exception as error:
            self._table.free(slot)
            raise SlotAllocationError(
                f"{self.address} can't find the leader of job {slot.job_id}; slot {slot.index} stays free: {error}"
            ) from error

    def job_master_gained_leadership(
        self, job_id: str, gateway: JobMasterGateway, success: TaskManagerRegistrationSuccess
    ) -> None:
        """Monitor a JobMaster after the registration, and offer it its slots."""
        self._job_master_heartbeats.monitor_target(job_id)
        self._offer_slots(job_id)

    def job_master_lost_leadership(self, job_id: str, cause: str) -> None:
        """Stop the tasks of a job without JobMaster; keep its slots for a while for the next leader."""
        self._job_master_heartbeats.unmonitor_target(job_id)
        for slot in self._table.slots_of(job_id, TaskSlotState.ACTIVE):
            for attempt_id in sorted(slot.tasks):
                self.spawn(self._runner.cancel(attempt_id), "cancelling a task")
            self._table.mark_slot_inactive(slot.allocation_id)
            self._arm_timeout(slot)

    def _leave_job(self, job_id: str, cause: str) -> None:
        self._offers.pop(job_id, None)
        self._reports.flush(job_id)
        self._jobs.remove_job(job_id, cause)
