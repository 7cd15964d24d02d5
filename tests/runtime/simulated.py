"""A cluster in memory: real endpoints over simulated tasks and a simulated data plane."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from firesteel.common.stack_frames import ThreadText
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher import Archivist
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint, DataPlane, DataPlaneListener, QueryDescriptor
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import InMemoryRpcService
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.runtime.taskexecutor.task_executor_gateway import TaskExecutorGateway
from firesteel.runtime.taskexecutor.task_runner import TaskStateListener
from firesteel.spark.collect_buffers import CollectBuffers
from tests.runtime.helpers import settle
from tests.runtime.leaders import leader_gateway


class SimulatedTaskRunner:
    """Runs nothing; a task is RUNNING as soon as it is deployed."""

    def __init__(self, listener: TaskStateListener) -> None:
        self.listener = listener
        self.slots: dict[str, int] = {}
        self.deployed: list[TaskDeploymentDescriptor] = []
        self.cancelled: list[str] = []
        self.open_error: Exception | None = None
        self.deploy_error: Exception | None = None

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        if self.open_error is not None:
            raise self.open_error
        self.slots[allocation_id] = slot_index
        return f"address-of-{allocation_id}"

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        if self.deploy_error is not None:
            raise self.deploy_error
        assert tdd.allocation_id in self.slots
        self.deployed.append(tdd)
        self.listener.task_state_changed(tdd.execution_attempt_id, ExecutionState.RUNNING)

    async def cancel(self, execution_attempt_id: str) -> None:
        self.cancelled.append(execution_attempt_id)
        self.listener.task_state_changed(execution_attempt_id, ExecutionState.CANCELED)

    async def close_slot(self, allocation_id: str) -> None:
        self.slots.pop(allocation_id, None)

    async def sample_stacks(self, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        return ()

    async def look_up_state(self, request: StateRequest) -> tuple[StateAnswer, ...]:
        return ()

    async def dump_threads(self) -> tuple[ThreadText, ...]:
        return ()

    async def close(self) -> None:
        self.slots.clear()


class SimulatedQuery:
    """A query that runs until the test ends it through its listener."""

    def __init__(self, query: QueryDescriptor, listener: DataPlaneListener) -> None:
        self.descriptor = query
        self.listener = listener
        self.is_stopped = False
        self.stops_slowly = False
        self.may_stop = asyncio.Event()
        self.checkpoints = 0
        self.checkpoint_error: Exception | None = None

    async def stop(self, is_final: bool = False) -> None:
        if self.stops_slowly:
            await self.may_stop.wait()
        self.is_stopped = True

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        raise OSError(f"{directory} is full")

    async def trigger_checkpoint(self, full: bool, after: AfterSavepoint = AfterSavepoint.GO_ON) -> int:
        if self.checkpoint_error is not None:
            raise self.checkpoint_error
        self.checkpoints += 1
        stats = CheckpointStats(self.checkpoints, False, 10, 4, f"/checkpoints/chk-{self.checkpoints}", {}, {})
        self.listener.checkpoint_completed(stats)
        return self.checkpoints


class SimulatedDataPlane(DataPlane):
    """Moves no records; without a query over the whole job the tasks have to say themselves when they FINISHED."""

    def __init__(self, has_queries: bool = True) -> None:
        self.has_queries = has_queries
        self.queries: list[SimulatedQuery] = []
        self.collected = CollectBuffers()
        self.start_error: Exception | None = None
        self.restore_error: Exception | None = None
        self.restore_error_once: Exception | None = None
        self.forget_errors: list[Exception] = []
        self.terminated: list[tuple[str, JobStatus]] = []
        self.submit_error: Exception | None = None
        self.printed: dict[str, str] = {}

    async def submitted(self, job_graph: JobGraph) -> None:
        if self.submit_error is not None:
            raise self.submit_error

    async def restore(self, job_graph: JobGraph) -> bytes | None:
        if self.restore_error is not None:
            raise self.restore_error
        if self.restore_error_once is not None:
            error, self.restore_error_once = self.restore_error_once, None
            raise error
        return None

    def printed_after(self, job_id: str, offset: int) -> tuple[int, str]:
        return offset, self.printed.get(job_id, "")[offset:]

    async def deliver_coordination_request(self, operator_uid: str, request: bytes) -> bytes:
        return self.collected.answer(operator_uid, request)

    async def job_terminated(self, job_graph: JobGraph, status: JobStatus) -> None:
        if self.forget_errors:
            raise self.forget_errors.pop()
        self.terminated.append((job_graph.job_id, status))

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> SimulatedQuery:
        if self.start_error is not None:
            raise self.start_error
        self.queries.append(SimulatedQuery(query, listener))
        return self.queries[-1]


@dataclass
class RecordingListener:
    """Records the events of jobs."""

    events: list[JobEvent] = field(default_factory=list)

    def job_status_changed(self, job_id: str, event: JobEvent) -> None:
        self.events.append(event)


class Cluster:
    """Dispatcher, ResourceManager and TaskExecutors; every call is written and read back."""

    def __init__(
        self,
        clock: ManualClock,
        configuration: Mapping[str, str] | None = None,
        has_queries: bool = True,
        ha: EmbeddedHaServices | None = None,
        archivist: Archivist | None = None,
    ) -> None:
        self.clock = clock
        self.configuration = dict(configuration or {})
        self.rpc = InMemoryRpcService(clock, serialize_calls=True)
        self.ha = ha or EmbeddedHaServices()
        self.data_plane = SimulatedDataPlane(has_queries)
        self.runners: dict[str, SimulatedTaskRunner] = {}
        self.task_executors: dict[str, TaskExecutor] = {}
        self.fatal_errors: list[BaseException] = []
        self.listener = RecordingListener()
        self.resource_manager = resource_manager_runner(
            self.rpc, self.ha, self.configuration, on_fatal_error=self.fatal_errors.append
        )
        self.dispatcher = dispatcher_runner(
            self.rpc, self.ha, self.data_plane, self.configuration, self.fatal_errors.append, [self.listener], archivist
        )
        self.gateway: DispatcherGateway

    async def start(self, **slots: int) -> None:
        """Start everything, with a TaskExecutor `name=slots` for each argument."""
        await self.resource_manager.start()
        await self.dispatcher.start()
        for name, count in slots.items():
            await self.add_task_executor(name, count)
        self.gateway = await self.dispatcher_gateway()
        await settle()

    async def dispatcher_gateway(self) -> DispatcherGateway:
        gateway: DispatcherGateway = await leader_gateway(
            self.rpc, self.ha.leader_retrieval(DISPATCHER), DispatcherGateway
        )
        return gateway

    async def add_task_executor(self, name: str, slots: int) -> None:
        def runner(listener: TaskStateListener) -> SimulatedTaskRunner:
            self.runners[name] = SimulatedTaskRunner(listener)
            return self.runners[name]

        self.task_executors[name] = TaskExecutor(self.rpc, name, slots, self.ha, runner, self.configuration)
        await self.task_executors[name].start()

    async def submit(self, job: JobGraph) -> str:
        await self.gateway.submit_job(job)
        await settle()
        return job.job_id

    @property
    def query(self) -> SimulatedQuery:
        """The query started last."""
        return self.data_plane.queries[-1]

    async def finish_query(self) -> None:
        self.query.listener.query_finished()
        await settle()

    async def fail_query(self, failure: TaskFailure) -> None:
        self.query.listener.query_failed(failure)
        await settle()

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await settle()

    async def stop(self) -> None:
        for task_executor in self.task_executors.values():
            await task_executor.stop()
        await self.dispatcher.close()
        await self.resource_manager.close()


async def gateway_of(cluster: Cluster) -> TaskExecutorGateway:
    """The gateway of TaskExecutor `tm`."""
    gateway: TaskExecutorGateway = await cluster.rpc.connect("taskmanager-tm", TaskExecutorGateway)
    return gateway


async def slots_available(cluster: Cluster) -> int:
    """Return the free slots."""
    return (await cluster.gateway.request_overview()).slots_available
