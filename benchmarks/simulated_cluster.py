"""A cluster of real endpoints on one loop whose tasks run nothing; every call is counted."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter

from firesteel.graph.job_graph import (
    DistributionPattern,
    IntermediateDataSet,
    JobEdge,
    JobGraph,
    JobVertex,
    Partitioner,
    ResultPartitionType,
    SlotSharingGroup,
)
from firesteel.runtime.clock import SystemClock
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.leader_gateway import leader_gateway
from firesteel.runtime.jobmaster.data_plane import DataPlane, DataPlaneListener, QueryDescriptor, RunningQuery
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import InMemoryRpcService
from firesteel.runtime.rpc.rpc_service import RpcCall
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.runtime.taskexecutor.task_runner import TaskStateListener

CONFIGURATION = {"slot.request.timeout": "300 s"}


class CountingRpcService(InMemoryRpcService):
    """Counts the calls by method."""

    def __init__(self) -> None:
        super().__init__(SystemClock(), timeout_s=60)
        self.calls: Counter[str] = Counter()

    def call(self, call: RpcCall, with_timeout: bool) -> asyncio.Future[object]:
        self.calls[call.method] += 1
        return super().call(call, with_timeout)


class InstantTasks:
    """A task is RUNNING as soon as it is deployed."""

    def __init__(self, listener: TaskStateListener) -> None:
        self._listener = listener

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        return f"address-of-{allocation_id}"

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        self._listener.task_state_changed(tdd.execution_attempt_id, ExecutionState.RUNNING)

    async def cancel(self, execution_attempt_id: str) -> None:
        self._listener.task_state_changed(execution_attempt_id, ExecutionState.CANCELED)

    async def close_slot(self, allocation_id: str) -> None:
        return

    async def close(self) -> None:
        return


class EndlessQuery(RunningQuery):
    """Never ends by itself."""

    async def stop(self) -> None:
        return


class CountingDataPlane(DataPlane):
    """Is asked for the query of a job once all its tasks run; tells when that was so for all jobs."""

    spans_job = True

    def __init__(self) -> None:
        self._missing = 0
        self.all_running = asyncio.Event()

    def expect(self, jobs: int) -> None:
        self._missing = jobs
        self.all_running.clear()

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> EndlessQuery:
        self._missing -= 1
        if not self._missing:
            self.all_running.set()
        return EndlessQuery()


class SimulatedCluster:
    """Dispatcher, ResourceManager and TaskExecutors."""

    def __init__(self) -> None:
        self.rpc = CountingRpcService()
        self.data_plane = CountingDataPlane()
        self.errors: list[BaseException] = []
        self.gateway: DispatcherGateway

    async def start(self, task_executors: int, slots_per_task_executor: int) -> None:
        """Start everything; returns when all slots are registered."""
        ha = EmbeddedHaServices()
        await resource_manager_runner(self.rpc, ha, CONFIGURATION, on_fatal_error=self.errors.append).start()
        await dispatcher_runner(self.rpc, ha, self.data_plane, CONFIGURATION, self.errors.append).start()
        for number in range(task_executors):
            name = f"tm-{number}"
            await TaskExecutor(self.rpc, name, slots_per_task_executor, ha, InstantTasks, CONFIGURATION).start()
        self.gateway = await leader_gateway(self.rpc, ha.leader_retrieval(DISPATCHER), DispatcherGateway)
        slots = task_executors * slots_per_task_executor
        while (await self.gateway.request_overview()).slots_total < slots:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def two_vertices(name: str, parallelism: int) -> JobGraph:
    """A job of two vertices, each subtask of the first connected with all of the second."""
    job_id = hashlib.md5(name.encode()).hexdigest()
    group = SlotSharingGroup("default", ["a" * 32, "b" * 32])
    producer = JobVertex("a" * 32, "a", parallelism, slot_sharing_group=group)
    consumer = JobVertex("b" * 32, "b", parallelism, slot_sharing_group=group)
    kind = DistributionPattern.ALL_TO_ALL
    data_set = IntermediateDataSet("c" * 32, producer, ResultPartitionType.PIPELINED_BOUNDED, kind)
    partitioner = Partitioner("REBALANCE")
    edge = JobEdge(data_set, consumer, 0, partitioner, kind, partitioner.name, 1, 2)
    producer.produced_data_sets.append(data_set)
    data_set.consumers.append(edge)
    consumer.inputs.append(edge)
    return JobGraph(job_id, name, vertices=[producer, consumer], slot_sharing_groups=[group])
