"""A cluster of real endpoints on one event loop, whose tasks do nothing; every call is counted."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import Counter
from typing import Any

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
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.leader_gateway import LeaderGateway
from firesteel.runtime.jobmaster.data_plane import (
    AfterSavepoint,
    DataPlane,
    DataPlaneListener,
    QueryDescriptor,
    RunningQuery,
)
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

    def call(self, call: RpcCall, with_timeout: bool, is_large: bool = False) -> asyncio.Future[object]:
        self.calls[call.method] += 1
        return super().call(call, with_timeout, is_large)


class InstantTasks:
    """Reports each task as RUNNING as soon as it is deployed."""

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
    """A query that never ends; the test reports events to its listener."""

    def __init__(self, descriptor: QueryDescriptor, listener: DataPlaneListener) -> None:
        self.descriptor = descriptor
        self.listener = listener

    async def stop(self) -> None:
        return

    async def trigger_checkpoint(self, full: bool, after: AfterSavepoint = AfterSavepoint.GO_ON) -> int:
        return 1


class CountingDataPlane(DataPlane):
    """Starts the query of a job once all its tasks run, and reports when all jobs have one."""

    has_queries = True

    def __init__(self) -> None:
        self._missing = 0
        self.queries: list[EndlessQuery] = []
        self.all_running = asyncio.Event()

    def expect(self, jobs: int) -> None:
        self._missing = jobs
        self.all_running.clear()

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> EndlessQuery:
        self._missing -= 1
        if not self._missing:
            self.all_running.set()
        self.queries.append(EndlessQuery(query, listener))
        return self.queries[-1]

    async def restore(self, job_graph: JobGraph) -> bytes | None:
        return None

    async def job_terminated(self, job_graph: JobGraph, status: JobStatus) -> None:
        return

    async def submitted(self, job_graph: JobGraph) -> None:
        return


class SimulatedCluster:
    """Dispatcher, ResourceManager and TaskExecutors."""

    def __init__(self) -> None:
        self.rpc = CountingRpcService()
        self.ha = EmbeddedHaServices()
        self.data_plane = CountingDataPlane()
        self.errors: list[BaseException] = []
        self.gateway: DispatcherGateway

    async def start(self, task_executors: int, slots_per_task_executor: int) -> None:
        """Start everything, and return when all slots are registered."""
        ha = self.ha
        await resource_manager_runner(self.rpc, ha, CONFIGURATION, on_fatal_error=self.errors.append).start()
        await dispatcher_runner(self.rpc, ha, self.data_plane, CONFIGURATION, self.errors.append).start()
        for number in range(task_executors):
            name = f"tm-{number}"
            await TaskExecutor(self.rpc, name, slots_per_task_executor, ha, InstantTasks, CONFIGURATION).start()
        self.gateway = await self.leader(DISPATCHER, DispatcherGateway)
        slots = task_executors * slots_per_task_executor
        while (await self.gateway.request_overview()).slots_total < slots:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def leader(self, name: str, gateway_type: type) -> Any:
        """Return the gateway of the leader of this name; wait until there is one."""
        leader = LeaderGateway(self.rpc, self.ha.leader_retrieval(name), gateway_type)
        leader.start()
        return await leader.get()


def chain_of(name: str, vertices: int, parallelism: int) -> JobGraph:
    """Return a job of vertices in a row, each subtask connected with all of the next vertex."""
    ids = [f"{number:032x}" for number in range(1, vertices + 1)]
    group = SlotSharingGroup("default", ids)
    chain = [JobVertex(id, f"vertex-{id[-2:]}", parallelism, slot_sharing_group=group) for id in ids]
    for producer, consumer in itertools.pairwise(chain):
        _connect(producer, consumer)
    job_id = hashlib.md5(name.encode()).hexdigest()
    return JobGraph(job_id, name, vertices=chain, slot_sharing_groups=[group], insertion_order=ids)


def _connect(producer: JobVertex, consumer: JobVertex) -> None:
    kind = DistributionPattern.ALL_TO_ALL
    data_set = IntermediateDataSet(f"{producer.id}-0", producer, ResultPartitionType.PIPELINED_BOUNDED, kind)
    partitioner = Partitioner("REBALANCE")
    edge = JobEdge(data_set, consumer, 0, partitioner, kind, partitioner.name, 1, 2)
    producer.produced_data_sets.append(data_set)
    data_set.consumers.append(edge)
    consumer.inputs.append(edge)
