"""The TaskExecutors registered at a JobMaster."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.common.options.rpc_options import HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT
from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.jobmaster.job_parts import JobSession
from firesteel.runtime.rpc import RpcConnectionError
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.task_executor_gateway import TaskExecutorGateway

__all__ = ["TaskManagers"]


class TaskManagers:
    """The TaskExecutors registered at a JobMaster, monitored by heartbeats.

    Args:
        session: The job.
        configuration: Has `heartbeat.timeout`, after which a silent TaskExecutor is lost, and `heartbeat.interval`.
        slot_report: Returns the slots that the job has at a TaskExecutor; sent with each heartbeat.
        expected: Returns the attempts that a TaskExecutor must run.
        on_answer: Called with a TaskExecutor, its expected attempts and the attempts that it runs.
        on_lost: Called with the id of a lost TaskExecutor.
    """

    def __init__(
        self,
        session: JobSession,
        configuration: Mapping[str, str],
        slot_report: Callable[[str], tuple[SlotOffer, ...]],
        expected: Callable[[str], frozenset[str]],
        on_answer: Callable[[str, frozenset[str], tuple[str, ...]], object],
        on_lost: Callable[[str], object],
    ) -> None:
        self._endpoint = endpoint = session.endpoint
        self._job_id = session.job_id
        self._slot_report = slot_report
        self._expected = expected
        self._on_answer = on_answer
        self._gateways: dict[str, TaskExecutorGateway] = {}
        self._heartbeats = HeartbeatManager(
            endpoint.clock,
            HEARTBEAT_TIMEOUT.of(configuration),
            on_lost,
            HEARTBEAT_INTERVAL.of(configuration),
            lambda task_manager_id: endpoint.spawn(self._ask(task_manager_id), "heartbeat"),
        )

    def __contains__(self, task_manager_id: str) -> bool:
        return task_manager_id in self._gateways

    def get(self, task_manager_id: str) -> TaskExecutorGateway | None:
        """Return the gateway of a registered TaskExecutor."""
        return self._gateways.get(task_manager_id)

    async def connect(self, task_manager_id: str, address: str) -> None:
        """Register a TaskExecutor.

        Raises:
            RpcConnectionError: it can't be reached.
        """
        self._gateways[task_manager_id] = await self._endpoint.rpc_service.connect(address, TaskExecutorGateway)
        self._heartbeats.monitor_target(task_manager_id)

    def release(self, task_manager_id: str, cause: str) -> bool:
        """Disconnect a TaskExecutor; return False if it is not registered."""
        gateway = self._gateways.pop(task_manager_id, None)
        if gateway is None:
            return False
        self._heartbeats.unmonitor_target(task_manager_id)
        self._endpoint.spawn(gateway.disconnect_job_master(self._job_id, cause), "leaving a TaskExecutor")
        return True

    def release_all(self, cause: str) -> None:
        """Disconnect all TaskExecutors."""
        for task_manager_id in list(self._gateways):
            self.release(task_manager_id, cause)

    def stop(self) -> None:
        """Stop monitoring; the TaskExecutors keep their slots for the next leader."""
        self._heartbeats.stop()
        self._gateways.clear()

    async def _ask(self, task_manager_id: str) -> None:
        gateway = self._gateways.get(task_manager_id)
        if gateway is not None:
            expected = self._expected(task_manager_id)
            try:
                running = await gateway.heartbeat_from_job_master(self._job_id, self._slot_report(task_manager_id))
            except RpcConnectionError:
                self._heartbeats.report_unreachable(task_manager_id)
                raise
            # It may have registered anew since, with other deployments than those that were expected.
            if self._gateways.get(task_manager_id) is gateway:
                self._heartbeats.receive_heartbeat(task_manager_id)
                self._on_answer(task_manager_id, expected, running)
