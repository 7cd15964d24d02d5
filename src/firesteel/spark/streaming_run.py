"""A pipelined region of a STREAMING job: a sequence of small Spark jobs, each over the input that has arrived.

Why: `docs/decisions/0011-a-spark-job-per-batch.md`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

from firesteel.common.files.file_systems import Files
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.checkpointing_options import CHECKPOINTING_INTERVAL
from firesteel.coordinator.checkpoint_messages import Answer, Request
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.region_checkpoints import Step
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.errors import FiresteelError
from firesteel.operators.chain.clock import SteadyClock
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.runtime.jobmaster.job_activity import BatchStats
from firesteel.runtime.thread_pools import JOBS
from firesteel.spark.batch_parts import BatchParts
from firesteel.spark.batch_spacing import BatchSpacing
from firesteel.spark.commits import commit
from firesteel.spark.gateway import CORES
from firesteel.spark.lane_jobs import LaneJobs, RunStages
from firesteel.spark.lanes import Lanes
from firesteel.spark.pipeline import Pipeline
from firesteel.spark.remote_slots import RemoteSlots
from firesteel.spark.run import Run
from firesteel.spark.small_batches import small_batches
from firesteel.task.batch_plan import BatchPlan, StageReport, SubtaskReport
from firesteel.task.protocol import deployment_of
from firesteel.task.slot_address import SlotAddress

_LEAD_S = 0.03
"""Time in seconds from the call of Spark until its task of a small batch asks for work, on two busy cores."""


class StreamingRun(Run):
    """A run that processes batches until all input is read, and takes checkpoints.

    A batch starts as soon as there is work to do and `BatchSpacing` allows it. After each batch, every slot has a
    version of its state to which a lost slot returns. Every `execution.checkpointing.interval` (without the option:
    after each batch), or on request, a checkpoint is taken and prepared sink output is committed. If no more input
    arrives, an empty batch runs for the last checkpoint.
    """

    def __init__(self, *args: Any, checkpoints: JobCheckpoints, tls: InternalTls | None) -> None:
        super().__init__(*args)
        self._tls = tls
        configuration = self._options
        self._named = Files(configuration)
        interval_s = CHECKPOINTING_INTERVAL.of(configuration)
        self._spacing = BatchSpacing(configuration)
        self._wake = threading.Event()
        self._region = self._query.region
        self._enumerator = SplitEnumerator(
            self._query.job_graph, configuration, checkpoint_interval_s=interval_s, region=self._region
        )
        self._job = checkpoints
        notify = self._wake_up, self._checkpoint_taken
        self._checkpoints = Checkpoints(
            checkpoints, self._region, self._commit, self._committers, *notify, interval_s, self._checkpoints_progressed
        )
        self._protocol = self._checkpoints.protocol
        self._clock = SteadyClock()
        self._is_idle = False
        self._follows: RunStages | None = None
        self._was_idle = False
        self._parts = BatchParts()
        self._last_reports: list[StageReport] = []

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        """Take a savepoint of the whole job, each region between two of its batches, and return its path.

        Raises:
            FiresteelError: it could not be written, or the job ended before.
        """
        return str(await self._ask(savepoint_parent=self._named.path(self._named.resolve(directory)), after=after))

    async def trigger_checkpoint(self, full: bool, after: AfterSavepoint = AfterSavepoint.GO_ON) -> int:
        """Take a checkpoint after the next batches, which are empty if there is no input, and return its id.

        Raises:
            FiresteelError: the job ended before.
        """
        return int(await self._ask(full=full, after=after))

    async def _ask(self, **wishes: Any) -> str | int:
        future: asyncio.Future[str | int] = self._loop.create_future()
        request = Request(lambda answer: self._tell(_answer, future, answer), **wishes)
        await JOBS.run(self._job.ask, request)
        return await future

    def _wake_up(self) -> None:
        self._wake.set()

    def _commit(self, committables: list[Any]) -> None:
        commit(committables, self._collect, self._committers, self._keep)

    def _cores(self) -> int:
        """Return the number of cores of an executor; a Spark session created by the program may not set it."""
        return int(self._context.getConf().get(CORES) or self._context.defaultParallelism)

    def _execute(self) -> None:
        restored = self._checkpoints.recover(self._enumerator)
        slots = self._slots()
        large = LaneJobs(self._context, Lanes.of(slots.addresses, self._cores()), fuses=True)
        with small_batches(self._context, slots.addresses) as small:
            pipeline = Pipeline(
                self._context,
                slots,
                self._plan,
                self._region,
                str(self._directory),
                temporary_directory(self._options),
            )
            if restored is not None:
                self._tell(self._listener.checkpoint_restored, restored)
            while (plan := self._next_plan(small)) is not None:
                jobs = small if self._enumerator.is_small else large
                if jobs is large:
                    small.stand_down()
                self._run_batch(pipeline, plan, jobs)
        # The job ends when its last subtask is reported as ended, so its output must be committed before.
        if not self._stopping.is_set():
            self._tell_progress(self._last_reports)

    def _leave(self, has_failed: bool) -> None:
        self._checkpoints.end(has_failed)
        self._enumerator.close()

    def _checkpoint_taken(self, stats: CheckpointStats) -> None:
        self._tell(self._listener.checkpoint_completed, stats)

    def _checkpoints_progressed(self, in_progress: int, failed: int) -> None:
        self._tell(self._listener.checkpoints_progressed, in_progress, failed)

    def _run_batch(self, pipeline: Pipeline, plan: BatchPlan, jobs: RunStages) -> None:
        self._spacing.begin()
        asked = self._protocol.asked
        is_last = bool(asked) or self._enumerator.has_ended
        is_checkpoint = is_last or self._protocol.is_due(self._spacing.begun_s, self._enumerator.expected_s)
        plan = replace(
            plan,
            now_ms=self._clock.now_ms(),
            is_checkpoint=is_checkpoint,
            to_store=self._checkpoints.to_store(),
            unstored=self._checkpoints.unstored() if is_checkpoint else {},
            waits_for_store=is_last,
            in_full=any(request.full for request in asked),
            is_savepoint=any(request.is_savepoint for request in asked),
        )
        at = self._checkpoints.next_batch()
        self._parts.planned()
        reports = pipeline.run_batch(at, plan, self._checkpoints.parents, self._stopping.is_set, jobs)
        self._parts.processed()
        # A task that waits has one of Spark's threads, so none is started where the next batch may be far away.
        self._follows = jobs if plan.ranges and not (is_last or self._was_idle) else None
        self._get_ready()
        self._checkpoints.batch_ended(at.batch_id, reports)
        self._enumerator.batch_ended(reports)
        has_more = any(report.awaits_checkpoint for report in reports)
        self._protocol.processed(plan.is_checkpoint, self._is_idle, has_more)
        if plan.is_checkpoint:
            # At the end sinks have finished everything, which also satisfies pending requests for savepoints.
            covers = self._checkpoints.asked() if self._enumerator.has_ended else asked
            self._checkpoints.prepare(self._enumerator, self._spacing.begun_s, covers)
            self._checkpoints.settle()
        took_s = self._spacing.end()
        tries = reports[0].try_number
        begun_ms = self._clock.now_ms() - round(took_s * 1000)
        batch = BatchStats(self._region, at.batch_id, begun_ms, round(took_s * 1000), is_checkpoint, tries)
        self._tell(self._listener.batch_processed, batch)
        times = self._parts.ended(reports)
        self._enumerator.batch_took(took_s, times.busy_s, is_first_try=tries == 1)
        self._tell(self._listener.batch_ended, times)
        if self._enumerator.has_ended:
            self._last_reports = reports
        else:
            self._tell_progress(reports)

    def _planned(self, subtask: SubtaskReport) -> dict[str, float]:
        return self._enumerator.metrics_of(subtask)

    def _get_ready(self) -> None:
        """Let Spark start what runs the next batch if that is about to begin, as long as batches follow each other."""
        if self._follows is not None and self._spacing.rest_s() <= _LEAD_S:
            self._follows.expect()
            self._follows = None

    def _next_plan(self, small: RunStages) -> BatchPlan | None:
        """Wait until there is work to do, and return the next batch; None if the run is being stopped."""
        self._was_idle = False
        while not self._stopping.is_set():
            # Before anything is looked at, so that what comes meanwhile ends the wait below.
            self._wake.clear()
            # Anew in each turn, or the wait for input would count as planning.
            self._parts.begin()
            self._checkpoints.settle()
            wait_s: float | None = None
            match self._protocol.next_step(self._enumerator.has_ended):
                case Step.FINISH:
                    return None
                case Step.RESTART:
                    raise FiresteelError("its sources were ended for a savepoint, which could not be taken")
                case Step.DRAIN:
                    return self._enumerator.plan_end()
                case Step.TAKE_NOTHING:
                    return self._enumerator.plan_nothing()
                case Step.GO_ON:
                    plan, wait_s = self._plan_or_wait()
                    if plan is not None:
                        return None if self._stopping.is_set() else plan
                    if self._is_idle:
                        self._was_idle = True
                        small.stand_down()
            begun_s = time.monotonic()
            self._wake.wait(wait_s)
            self._enumerator.waited(time.monotonic() - begun_s, at_most_s=wait_s or 0.0)
        return None

    def _plan_or_wait(self) -> tuple[BatchPlan | None, float]:
        """Return the next batch, or None and the time in seconds until there may be work to do.

        While files are being uploaded to a remote store, batches poll the uploads even if there is nothing to read.
        """
        wait_s = self._spacing.rest_s()
        if wait_s > 0:
            self._get_ready()
            # Back that much earlier, to start the next batch's task.
            return None, wait_s if self._follows is None else wait_s - _LEAD_S
        now = self._clock.now_ms()
        with self._asking():
            plan = self._enumerator.plan(now)
        due = self._checkpoints.next_time
        checkpoint_in_s = self._protocol.due_in_s(time.monotonic())
        is_wanted = checkpoint_in_s <= 0 or self._protocol.is_wanted
        has_work = plan.ranges or plan.ended or plan.idle
        self._is_idle = not (has_work or is_wanted or (due is not None and due <= now))
        if not self._is_idle or self._protocol.uploads.is_busy:
            return plan, 0.0
        wait_s = min(self._enumerator.pause_s(now), checkpoint_in_s)
        if due is not None:
            wait_s = min(wait_s, (due - now) / 1000)
        # A due time that has just passed must not make this a busy loop.
        return None, max(wait_s, 0.001)

    def _slots(self) -> RemoteSlots:
        """Return the slots' addresses and deployments."""
        addresses, deployments = {}, {}
        for subtask in self._query.subtasks:
            addresses[subtask.slot] = str(SlotAddress.parse(subtask.address).of_region(self._region))
            deployments[subtask.slot] = deployment_of(subtask.execution_attempt_id)
        return RemoteSlots(addresses, deployments, self._tls)


def _answer(future: asyncio.Future[str | int], answer: Answer) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
