"""The query of one run of a region, from its start until it has stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from firesteel.graph.regions import regions_of
from firesteel.runtime.checkpoint.checkpoint_stats import (
    CheckpointStats,
    CheckpointStatsTracker,
    RestoredCheckpoint,
)
from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import (
    AfterSavepoint,
    DataPlane,
    QueryDescriptor,
    RunningQuery,
    SubtaskLocation,
    SubtaskProgress,
)
from firesteel.runtime.jobmaster.job_activity import BatchStats, JobActivity
from firesteel.runtime.logs import about
from firesteel.runtime.rpc import RpcEndpoint
from firesteel.runtime.scheduler.slot_sharing_strategy import SlotNumbering

__all__ = ["QueryRun", "query_descriptor"]

logger = logging.getLogger(__name__)


def query_descriptor(graph: ExecutionGraph, numbering: SlotNumbering, region: int, run: int) -> QueryDescriptor:
    """Return the descriptor of a deployed region for the data plane."""
    region_of = regions_of(graph.job_graph)
    return QueryDescriptor(
        job_id=graph.job_id,
        job_graph=graph.job_graph,
        region=region,
        attempt=run,
        slots=numbering.slots,
        subtasks=tuple(
            SubtaskLocation(
                vertex.job_vertex.id,
                vertex.subtask_index,
                numbering.slot_of(vertex.job_vertex.id, vertex.subtask_index),
                vertex.current.address,
                vertex.current.attempt_id,
            )
            for vertex in graph.vertices
            if region_of[vertex.job_vertex.id] == region
        ),
    )


class QueryRun:
    """The query of one region, which forwards events of the data plane with the numbers of region and run.

    Args:
        endpoint: The JobMaster, whose main thread runs everything.
        on_progress: Called with new totals.
        on_batch: Called with the times of each batch.
        checkpoints: Records each checkpoint.
        activity: Told of checkpoints and batches.
        on_finished: Called when all input is processed.
        on_failed: Called with the failure that ended the query.
        data_plane: Runs the query; it is started at once.
        query: The query to run.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        on_progress: Callable[[int, int, Sequence[SubtaskProgress]], object],
        on_batch: Callable[[int, BatchTimes], object],
        checkpoints: CheckpointStatsTracker,
        activity: JobActivity,
        on_finished: Callable[[int, int], object],
        on_failed: Callable[[int, int, TaskFailure], object],
        data_plane: DataPlane,
        query: QueryDescriptor,
    ) -> None:
        self._region = query.region
        self._run = query.attempt
        self._job_id = query.job_id
        self._endpoint = endpoint
        self._on_progress = on_progress
        self._on_batch = on_batch
        self._checkpoints = checkpoints
        self._activity = activity
        self._on_finished = on_finished
        self._on_failed = on_failed
        self._is_stopping = False
        self._query: RunningQuery | None = None
        self._starting = endpoint.spawn(self._start(data_plane, query), "starting the query")

    async def stop(self, is_final: bool) -> None:
        """Stop the query and wait until nothing of it runs; a pending start is awaited first.

        Args:
            is_final: Whether no other query of the job follows here.
        """
        self._is_stopping = True
        await self._starting
        query, self._query = self._query, None
        if query is not None:
            try:
                await query.stop(is_final)
            except Exception:
                logger.exception("run %d of the query could not be stopped", self._run, extra=about(self._job_id))

    def subtasks_progressed(self, progress: Sequence[SubtaskProgress]) -> None:
        """Update the totals of subtasks."""
        self._endpoint.validate_runs_in_main_thread()
        if not self._is_stopping:
            self._on_progress(self._region, self._run, progress)

    def batch_ended(self, times: BatchTimes) -> None:
        """Add the times of a batch."""
        self._endpoint.validate_runs_in_main_thread()
        if not self._is_stopping:
            self._on_batch(self._region, times)

    def checkpoint_completed(self, stats: CheckpointStats) -> None:
        """Handle a checkpoint that was taken and committed."""
        self._endpoint.validate_runs_in_main_thread()
        self._checkpoints.completed(stats)
        self._activity.checkpoint_completed(stats)

    def checkpoints_progressed(self, in_progress: int, failed: int) -> None:
        """Handle the number of checkpoints that are being stored, and of those that have failed since."""
        self._endpoint.validate_runs_in_main_thread()
        self._checkpoints.progressed(self._region, in_progress, failed)
        if failed:
            self._activity.checkpoints_failed(failed)

    def checkpoint_restored(self, checkpoint: RestoredCheckpoint) -> None:
        """Handle that the query was restored from a checkpoint."""
        self._endpoint.validate_runs_in_main_thread()
        self._checkpoints.restored(checkpoint)
        self._activity.checkpoint_restored(checkpoint)

    def batch_processed(self, batch: BatchStats) -> None:
        """Handle the end of a batch, for traces."""
        self._endpoint.validate_runs_in_main_thread()
        self._activity.batch_ended(batch)

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        """Take a savepoint and return its path.

        Raises:
            Exception: it could not be taken.
        """
        await self._starting
        if self._query is None:
            raise RuntimeError("the query could not be started")
        return await self._query.trigger_savepoint(directory, after)

    async def trigger_checkpoint(self, full: bool, after: AfterSavepoint = AfterSavepoint.GO_ON) -> int:
        """Take a checkpoint now and return its id.

        Raises:
            Exception: it could not be taken.
        """
        await self._starting
        if self._query is None:
            raise RuntimeError("the query could not be started")
        return await self._query.trigger_checkpoint(full, after)

    def query_finished(self) -> None:
        """Handle that all input is processed and committed."""
        self._endpoint.validate_runs_in_main_thread()
        if not self._is_stopping:
            self._on_finished(self._region, self._run)

    def query_failed(self, failure: TaskFailure) -> None:
        """Handle a failure that ended the query."""
        self._endpoint.validate_runs_in_main_thread()
        if not self._is_stopping:
            self._on_failed(self._region, self._run, failure)

    async def _start(self, data_plane: DataPlane, query: QueryDescriptor) -> None:
        try:
            self._query = await data_plane.start(query, self)
        except Exception as error:
            self.query_failed(TaskFailure.of(error))
