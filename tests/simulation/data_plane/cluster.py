"""Simulated leaders, slots and Spark around the real code, with injected faults."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.coordinator.checkpoint_messages import Request
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.coordinator.stored_checkpoints import remove_job_directory, restore_job
from firesteel.operators.sinks.committables import Committable, carry_out
from firesteel.operators.sinks.committers import Committers
from firesteel.spark.lanes import Lanes
from firesteel.spark.pipeline import Pipeline
from firesteel.spark.shim import Stage
from firesteel.task.protocol import IDLE_GATE, REPORT_GATE, Row, StageRequest
from firesteel.task.restored_state import read_rescaled_state
from firesteel.task.slot_tasks import SlotTasks
from firesteel.task.stage_plan import StagePlan
from firesteel.task.stage_server import StageServer
from firesteel.task.version_store import VersionStore
from tests.simulation.data_plane.job import job_graph_of, with_parallelism
from tests.simulation.data_plane.object_store import SimulatedThreads
from tests.simulation.data_plane.processes import MISTAKES, Process, Scheduler

TASK_TRIES = 3
_RESCALED = 0.3
"""The share of checkpoints after which the job is rescaled."""


class TaskLostError(Exception):
    """Spark gave a batch up: one of its tasks failed too often."""


class RescaleError(Exception):
    """Ends a run, as the next one has another parallelism."""


@dataclass(frozen=True)
class Faults:
    """How likely is what, per step or per task."""

    kill_slot: float = 0.0
    kill_leader: float = 0.0
    pause: float = 0.0
    depose: float = 0.0
    copy: float = 0.0
    late_copy: float = 0.0
    lose_output: float = 0.0
    lose_worker: float = 0.0
    lose_host: float = 0.0


@dataclass
class SlotProcess:
    """One process of one slot: it serves one request at a time, and is gone with all it knows when it is killed."""

    server: StageServer
    serving: Process | None = None
    is_alive: bool = True
    uploads: SimulatedThreads | None = None

    def kill(self) -> None:
        """End the process and its threads."""
        self.is_alive = False
        if self.serving is not None:
            self.serving.kill()
        if self.uploads is not None:
            self.uploads.kill()


@dataclass
class Copy:
    """One copy of a task."""

    is_over: bool = False
    rows: list[Row] | None = None


class Deployment:
    """The slots of one run of one leader; they may outlive it, because they may not be notified."""

    def __init__(self, cluster: SimulatedJobCluster, name: str, job: bytes) -> None:
        self.cluster = cluster
        self.name = name
        self._job = job
        self._processes: dict[int, SlotProcess] = {}
        self._lost: set[int] = set()

    def process_of(self, slot: int) -> SlotProcess:
        """Return the process of a slot, a new one if the last one was killed.

        Raises:
            ConnectionRefusedError: its host was lost; the next run has slots on another one.
        """
        if self.cluster.host_of(slot) in self._lost:
            raise ConnectionRefusedError(f"the host of slot {slot} was lost")
        found = self._processes.get(slot)
        if found is None or not found.is_alive:
            found = self._processes[slot] = SlotProcess(StageServer(self.name, partial(self._open, slot)))
        return found

    def _open(self, slot: int, request: StageRequest) -> SlotTasks:
        store = self.cluster.store
        if not isinstance(store, RemotePath):
            directory = Path(request.checkpoint)
            restored = partial(read_rescaled_state, directory, directory)
            return SlotTasks(self._job, {}, slot, 0, VersionStore(directory, slot), restored)
        disk = self.cluster.disk_of(slot)
        versions = VersionStore(disk, slot, 0, store)
        assert versions._uploads is not None
        self._processes[slot].uploads = versions._uploads._threads  # type: ignore[assignment]
        restored = partial(read_rescaled_state, store, disk)
        return SlotTasks(self._job, {}, slot, 0, versions, restored, is_shared=False)

    def kill_any(self) -> None:
        """Kill the process of a slot that is at work."""
        busy = [one for one in self._processes.values() if one.is_alive and one.serving is not None]
        if busy:
            self.cluster.chance.choice(busy).kill()

    def lose_host(self, host: int) -> None:
        """Kill all slots of a host; they do not come back."""
        self._lost.add(host)
        for slot, process in self._processes.items():
            if self.cluster.host_of(slot) == host:
                process.kill()


def _not_called(requests: Mapping[int, StageRequest], rows: Iterable[Row]) -> Iterator[Row]:
    raise AssertionError("simulated slots take their requests one by one")


class SimulatedPipeline(Pipeline):
    """A pipeline whose Spark is simulated: its JVM is never gone, and the real clock does not count."""

    retry_pause_s = 0.0

    def _jvm_is_gone(self) -> bool:
        return False


class SimulatedSpark:
    """Runs the tasks of a batch: some twice, some late, some again although they had succeeded."""

    def __init__(self, cluster: SimulatedJobCluster, deployment: Deployment, plan: StagePlan) -> None:
        self.lanes = Lanes.one_per_slot(plan.slots)
        self._cluster = cluster
        self._deployment = deployment
        self._slots = plan.slots
        self._level_of_gate = tuple(plan.level_of_gate)

    def __call__(self, stages: Sequence[Stage]) -> list[Row]:
        chance, faults = self._cluster.chance, self._cluster.faults
        outputs: list[list[list[Row]]] = []
        requests = [[self._request_of(stage, slot) for slot in range(self._slots)] for stage in stages]
        for stage in range(len(stages)):
            found: list[list[Row]] = [[] for _ in range(self._slots)]
            order = list(range(self._slots))
            chance.shuffle(order)
            for position, slot in enumerate(order):
                if stage and position and chance.random() < faults.lose_output:
                    # An executor is lost after some tasks have read what it had put out: its tasks run again, and the
                    # other tasks read what these put out.
                    lost = chance.randrange(self._slots)
                    earlier = replace(requests[stage - 1][lost], only_with_rows=False)
                    outputs[-1][lost] = self._run_task(lost, earlier, self._rows_for(outputs[:-1], stage - 1, lost))
                rows = self._rows_for(outputs, stage, slot)
                found[slot] = self._run_task(slot, requests[stage][slot], rows)
                if chance.random() < faults.late_copy:
                    late = self._start_copy(slot, requests[stage][slot], rows)[1]
                    self._cluster.scheduler.pause(late, chance.choice([5, 50, 500, 3000]))
            outputs.append(found)
        return [row for stage in outputs for rows in stage for row in rows if row[2] in (REPORT_GATE, IDLE_GATE)]

    def _request_of(self, stage: Stage, slot: int) -> StageRequest:
        return replace(stage.request_of(slot), deployment=self._deployment.name)

    def _rows_for(self, outputs: list[list[list[Row]]], stage: int, slot: int) -> list[tuple[int, int, bytes]]:
        level = self._level_of_gate
        return [
            (source, gate, payload)
            for of_stage in outputs
            for rows in of_stage
            for target, source, gate, payload in rows
            if gate >= 0 and level[gate] == stage and target == slot
        ]

    def _run_task(self, slot: int, request: StageRequest, rows: list[tuple[int, int, bytes]]) -> list[Row]:
        """Return the rows of the copy of a task that succeeds first, or the one that stands for an idle slot.

        Raises:
            TaskLostError: too many copies failed.
        """
        if request.only_with_rows and not rows:
            return [(slot, slot, IDLE_GATE, b"%d" % request.stage)]
        chance, faults = self._cluster.chance, self._cluster.faults
        leader = self._cluster.scheduler.current
        assert leader is not None
        for _ in range(TASK_TRIES):
            copies = [self._start_copy(slot, request, rows)[0]]
            while not all(copy.is_over for copy in copies):
                leader.step()
                if len(copies) == 1 and chance.random() < faults.copy:
                    copies.append(self._start_copy(slot, request, rows)[0])
                done = [copy for copy in copies if copy.rows is not None]
                if done and chance.random() < 0.7:  # Spark hears of it a little later.
                    break
            for copy in copies:
                if copy.rows is not None:
                    return copy.rows
        raise TaskLostError(f"slot {slot} at {request.at}")

    def _start_copy(self, slot: int, request: StageRequest, rows: list[tuple[int, int, bytes]]) -> tuple[Copy, Process]:
        copy = Copy()
        name = f"stage {request.stage} of slot {slot} at {request.at} for {self._deployment.name}"
        process = self._cluster.scheduler.start(name, lambda: self._serve(copy, slot, request, rows))
        return copy, process

    def _serve(self, copy: Copy, slot: int, request: StageRequest, rows: list[tuple[int, int, bytes]]) -> None:
        """Run a worker and the slot; the worker may be lost between any two rows."""
        me = self._cluster.scheduler.current
        assert me is not None
        try:
            while (process := self._deployment.process_of(slot)).serving is not None:
                me.step()
            process.serving = me
            found: list[Row] = []
            answer = process.server.serve(request, iter(rows))
            try:
                for row in answer:
                    if self._cluster.chance.random() < self._cluster.faults.lose_worker:
                        return
                    me.step()
                    found.append(row)
                copy.rows = found
            finally:
                answer.close()
                process.serving = None
        except MISTAKES:
            raise
        except Exception as error:
            self._cluster.log(f"{me.name}: {type(error).__name__}: {error}")
        finally:
            copy.is_over = True


class Leader:
    """A JobManager that leads the job, or thinks so: it runs the job again and again until it is over."""

    def __init__(self, cluster: SimulatedJobCluster, number: int) -> None:
        self.cluster = cluster
        self.number = number
        self.is_deposed = False
        self.deployment: Deployment | None = None
        self._janitors: list[SimulatedThreads] = []
        self.process = cluster.scheduler.start(f"leader {number}", self._lead)

    def kill(self) -> None:
        """End the process and its threads."""
        self.process.kill()
        for janitor in self._janitors:
            janitor.kill()

    def _lead(self) -> None:
        cluster = self.cluster
        job_graph = job_graph_of(cluster.job)
        if cluster.is_finished or self.is_deposed:
            return
        restore_job(job_graph, job_graph.configuration, cluster.directory, cluster.store)
        runs = 0
        while not cluster.is_finished and not self.is_deposed:
            runs += 1
            try:
                self._run(runs)
            except MISTAKES:
                raise
            except Exception as error:
                cluster.log(f"leader {self.number} restarts: {type(error).__name__}: {error}")
                self.process.step()
            else:
                cluster.log(f"leader {self.number} has finished the job")
                cluster.is_finished = True
                self._remove_job()

    def _remove_job(self) -> None:
        cluster = self.cluster
        remove_job_directory(cluster.directory)
        while isinstance(cluster.store, RemotePath):
            try:
                remove_job_directory(cluster.store)
            except OSError:
                self.process.step()
            else:
                return

    def _run(self, number: int) -> None:
        cluster = self.cluster
        data = cluster.job_of_run()
        job_graph = job_graph_of(data)
        plan = StagePlan(job_graph)
        self._committers = Committers(job_graph, job_graph.configuration)
        enumerator = SplitEnumerator(job_graph, job_graph.configuration, 3)
        job = JobCheckpoints(plan, job_graph.configuration, cluster.directory, cluster.store)
        checkpoints = Checkpoints(job, 0, self._commit, self._committers)
        if isinstance(checkpoints._janitor, SimulatedThreads):
            self._janitors.append(checkpoints._janitor)
        checkpoints.recover(enumerator)
        self.deployment = Deployment(cluster, f"leader-{self.number}-run-{number}", data)
        cluster.deployments.append(self.deployment)
        spark = SimulatedSpark(cluster, self.deployment, plan)
        pipeline = SimulatedPipeline(None, _not_called, plan, 0, str(cluster.directory), None)
        while not enumerator.has_ended:
            nothing_came = cluster.chance.random() < cluster.idle
            planned = enumerator.plan_nothing() if nothing_came else enumerator.plan(0)
            is_last = enumerator.has_ended
            if cluster.manual and cluster.chance.random() < cluster.manual:
                job.ask(Request(lambda _: None))
            asked = checkpoints.asked()
            waits = is_last or bool(asked)
            is_checkpoint = waits or (
                cluster.chance.random() < 0.6 and checkpoints.protocol.uploads.may_begin(float(cluster.seed.steps))
            )
            at = checkpoints.next_batch()
            cluster.log(f"leader {self.number} begins {at}")
            planned = replace(
                planned,
                is_checkpoint=is_checkpoint,
                to_store=checkpoints.to_store(),
                unstored=checkpoints.unstored() if is_checkpoint else {},
                waits_for_store=waits,
            )
            reports = pipeline.run_batch(at, planned, checkpoints.parents, lambda: False, spark)
            checkpoints.batch_ended(at.batch_id, reports)
            enumerator.batch_ended(reports)
            self.process.step()
            if is_checkpoint:
                checkpoints.prepare(enumerator, 0.0, asked)
            if checkpoints.protocol.part is not None:
                checkpoints.settle()
                cluster.log(f"leader {self.number} has completed a checkpoint after {at}")
                if cluster.rescales is not None and cluster.rescales.random() < _RESCALED:
                    raise RescaleError

    def _commit(self, committables: list[Committable]) -> None:
        carry_out(committables, _Nobody(self._committers))


class _Nobody:
    """The job prints and collects nothing."""

    def __init__(self, committers: Committers) -> None:
        self.committer = committers.committer

    def print(self, *_: Any) -> None:
        raise AssertionError

    def collect(self, *_: Any) -> None:
        raise AssertionError


@dataclass
class SimulatedJobCluster:
    """All that runs in a simulation.

    Attributes:
        job: The pickled job.
        directory: The job's directory on the host of the leader.
        store: The directory of the job's checkpoints: the same, or one in an object store.
        hosts: The number of hosts; each has a disk of its own if checkpoints are in an object store.
        is_finished: Whether the result of the job is in the store of job results.
        idle: The share of batches for which there is no input.
        manual: The share of batches during which somebody asks for a checkpoint.
        rescales: Chooses the parallelism of each run; None leaves it as it is.
    """

    scheduler: Scheduler
    faults: Faults
    job: bytes
    directory: Path
    store: AnyPath
    hosts: int = 1
    is_finished: bool = False
    idle: float = 0.15
    manual: float = 0.0
    rescales: random.Random | None = None
    leaders: list[Leader] = field(default_factory=list)
    deployments: list[Deployment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seed = self.scheduler.seed
        self.chance = self.seed.chance
        self.log = self.seed.log

    def job_of_run(self) -> bytes:
        """Return the pickled job with the parallelism of the next run."""
        if self.rescales is None:
            return self.job
        parallelism = self.rescales.choice((1, 2, 3))
        self.log(f"the parallelism is {parallelism}")
        return with_parallelism(self.job, parallelism)

    def host_of(self, slot: int) -> int:
        """Return the host of a slot; leaders are on host 0."""
        return slot % self.hosts

    def disk_of(self, slot: int) -> Path:
        """Return the job's directory on the host of a slot."""
        return self._disk(self.host_of(slot))

    def _disk(self, host: int) -> Path:
        return self.directory.parent.parent / f"host-{host}" / self.directory.name

    def elect(self) -> Leader:
        """Let a new JobManager lead; the one before may not know."""
        leader = Leader(self, len(self.leaders) + 1)
        self.leaders.append(leader)
        self.log(f"leader {leader.number} is elected")
        return leader

    def tell_deposed(self) -> None:
        """Let all but the last leader learn that they lead no longer: they begin no further run of the job."""
        for leader in self.leaders[:-1]:
            leader.is_deposed = True

    def befall(self) -> None:
        """Let something happen between two steps."""
        chance, faults = self.chance, self.faults
        leader = self.leaders[-1]
        for what, act in (
            ("kill_slot", self._kill_slot),
            ("pause", self._pause),
            ("kill_leader", partial(self._kill_leader, leader)),
            ("depose", partial(self._depose, leader)),
        ):
            if chance.random() < getattr(faults, what):
                act()
        if faults.lose_host and chance.random() < faults.lose_host:
            self._lose_host()
        if leader.process.is_over and not self.is_finished:
            self.elect()

    def _kill_slot(self) -> None:
        if self.deployments:
            self.log("a slot is killed")
            self.chance.choice(self.deployments[-2:]).kill_any()

    def _pause(self) -> None:
        alive = [process for process in self.scheduler.processes if not process.is_over]
        if alive:
            victim = self.chance.choice(alive)
            self.log(f"{victim.name} is paused")
            self.scheduler.pause(victim, self.chance.choice([10, 100, 1000, 4000]))

    def _kill_leader(self, leader: Leader) -> None:
        self.log(f"leader {leader.number} is killed")
        leader.kill()

    def _lose_host(self) -> None:
        """Kill all that runs on a host, and lose its disk."""
        host = self.chance.randrange(self.hosts)
        self.log(f"host {host} is lost")
        for deployment in self.deployments:
            deployment.lose_host(host)
        for leader in self.leaders if host == 0 else ():
            leader.kill()
        shutil.rmtree(self._disk(host), ignore_errors=True)

    def _depose(self, leader: Leader) -> None:
        """Let another one lead; the former learns it late, see `tell_deposed`."""
        if leader.process.is_over or self.is_finished:
            return
        self.log(f"leader {leader.number} is deposed")
        self.scheduler.pause(leader.process, self.chance.choice([0, 20, 300, 5000]))
        self.elect()
