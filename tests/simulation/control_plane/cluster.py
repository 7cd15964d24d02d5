"""A whole cluster of simulated processes: JobManagers, TaskExecutors, a client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from firesteel.common.stack_frames import ThreadText
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway, DuplicateJobSubmissionError
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.embedded import PROCESS, EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.jobmaster.data_plane import DataPlane, DataPlaneListener, QueryDescriptor, RunningQuery
from firesteel.runtime.jobmaster.job_master import JobMaster
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.runtime.taskexecutor.task_runner import TaskStateListener
from tests.runtime.leaders import leader_gateway
from tests.simulation.control_plane.network import Network, SimulatedRpcService
from tests.simulation.control_plane.process_ha import ProcessHa
from tests.simulation.core.seed import Seed
from tests.simulation.core.virtual_time import SimulatedProcess, later

CONFIGURATION = {
    "heartbeat.interval": "2 s",
    "heartbeat.timeout": "10 s",
    "slot.request.timeout": "30 s",
    "cluster.registration.error-delay": "1 s",
    "cluster.registration.refused-registration-delay": "1 s",
    "cluster.registration.max-timeout": "4 s",
    "resourcemanager.job.timeout": "60 s",
}


@dataclass(slots=True)
class RunningTask:
    """A task on a TaskExecutor: live from its deployment until it is stopped."""

    tdd: TaskDeploymentDescriptor
    session_id: str | None


class SimulatedTaskRunner:
    """Runs tasks that do nothing; each takes its time to start and to stop."""

    def __init__(self, host: TaskExecutorProcess, listener: TaskStateListener) -> None:
        self._host = host
        self._listener = listener
        self.slots: set[str] = set()
        self.live: dict[str, RunningTask] = {}

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        await self._pause()
        self.slots.add(allocation_id)
        return f"{self._host.name}/{allocation_id}"

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        session_id = self._host.task_executor._jobs.session_id(tdd.job_id)
        self._log("runs", tdd.execution_attempt_id)
        self.live[tdd.execution_attempt_id] = RunningTask(tdd, session_id)
        self._host.cluster.check()  # Only a task that begins can be one too many.
        await self._pause()
        if tdd.execution_attempt_id in self.live:
            self._listener.task_state_changed(tdd.execution_attempt_id, ExecutionState.RUNNING)
            self._host.cluster.finish_later(self._host, self, tdd)

    def finish(self, attempt_id: str, state: ExecutionState) -> None:
        """A task ends by itself."""
        if self.live.pop(attempt_id, None) is not None:
            self._log(f"ends ({state.name})", attempt_id)
            failure = TaskFailure("the task failed") if state is ExecutionState.FAILED else None
            self._listener.task_state_changed(attempt_id, state, failure)

    async def cancel(self, execution_attempt_id: str) -> None:
        self.live.pop(execution_attempt_id, None)
        self._log("cancels", execution_attempt_id)
        await self._pause()
        self._listener.task_state_changed(execution_attempt_id, ExecutionState.CANCELED)

    async def close_slot(self, allocation_id: str) -> None:
        for attempt_id in [one for one, task in self.live.items() if task.tdd.allocation_id == allocation_id]:
            del self.live[attempt_id]
        await self._pause()
        self.slots.discard(allocation_id)

    async def sample_stacks(self, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        return ()

    async def look_up_state(self, request: StateRequest) -> tuple[StateAnswer, ...]:
        return ()

    async def dump_threads(self) -> tuple[ThreadText, ...]:
        return ()

    async def close(self) -> None:
        self.live.clear()
        self.slots.clear()

    def _log(self, does: str, attempt_id: str) -> None:
        self._host.cluster.seed.log(f"{self._host.name} {does} {attempt_id}")

    async def _pause(self) -> None:
        await asyncio.sleep(self._host.cluster.random.random() * 0.1)


class SimulatedQuery(RunningQuery):
    """A query over all tasks of a job: it fails when one of them is gone, else it finishes after a while."""

    def __init__(self, plane: SimulatedDataPlane, query: QueryDescriptor, listener: DataPlaneListener) -> None:
        self.descriptor = query
        self._plane = plane
        self._listener = listener
        self.is_over = False
        self._left_s = plane.cluster.random.random() * plane.cluster.longest_job_s

    def tick(self, passed_s: float) -> None:
        """Some time passed."""
        if self.is_over:
            return
        cluster = self._plane.cluster
        attempts = {subtask.execution_attempt_id for subtask in self.descriptor.subtasks}
        if not attempts <= cluster.live_attempts():
            self._end(lambda: self._listener.query_failed(TaskFailure("a slot is gone")))
        elif cluster.random.random() < cluster.task_failures:
            self._end(lambda: self._listener.query_failed(TaskFailure("a record was bad")))
        elif self._left_s <= 0:
            self._end(self._listener.query_finished)
        else:
            self._left_s -= passed_s

    def _end(self, tell: Callable[[], object]) -> None:
        self.is_over = True
        self._plane.process.call(tell)

    async def stop(self, is_final: bool = False) -> None:
        """Now and then Spark takes its time."""
        self.is_over = True
        random_ = self._plane.cluster.random
        await asyncio.sleep(random_.random() * random_.choice((0.1, 0.1, 30)))


class SimulatedDataPlane(DataPlane):
    """The data plane of one JobManager process."""

    def __init__(self, cluster: SimulatedCluster, process: SimulatedProcess) -> None:
        self.cluster = cluster
        self.process = process
        self.has_queries = cluster.has_queries
        self.queries: list[SimulatedQuery] = []

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> SimulatedQuery:
        await asyncio.sleep(self.cluster.random.random() * 0.1)
        self.cluster.query_started(query)
        self.queries = [one for one in self.queries if not one.is_over]
        self.queries.append(SimulatedQuery(self, query, listener))
        return self.queries[-1]


@dataclass
class JobManagerProcess:
    """Dispatcher, ResourceManager and JobMasters in one process."""

    cluster: SimulatedCluster
    name: str
    process: SimulatedProcess = field(init=False)

    def start(self) -> None:
        cluster = self.cluster
        self.process = cluster.new_process(self.name)
        self.ha = ProcessHa(cluster.ha, self.process, cluster.learns_late)
        rpc = SimulatedRpcService(cluster.network, self.process)
        self.data_plane = SimulatedDataPlane(cluster, self.process)
        configuration = dict(cluster.configuration)

        async def run() -> None:
            self.resource_manager = resource_manager_runner(rpc, self.ha, configuration, on_fatal_error=self._fatal)
            self.dispatcher = dispatcher_runner(rpc, self.ha, self.data_plane, configuration, self._fatal)
            await self.resource_manager.start()
            await self.dispatcher.start()

        self.process.start(run())

    def _fatal(self, error: BaseException) -> None:
        """A fatal error ends the process; its supervisor restarts it."""
        self.cluster.seed.log(f"{self.name} fatal: {error!r}")
        self.cluster.crash(self)

    def job_masters(self) -> list[JobMaster]:
        """The JobMasters that run here."""
        endpoints = self.cluster.network.endpoints.values()
        return [one for process, one in endpoints if process is self.process and isinstance(one, JobMaster)]


@dataclass
class TaskExecutorProcess:
    """A TaskExecutor in a process of its own."""

    cluster: SimulatedCluster
    name: str
    slots: int
    process: SimulatedProcess = field(init=False)
    runner: SimulatedTaskRunner = field(init=False)
    task_executor: TaskExecutor = field(init=False)

    def start(self) -> None:
        cluster = self.cluster
        self.process = cluster.new_process(self.name)
        self.ha = ProcessHa(cluster.ha, self.process)
        rpc = SimulatedRpcService(cluster.network, self.process)

        def make_runner(listener: TaskStateListener) -> SimulatedTaskRunner:
            self.runner = SimulatedTaskRunner(self, listener)
            return self.runner

        async def run() -> None:
            self.task_executor = TaskExecutor(
                rpc, self.name, self.slots, self.ha, make_runner, dict(cluster.configuration)
            )
            await self.task_executor.start()

        self.process.start(run())

    @property
    def is_up(self) -> bool:
        """Whether its TaskExecutor runs."""
        return self.process.is_alive and hasattr(self, "task_executor") and self.task_executor.is_running


class Client:
    """Submits jobs until they are acknowledged, and cancels some."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.process = cluster.new_process("client")
        self.ha = ProcessHa(cluster.ha, self.process)
        self._rpc = SimulatedRpcService(cluster.network, self.process)
        self.acknowledged: set[str] = set()

    def submit(self, make_job: Callable[[], JobGraph], cancel_after_s: float | None) -> None:
        """Submit a job, in the background."""
        self.process.start(self._submit(make_job, cancel_after_s))

    async def _submit(self, make_job: Callable[[], JobGraph], cancel_after_s: float | None) -> None:
        job_id = make_job().job_id
        while job_id not in self.acknowledged:
            try:
                gateway = await self._dispatcher()
                await gateway.submit_job(make_job())
                self.acknowledged.add(job_id)
            except DuplicateJobSubmissionError:
                # An earlier try arrived, its answer did not; it may still fail.
                if self.cluster.is_stored(job_id):
                    self.acknowledged.add(job_id)
                await asyncio.sleep(1)
            except FiresteelError:
                await asyncio.sleep(1)
        if cancel_after_s is not None:
            await asyncio.sleep(cancel_after_s)
            with contextlib.suppress(FiresteelError):
                await (await self._dispatcher()).cancel_job(job_id)

    async def _dispatcher(self) -> DispatcherGateway:
        retrieval = self.ha.leader_retrieval(DISPATCHER)
        gateway: DispatcherGateway = await leader_gateway(self._rpc, retrieval, DispatcherGateway)
        return gateway


class SimulatedCluster:
    """All processes, and their actual state.

    Args:
        seed: Decides everything that is left to chance.
        network: Connects them.
        configuration: Of every process.
    """

    def __init__(self, seed: Seed, network: Network, configuration: dict[str, str]) -> None:
        self.seed = seed
        self.random = random_ = seed.chance
        self.network = network
        self.configuration = CONFIGURATION | configuration
        self.ha = EmbeddedHaServices()
        self.has_queries = random_.random() < 0.7
        self.longest_job_s = random_.choice([1, 5, 30])
        self.task_failures = 0.0
        self.latest_news_s = random_.choice([0, 0, 5])
        self.job_managers: list[JobManagerProcess] = []
        self.task_executors: list[TaskExecutorProcess] = []
        self.kill_at_step = -1
        self.check: Callable[[], object] = lambda: None
        self.client = Client(self)

    # --- processes -------------------------------------------------------------------------------------------------

    def new_process(self, name: str) -> SimulatedProcess:
        """A process; one that is to die at a certain step dies there."""
        return SimulatedProcess(self.seed, name, self._on_step)

    def _on_step(self, process: SimulatedProcess) -> None:
        if self.seed.steps == self.kill_at_step:
            for one in [*self.job_managers, *self.task_executors]:
                if one.process is process:
                    self.crash(one)

    def crash(self, one: JobManagerProcess | TaskExecutorProcess) -> None:
        """Kill a process; its session expires a little later, then it is started again."""
        if not one.process.is_alive:
            return
        self.seed.log(f"{one.name} is killed")
        one.process.is_alive = False
        self.network.killed(one.process)
        loop, dead = asyncio.get_running_loop(), one.ha
        expires_s = self.random.random() * 5
        later(expires_s, lambda: loop.create_task(dead.expire()))
        later(expires_s + self.random.random() * 20, lambda: self._restart(one))

    def _restart(self, one: JobManagerProcess | TaskExecutorProcess) -> None:
        self.seed.log(f"{one.name} is started again")
        one.start()

    def learns_late(self) -> float:
        """How much later a process learns that it leads no longer."""
        return self.random.random() * self.latest_news_s

    def depose(self) -> None:
        """The leading JobManager process loses its leadership; another one is elected a little later."""
        self.seed.log("leadership is lost")
        component = self.ha.components[PROCESS]
        self.ha.revoke_leadership(PROCESS)
        component.contenders.append(component.contenders.pop(0)) if component.contenders else None
        later(self.random.random() * 5, lambda: self.ha.grant_leadership(PROCESS))

    # --- the truth -------------------------------------------------------------------------------------------------

    @property
    def leader_session(self) -> str | None:
        """The session of the process that leads."""
        return self.ha.components[PROCESS].session_id

    def live_attempts(self) -> set[str]:
        """Attempts that run anywhere."""
        return {attempt for one in self.task_executors if one.is_up for attempt in one.runner.live}

    def finished_jobs(self) -> set[str]:
        """Jobs whose results are stored."""
        folders = self.ha._entries.folders
        return {*folders["dirty-results"], *folders["clean-results"]}

    def is_stored(self, job_id: str) -> bool:
        """Whether a job is kept for the next leader, or is over."""
        return job_id in self.ha._entries.folders["jobs"] or job_id in self.finished_jobs()

    def tick(self, passed_s: float) -> None:
        """Some time passed for the records of all jobs."""
        for manager in self.job_managers:
            if manager.process.is_alive:
                for query in manager.data_plane.queries:
                    query.tick(passed_s)

    def query_started(self, query: QueryDescriptor) -> None:
        """A job's records begin to flow: never after it is over."""
        if query.job_id in self.finished_jobs():
            self.seed.violated(f"job {query.job_id[:6]} is run again though it is over")

    def finish_later(
        self, host: TaskExecutorProcess, runner: SimulatedTaskRunner, tdd: TaskDeploymentDescriptor
    ) -> None:
        """Without a query tasks end by themselves."""
        if not self.has_queries:
            fails = self.random.random() < self.task_failures * 10
            state = ExecutionState.FAILED if fails else ExecutionState.FINISHED
            process = host.process
            takes_s = self.random.random() * self.longest_job_s
            later(takes_s, lambda: process.call(runner.finish, tdd.execution_attempt_id, state))
