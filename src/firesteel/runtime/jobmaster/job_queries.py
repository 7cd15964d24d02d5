"""The queries of a job: one per region that runs, with their progress, checkpoints and savepoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firesteel.common.options.checkpointing_options import CHECKPOINTING_SAVEPOINT_DIR
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStatsTracker
from firesteel.runtime.executiongraph.batch_times import NO_BATCHES, BatchTimes
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.executiongraph.task_metrics import held_up_ms
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint, DataPlane, SubtaskProgress
from firesteel.runtime.jobmaster.job_activity import JobActivity
from firesteel.runtime.jobmaster.job_master_gateway import CheckpointError, SavepointError
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.query import QueryRun, query_descriptor
from firesteel.runtime.scheduler.actions import StartQuery, StopQuery

__all__ = ["JobQueries"]

_ENDING = frozenset({JobStatus.CANCELLING, JobStatus.FAILING})


class JobQueries:
    """The execution of `StartQuery` and `StopQuery`, with the results reported to the Scheduler.

    Events of a run that the Scheduler has left have no effect.

    Args:
        session: The job and its leader session.
        parts: The Scheduler and the graph.
        data_plane: Runs the queries.
        activity: Told of checkpoints and batches.
        on_started: Called when a query is started.

    Attributes:
        checkpoints: Records each checkpoint.
        batches: The batches of each region so far, with the time that they took.
    """

    def __init__(
        self,
        session: JobSession,
        parts: JobParts,
        data_plane: DataPlane,
        activity: JobActivity,
        on_started: Callable[[], object],
    ) -> None:
        self._endpoint = session.endpoint
        self._job_id = session.job_id
        self._perform = session.perform
        self._parts = parts
        self._data_plane = data_plane
        self._activity = activity
        self._on_started = on_started
        self._runs: dict[int, QueryRun] = {}
        self.checkpoints = CheckpointStatsTracker()
        self.batches: dict[int, BatchTimes] = {}

    def start(self, action: StartQuery) -> None:
        """Start the query of a region."""
        numbering = self._parts.scheduler.numbering
        assert numbering is not None, "a query goes through numbered slots"
        self._runs[action.region] = QueryRun(
            self._endpoint,
            self._progressed,
            self._batch_ended,
            self.checkpoints,
            self._activity,
            self._finished,
            self._failed,
            self._data_plane,
            query_descriptor(self._parts.graph, numbering, action.region, action.run),
        )
        self._on_started()

    def stop(self, action: StopQuery) -> None:
        """Stop the query of a region."""
        query = self._runs.pop(action.region, None)
        if query is not None:
            self._endpoint.spawn(self._stop(query, action), "stopping the query")

    async def _stop(self, query: QueryRun, action: StopQuery) -> None:
        await query.stop(self._is_ending())
        self._perform(self._parts.scheduler.query_stopped(action.region, action.run))

    def _is_ending(self) -> bool:
        """Return whether the job will not run again."""
        status = self._parts.graph.status
        return status in _ENDING or status.is_globally_terminal

    async def stop_all(self) -> None:
        """Stop all queries and wait until nothing of them runs."""
        for query in list(self._runs.values()):
            await query.stop(self._is_ending())

    def _finished(self, region: int, run: int) -> None:
        if self._parts.scheduler.is_at(region, run):
            self._runs.pop(region, None)
            self._perform(self._parts.scheduler.query_finished(region, run))

    def _failed(self, region: int, run: int, failure: TaskFailure) -> None:
        self._perform(self._parts.scheduler.query_failed(region, run, failure))

    def _progressed(self, region: int, run: int, progress: Sequence[SubtaskProgress]) -> None:
        if not self._parts.scheduler.is_at(region, run):
            return
        vertices = self._parts.graph.job_vertices
        executions = [vertices[report.vertex_id].vertices[report.subtask_index].current for report in progress]
        held_up = held_up_ms(
            [(one.metrics.busy_ms, report.metrics) for one, report in zip(executions, progress, strict=True)]
        )
        for report, execution, waited_ms in zip(progress, executions, held_up, strict=True):
            execution.progressed(report.records_in, report.records_out)
            if report.metrics:
                execution.measured(report.metrics, self._endpoint.clock.now_ms(), waited_ms)
            if report.finished:
                self._perform(self._parts.scheduler.subtask_finished(report.vertex_id, report.subtask_index))

    def _batch_ended(self, region: int, times: BatchTimes) -> None:
        self.batches[region] = self.batches.get(region, NO_BATCHES) + times

    async def trigger_savepoint(self, directory: str | None, after: AfterSavepoint) -> str:
        """Take a savepoint and return its path.

        Raises:
            SavepointError: it could not be taken; the job continues.
        """
        try:
            if directory is None:
                raise ValueError(f"no directory is given, and {CHECKPOINTING_SAVEPOINT_DIR} is not set")
            return await self._any("savepoints").trigger_savepoint(directory, after)
        except Exception as error:
            raise SavepointError(self._job_id, directory, str(error)) from error

    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint, full or incremental, and return its id.

        Raises:
            CheckpointError: it could not be taken.
        """
        try:
            if self._parts.graph.job_graph.job_type == "BATCH":
                raise ValueError("it is not a streaming job, and has no checkpoints")
            return await self._any("checkpoints").trigger_checkpoint(full)
        except Exception as error:
            raise CheckpointError(self._job_id, str(error)) from error

    async def hold(self) -> None:
        """Take a checkpoint, after which no query processes anything until it is stopped.

        Another one comes first, during which the queries go on: they stand still only until what has changed since
        then is stored.

        Raises:
            Exception: one of them could not be taken.
        """
        for after in (AfterSavepoint.GO_ON, AfterSavepoint.HOLD):
            await self._any("checkpoints").trigger_checkpoint(full=False, after=after)

    def _any(self, what: str) -> QueryRun:
        """Return one of the queries, which take checkpoints and savepoints together.

        Raises:
            RuntimeError: the job is not fully running.
        """
        status = self._parts.graph.status
        if status is not JobStatus.RUNNING or not self._runs:
            raise RuntimeError(f"the job is {status.name}, and has no query that takes {what}")
        return next(iter(self._runs.values()))
