"""The base of both kinds of runs: a thread that runs the pipeline and reports to the listener's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from firesteel.common.cancellation import let_cancel
from firesteel.operators.sinks.committers import Committers
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint, DataPlaneListener, QueryDescriptor, SubtaskProgress
from firesteel.runtime.logs import about
from firesteel.spark.cancellation_timeout import cancellation_timeout_s
from firesteel.spark.collect_buffers import CollectBuffers
from firesteel.spark.failures import failure_of_exit, failure_of_spark_error
from firesteel.spark.printed_texts import PrintedTexts
from firesteel.task.batch_plan import StageReport, SubtaskReport
from firesteel.task.stage_plan import StagePlan

logger = logging.getLogger(__name__)

_GRACE_S = 1.0
"""Time that a connector has to answer when its job ends."""


class Run:
    """A run of a job through Spark (implements `runtime.jobmaster.data_plane.RunningQuery`).

    Args:
        query: The query to run.
        options: The options that the job runs with: its own, and those inherited from the cluster.
        listener: Notified of progress on the event loop that creates the run.
        context: Returns the SparkContext; called in the run's thread, as it may wait for the JVM.
        collected: Receives the output of collecting sinks.
        printed: Receives what the job prints.
        directory: The job's checkpoint directory.
        pool: Number of the scheduler pool: runs that share a SparkContext have a pool each.
    """

    def __init__(
        self,
        query: QueryDescriptor,
        options: Mapping[str, str],
        listener: DataPlaneListener,
        context: Callable[[], Any],
        collected: CollectBuffers,
        printed: PrintedTexts,
        directory: Path,
        pool: int,
    ) -> None:
        self._query = query
        self._options = options
        self._listener = listener
        self._get_context = context
        self._collected = collected
        self._keep = partial(printed.add, query.job_id)
        self._directory = directory
        self.pool = pool
        self._plan = StagePlan(query.job_graph)
        self._committers = Committers(query.job_graph, options)
        self._group = f"{query.job_id}-{query.region}" if query.region else query.job_id
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._is_given_up = False
        self._is_asking = False
        self._ended = asyncio.Event()
        self._context: Any = None
        self._thread = threading.Thread(target=self._run, name=f"query-{query.job_id[:8]}", daemon=True)

    def begin(self) -> None:
        """Start the thread of the run."""
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the thread of the run is alive."""
        return self._thread.is_alive()

    async def stop(self, is_final: bool = False) -> None:
        """Stop the run and wait for its thread, for at most `task.cancellation.timeout`.

        After the timeout the thread is abandoned, so that a commit that never returns does not keep the job from
        ending. Flink ends the process of such a task; a thread can only be abandoned.

        Args:
            is_final: Whether no other run of the job follows in this process. Then a thread that waits for an answer of
                an external system about its input is abandoned after a second, as it has changed nothing there.
        """
        self._stopping.set()
        # A separate thread, because the loop's thread pool is already closed when the process is about to end.
        threading.Thread(target=self._interrupt_until_ended, name="interrupter", daemon=True).start()
        timeout_s = cancellation_timeout_s(self._options)
        try:
            await asyncio.wait_for(self._ended_or_only_asking() if is_final else self._ended.wait(), timeout_s)
        except TimeoutError:
            text = "the thread of job %s did not end within %g s; it is abandoned, and may still be committing"
            logger.error(text, self._query.job_id, timeout_s, extra=about(self._query.job_id))
        self._is_given_up = not self._ended.is_set()

    async def _ended_or_only_asking(self) -> None:
        """Wait until the thread has ended, but only a moment if it asks: it begins no other question by then."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _GRACE_S)
        if not self._is_asking:
            await self._ended.wait()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Mark that the thread asks connectors what there is to read, which changes nothing and may take long."""
        self._is_asking = True
        try:
            yield
        finally:
            self._is_asking = False

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        """Raise NotImplementedError, as BATCH jobs have no state to save."""
        raise NotImplementedError("a BATCH job has no checkpoints and supports no savepoints")

    async def trigger_checkpoint(self, full: bool, after: AfterSavepoint = AfterSavepoint.GO_ON) -> int:
        """Raise NotImplementedError, as BATCH jobs have no state to save."""
        raise NotImplementedError("a BATCH job has no checkpoints")

    def _collect(self, collect_id: str, elements: list[Any]) -> None:
        self._collected.put(collect_id, elements, self._stopping.is_set)

    def _interrupt_until_ended(self) -> None:
        """Interrupt Spark's jobs repeatedly, as a job that is only about to start can't be interrupted yet."""
        self._wake_up()
        # An abandoned thread is not interrupted, as another run of the job may have begun.
        while self._thread.is_alive() and not self._is_given_up:
            # Either error means that the JVM is gone because the process ends, so nothing needs to be interrupted.
            with contextlib.suppress(Py4JError, OSError):
                if self._context is not None:
                    self._context.cancelJobGroup(self._group)
            # A pause between interrupts, which ends with the thread.
            self._thread.join(0.5)
        self._tell(self._ended.set)

    def _wake_up(self) -> None:
        """Wake up the thread if it waits."""

    def _leave(self, has_failed: bool) -> None:
        """Release shared resources, as the last action of the thread."""

    def _prepare(self) -> None:
        """Do what needs no Spark, while its JVM may still be starting."""

    def _execute(self) -> None:
        """Run until the end of input or until `_stopping` is set."""
        raise NotImplementedError

    def _run(self) -> None:
        failure: TaskFailure | None = None
        let_cancel(self._stopping.is_set)
        try:
            self._prepare()
            self._context = self._get_context()
            self._context.setJobGroup(self._group, self._query.job_graph.name, interruptOnCancel=True)
            self._context.setLocalProperty("spark.scheduler.pool", f"job-{self.pool}")
            if not self._stopping.is_set():
                self._collected.begin(self._query.job_graph, self._directory)
                self._execute()
        except BaseException as error:  # Committers run here, and a sys.exit() in one must not go unnoticed.
            failure = _failure_of(error)
        # Before anybody is told: the next run of the region may begin as soon as they know.
        self._leave(failure is not None or self._stopping.is_set())
        self._committers.close()
        if self._stopping.is_set():
            return
        if failure is None:
            self._tell(self._listener.query_finished)
        else:
            self._tell(self._listener.query_failed, failure)

    def _tell(self, call: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            # The loop is closed, so nobody waits for the answer any more.
            self._stopping.set()

    def _planned(self, subtask: SubtaskReport) -> dict[str, float]:
        """Return metrics of a subtask that its slot does not know."""
        return {}

    def _progress_of(self, s: SubtaskReport) -> SubtaskProgress:
        metrics = s.metrics | self._planned(s)
        return SubtaskProgress(s.vertex_id, s.subtask_index, s.records_in, s.records_out, s.has_ended, metrics)

    def _tell_progress(self, reports: list[StageReport]) -> None:
        progress = [self._progress_of(subtask) for report in reports for subtask in report.subtasks]
        self._tell(self._listener.subtasks_progressed, progress)


def _failure_of(error: BaseException) -> TaskFailure:
    details = "".join(traceback.format_exception(error))
    return failure_of_spark_error(error, details) if isinstance(error, Exception) else failure_of_exit(error, details)
