"""TaskExecutors inside the JobManager's process: the workers of a cluster whose Spark is local."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence

from firesteel.runtime.highavailability.high_availability import ClientHighAvailabilityServices
from firesteel.runtime.process_usage import usage_of_this_process
from firesteel.runtime.resourcemanager.driver import WorkerListener
from firesteel.runtime.resourcemanager.workers import (
    FrameworkAction,
    ReleaseContainer,
    RequestContainers,
    StartProcess,
    StopProcess,
)
from firesteel.runtime.rpc import RpcService
from firesteel.runtime.slotpool.resource_profile import ANY, ResourceProfile
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.runtime.taskexecutor.task_runner import TaskRunnerFactory


class LocalWorkers:
    """Creates a TaskExecutor for each requested worker (implements `ResourceManagerDriver`).

    Args:
        rpc_service: Makes the TaskExecutors reachable.
        ha: Provides the current leaders.
        slots: Number of slots of each TaskExecutor.
        runner_factory: Creates the runners of tasks.
        configuration: Configuration of the cluster.
    """

    worker_slot: ResourceProfile | None = ANY

    def __init__(
        self,
        rpc_service: RpcService,
        ha: ClientHighAvailabilityServices,
        slots: int,
        runner_factory: TaskRunnerFactory,
        configuration: Mapping[str, str],
    ) -> None:
        self._rpc = rpc_service
        self._ha = ha
        self._slots = slots
        self._runner_factory = runner_factory
        self._configuration = configuration
        self._numbers = itertools.count(1)
        self._workers: dict[str, TaskExecutor] = {}
        self._listener: WorkerListener | None = None

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        """Return no previous workers: those of a former leader ended with it."""
        self._listener = listener
        return ()

    async def perform(self, action: FrameworkAction) -> None:
        """Start or stop TaskExecutors."""
        match action:
            case RequestContainers(count):
                self._grant(count)
            case StartProcess(container_id):
                await self._start(container_id)
            case StopProcess(container_id) | ReleaseContainer(container_id):
                await self._stop(container_id)
            case _:
                pass  # There are no pending requests that could be removed.

    def _grant(self, count: int) -> None:
        assert self._listener is not None
        names = [f"local-{next(self._numbers)}" for _ in range(count)]
        asyncio.get_running_loop().call_soon(self._listener.containers_granted, names)

    async def _start(self, container_id: str) -> None:
        worker = TaskExecutor(
            self._rpc,
            container_id,
            self._slots,
            self._ha,
            self._runner_factory,
            self._configuration,
            usage=usage_of_this_process,
        )
        self._workers[container_id] = worker
        await worker.start()

    async def _stop(self, container_id: str) -> None:
        worker = self._workers.pop(container_id, None)
        if worker is not None:
            await worker.stop()

    async def close(self) -> None:
        """Stop all TaskExecutors; another leader has its own workers."""
        await asyncio.gather(*(self._stop(container_id) for container_id in list(self._workers)))
