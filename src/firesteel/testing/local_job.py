"""Execution of a whole job in this process, without Spark: the code of the slots, run stage by stage."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from firesteel.common.checks import require
from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.common.trust import pickling
from firesteel.connectors.files.committer import FinishedPart
from firesteel.connectors.files.writer import FileWriter
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.coordinator.stored_checkpoints import restore_job
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.errors import TranslationError
from firesteel.functions.connector_base import Committer
from firesteel.functions.operator_builder import configuration_of
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import set_parallelism
from firesteel.graph.stream_graph import StreamGraph
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.exchange.buffers import first_values
from firesteel.operators.sinks.committables import Committable, SinkCommittables, carry_out, remove_files
from firesteel.operators.sinks.committers import Committers
from firesteel.operators.sinks.sinks import SinkWriterRunner
from firesteel.task.batch_plan import BatchPlan, StageReport, SubtaskReport
from firesteel.task.protocol import REPORT_GATE, Row
from firesteel.task.restored_state import read_restored_state
from firesteel.task.slot_tasks import SlotTasks
from firesteel.task.stage_plan import StagePlan
from firesteel.task.version_store import VersionStore, region_directory, versions_of
from firesteel.task.versions import BatchTry
from firesteel.testing.manual_clock import ManualClock

_EVERYTHING = 1 << 60


@dataclass(frozen=True, slots=True)
class Fault:
    """A simulated failure: the slot dies after a number of output rows, and the batch is retried.

    Attributes:
        batch: Number of the batch.
        stage: Number of the stage.
        slot: Number of the slot.
        after_rows: Number of output rows before the failure.

    Example:
        >>> _ = env.from_collection([1, 2, 3], Types.INT()).map(lambda n: n * 10, Types.INT()).collect_async()
        >>> run_local(env, faults=[Fault(batch=0, stage=0, slot=0, after_rows=1)]).elements
        [10, 20, 30]
    """

    batch: int
    stage: int
    slot: int
    after_rows: int = 0


@dataclass(slots=True)
class LocalResult:
    """The result of a local run.

    Attributes:
        lines: Lines written by print sinks.
        collected: Elements of collecting sinks, by collect id.
        files: Committed part files, in order.
        subtasks: The last report of each subtask, by (vertex name, subtask).
        batches: Number of batches.
        stages: Number of stages of the job.
        savepoint: Directory of the savepoint, if one was taken.
        missed_faults: Faults that never happened, because the job had fewer batches, stages or slots.

    Example:
        >>> _ = env.from_collection([1, 2, 3], Types.INT()).print()
        >>> result = run_local(env)
        >>> result.lines, result.stages
        (['1', '2', '3'], 1)
    """

    lines: list[str] = field(default_factory=list)
    collected: dict[str, list[Any]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    subtasks: dict[tuple[str, int], SubtaskReport] = field(default_factory=dict)
    batches: int = 0
    stages: int = 0
    savepoint: Path | None = None
    missed_faults: list[Fault] = field(default_factory=list)

    @property
    def elements(self) -> list[Any]:
        """The elements of all collecting sinks."""
        return [element for elements in self.collected.values() for element in elements]


def run_local(
    program: StreamExecutionEnvironment | StreamGraph | JobGraph,
    *,
    default_parallelism: int = 2,
    batch_elements: int | None = None,
    faults: Collection[Fault] = (),
    replayed: Collection[int] = (),
    checkpoint: Path | None = None,
    clock: ManualClock | None = None,
    clock_step_ms: int = 0,
    batches: int | None = None,
    savepoint: Path | None = None,
) -> LocalResult:
    """Run a program with bounded sources to its end, or with any sources for a number of batches.

    Args:
        program: An environment with a program, or its StreamGraph or JobGraph.
        default_parallelism: Parallelism of BATCH vertices that leave it to the scheduler.
        batch_elements: Number of elements that a batch reads per subtask of a source (STREAMING only); None reads all
            in one batch.
        faults: Failures to simulate, at most one per batch, stage and slot.
        replayed: Batches to run again in new slots before their checkpoint is completed, and to commit again
            afterwards, as after a failure. Only the last run counts.
        checkpoint: Directory of the job's checkpoints; None uses a temporary one. If it contains checkpoints, the job
            restores the last one.
        clock: The processing time while the job runs; None uses the machine's clock.
        clock_step_ms: Milliseconds by which the clock advances after each batch.
        batches: Number of batches after which the job is killed (STREAMING only); None runs it to its end.
        savepoint: Directory of a savepoint that is taken after the last batch (STREAMING only).

    Raises:
        UserFunctionError: user code raised an error.
        TranslationError: a source is unbounded, and `batches` is not set.
        ValueError: an argument would have no effect.
        StateRestoreError: the state at `execution.state-recovery.path` does not fit the program.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> _ = env.from_collection([1, 2]).map(lambda n: n * 10).collect_async()
        >>> sorted(run_local(env).elements)
        [10, 20]
    """
    job_graph = _job_graph_of(program)
    if job_graph.job_type == "BATCH" and (batches is not None or savepoint is not None):
        raise ValueError("a BATCH job has neither batches nor savepoints")
    if clock_step_ms and clock is None:
        raise ValueError("clock_step_ms needs a clock")
    set_parallelism(job_graph, default_parallelism)
    parent = made_directory(temporary_directory(job_graph.configuration))
    with (
        clock or nullcontext(),
        tempfile.TemporaryDirectory(prefix="firesteel-", dir=parent) as temporary,
        closing(_LocalJob(job_graph, checkpoint or Path(temporary), faults, batch_elements, clock)) as job,
    ):
        if batches is None and (endless := SplitEnumerator(job_graph, job_graph.configuration).endless):
            raise TranslationError(f"source {endless[0]!r} is unbounded: a local run needs bounded sources, or batches")
        if job_graph.job_type == "BATCH":
            with closing(SplitEnumerator(job_graph, job_graph.configuration)) as enumerator:
                job.run_batch(enumerator.plan_all())
            return job.result
        job.recover()
        while not job.has_ended and (batches is None or job.result.batches < batches):
            job.run_next_batch(replayed)
            job.wait(clock_step_ms)
        if savepoint is not None:
            job.take_savepoint(savepoint)
        return job.result


def _job_graph_of(program: StreamExecutionEnvironment | StreamGraph | JobGraph) -> JobGraph:
    if isinstance(program, JobGraph):
        return program
    if isinstance(program, StreamGraph):
        return program.get_job_graph()
    require(program, StreamExecutionEnvironment, "run_local()")
    job_graph = program.get_stream_graph().get_job_graph()
    job_graph.configuration = {**configuration_of(program).to_dict(), **job_graph.configuration}
    return job_graph


class _SlotDiedError(Exception):
    """A slot died because of a fault: the batch has to be retried."""


class _LocalRegion:
    """A pipelined region of the job: its source splits and its part of the checkpoints."""

    def __init__(
        self,
        job: JobCheckpoints,
        number: int,
        elements: int,
        commit: Callable[[list[Committable]], None],
        committers: Committers,
    ) -> None:
        self.number = number
        self.enumerator = SplitEnumerator(job.plan.job_graph, job.plan.job_graph.configuration, elements, region=number)
        self.checkpoints = Checkpoints(job, number, commit, committers)

    def prepare(self) -> None:
        self.checkpoints.prepare(self.enumerator, 0.0)


class _LocalJob:
    """The slots of one job."""

    def __init__(
        self,
        job_graph: JobGraph,
        checkpoint: Path,
        faults: Collection[Fault],
        batch_elements: int | None,
        clock: ManualClock | None = None,
    ) -> None:
        self._options = options = job_graph.configuration
        restore_job(job_graph, options, checkpoint)
        self._job = pickling.dumps(job_graph)
        self._plan = StagePlan(job_graph)
        self._committers = Committers(job_graph, options)
        self._names = {vertex.id: vertex.name for vertex in job_graph.vertices}
        self._keeps_versions = job_graph.job_type != "BATCH"
        self._checkpoint = checkpoint
        self._clock = clock
        self._faults = {(fault.batch, fault.stage, fault.slot): fault.after_rows for fault in faults}
        self._slots: dict[tuple[int, int], SlotTasks] = {}
        self.result = LocalResult(stages=self._plan.levels, missed_faults=list(faults))
        self._checkpoints = JobCheckpoints(self._plan, options, checkpoint)
        elements = _EVERYTHING if batch_elements is None else batch_elements
        self._regions = [
            _LocalRegion(self._checkpoints, number, elements, self._commit, self._committers)
            for number in range(len(self._plan.stages))
        ]

    @property
    def has_ended(self) -> bool:
        """Whether all input was processed."""
        return all(region.enumerator.has_ended for region in self._regions)

    def recover(self) -> None:
        """Restore the last checkpoint, or the one that the configuration names."""
        for region in self._regions:
            region.checkpoints.recover(region.enumerator)

    def run_next_batch(self, replayed: Collection[int]) -> None:
        """Run the next batch of each region; run and commit a replayed batch twice."""
        self._run_regions(lambda enumerator: enumerator.plan(now_ms()), replayed)
        self.result.batches += 1

    def wait(self, step_ms: int) -> None:
        """Advance the clock, if there is one, as if the job waited for input."""
        if self._clock is not None:
            self._clock.advance(step_ms)
            for region in self._regions:
                region.enumerator.waited(step_ms / 1000, at_most_s=step_ms / 1000)

    def _run_regions(self, plan_of: Callable[[SplitEnumerator], BatchPlan], replayed: Collection[int] = ()) -> None:
        """Run a batch of each region and take a checkpoint."""
        for region in self._regions:
            self._run_region(region, plan_of(region.enumerator), replayed)
            region.prepare()
        for region in self._regions:
            region.checkpoints.settle()

    def _run_region(self, region: _LocalRegion, plan: BatchPlan, replayed: Collection[int]) -> None:
        at = region.checkpoints.next_batch()
        reports = self._try_until_done(region, at, plan)
        if at.batch_id in replayed:
            self._kill_slots()
            reports = self._try_until_done(region, replace(at, number=reports[0].try_number + 1), plan)
        region.checkpoints.batch_ended(at.batch_id, reports)
        region.enumerator.batch_ended(reports)
        if at.batch_id in replayed:
            carry_out((c for report in reports for c in report.committables if c.is_durable), self)

    def take_savepoint(self, parent: Path) -> None:
        """Take a savepoint after one more batch, in which sinks finish their pending work."""
        if not self.has_ended:
            self._run_regions(lambda _: BatchPlan(is_savepoint=True))
        self.result.savepoint = Path(self._checkpoints.write_savepoint(parent).external_path)

    def run_batch(self, batch: BatchPlan) -> None:
        """Run one batch through all stages, then commit it."""
        versions_of(self._checkpoint, 1).mkdir(parents=True, exist_ok=True)
        reports = self._try_until_done(self._regions[0], BatchTry(1, 0), batch)
        committables = [committable for report in reports for committable in report.committables]
        self._commit(committables)
        remove_files(committables)

    def _kill_slots(self) -> None:
        for slot in list(self._slots):
            _close_files(self._slots.pop(slot))

    def _try_until_done(self, region: _LocalRegion, at: BatchTry, batch: BatchPlan) -> list[StageReport]:
        """Run all stages of a batch; retry it when a slot died."""
        while True:
            try:
                return self._run_stages(region, at, batch)
            except _SlotDiedError:
                at = replace(at, number=at.number + 1)
                if not self._keeps_versions:  # BATCH: no task outlives an attempt.
                    self._kill_slots()

    def _commit(self, committables: list[Committable]) -> None:
        carry_out(committables, self)
        self.result.files += _files_of(committables)

    def _run_stages(self, region: _LocalRegion, at: BatchTry, batch: BatchPlan) -> list[StageReport]:
        reports: list[StageReport] = []
        waiting: list[Row] = []
        for stage in self._plan.stages[region.number]:
            here = [row for row in waiting if self._plan.level_of_gate[row[2]] == stage]
            waiting = [row for row in waiting if self._plan.level_of_gate[row[2]] != stage]
            for slot in self._plan.slots_of(region.number):
                rows = [(source, gate, payload) for target, source, gate, payload in here if target == slot]
                for row in self._run_slot(region, stage, slot, at, batch, rows):
                    if row[2] == REPORT_GATE:
                        reports += first_values(row[3])
                    else:
                        waiting.append(row)
        assert not waiting, "rows for stages that do not exist"
        for report in reports:
            self.result.subtasks.update({(self._names[s.vertex_id], s.subtask_index): s for s in report.subtasks})
        return reports

    def _run_slot(
        self,
        region: _LocalRegion,
        stage: int,
        slot: int,
        at: BatchTry,
        batch: BatchPlan,
        rows: list[tuple[int, int, bytes]],
    ) -> list[Row]:
        """Return the output rows of one slot and stage.

        Raises:
            _SlotDiedError: a fault was due.
        """
        after = self._faults.pop((at.batch_id, stage, slot), None)
        parent = region.checkpoints.parents(stage)[slot] if self._keeps_versions else ()
        running = self._tasks(region.number, slot).run_stage(stage, at, parent, batch, iter(rows))
        if after is None:
            return list(running)
        _take(running, after)
        running.close()
        _close_files(self._slots.pop((region.number, slot)))
        self.result.missed_faults = [Fault(*place, rows) for place, rows in self._faults.items()]
        raise _SlotDiedError

    def _tasks(self, region: int, slot: int) -> SlotTasks:
        if (region, slot) not in self._slots:
            store = VersionStore(self._checkpoint, slot, region) if self._keeps_versions else None
            restored = partial(read_restored_state, self._checkpoint)
            directory = region_directory(self._checkpoint, region)
            self._slots[region, slot] = SlotTasks(self._job, self._options, slot, 0, store, restored, directory)
        return self._slots[region, slot]

    def committer(self, sink_id: str) -> Committer:
        """Return the committer of a sink."""
        return self._committers.committer(sink_id)

    def print(self, text: str) -> None:
        """Store the lines of print sinks."""
        self.result.lines += text.splitlines()

    def collect(self, collect_id: str, elements: list[Any]) -> None:
        """Store the elements of collecting sinks."""
        self.result.collected.setdefault(collect_id, []).extend(elements)

    def close(self) -> None:
        """Close all tasks, enumerators and committers."""
        for tasks in self._slots.values():
            tasks.close()
        for region in self._regions:
            region.enumerator.close()
        self._committers.close()


def _take(rows: Iterator[Row], count: int) -> None:
    """Advance the iterator by `count` rows, or to its end."""
    for _ in range(count):
        if next(rows, None) is None:
            return


def _files_of(committables: list[Committable]) -> list[str]:
    requests = [request for c in committables if isinstance(c, SinkCommittables) for request in c.requests]
    return [request.committable.final for request in requests if isinstance(request.committable, FinishedPart)]


def _close_files(tasks: SlotTasks) -> None:
    """Close the open files of a slot, as the operating system does when a process is killed."""
    for stage in tasks.stages.values():
        for subtask in stage.values():
            for _, operator in subtask.operators:
                if isinstance(operator, SinkWriterRunner) and isinstance(operator.writer, FileWriter):
                    operator.close()
