"""Runs a job's records through Spark: a Spark job per small batch (STREAMING) or one over all input (BATCH)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from firesteel.common.local_path import local_path
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.stored_checkpoints import keeps_checkpoints, remove_job_directory, restore_job
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.jobmaster.data_plane import DataPlaneListener, QueryDescriptor, RunningQuery
from firesteel.spark.batch_run import BatchRun
from firesteel.spark.collect_buffers import CollectBuffers
from firesteel.spark.run import Run
from firesteel.spark.streaming_run import StreamingRun
from firesteel.spark.temporary_directory import TemporaryDirectory
from firesteel.task.python_environment import leave_artifacts, python_directory
from firesteel.task.stage_plan import StagePlan

CHECKPOINT_DIRECTORY = "execution.checkpointing.dir"


class SparkDataPlane:
    """Starts runs on one SparkContext (implements `runtime.jobmaster.data_plane.DataPlane`).

    Args:
        context: Gives the SparkContext; called in a thread, since it may wait for the JVM.
        tls: What records on their way to slots of other hosts are encrypted with; None: they are not.

    Attributes:
        collected: What collecting sinks put out.
    """

    has_queries = True

    def __init__(self, context: Callable[[], Any], tls: InternalTls | None = None) -> None:
        self._tls = tls
        self._context = context
        self.collected = CollectBuffers()
        self._temporary = TemporaryDirectory("checkpoints")
        self._runs: list[Run] = []
        self._checkpoints: dict[str, JobCheckpoints] = {}

    async def restore(self, job_graph: JobGraph) -> bytes:
        """Make the job begin with the checkpoint or savepoint that its configuration names, if it is a new one.

        What it brings along is left in its directory. A job without a directory for checkpoints gets a temporary one:
        its sinks put files there, too.
        """
        job_graph.configuration.setdefault(CHECKPOINT_DIRECTORY, str(self._temporary.path))
        return await asyncio.to_thread(self._restore, job_graph)

    def _restore(self, job_graph: JobGraph) -> bytes:
        directory = self._directory_of(job_graph)
        leave_artifacts(job_graph, directory)
        restore_job(job_graph, directory)
        serialized: bytes = cloudpickle.dumps(job_graph)
        return serialized

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> RunningQuery:
        """Start the run in a thread of its own and return at once."""
        directory = self._directory_of(query.job_graph)
        common = query, listener, self._context, self.collected, directory, self._pool()
        run: Run
        if query.job_graph.job_type == "BATCH":
            run = BatchRun(*common)
        else:
            checkpoints = self._checkpoints_of(query.job_graph, directory)
            run = StreamingRun(*common, checkpoints=checkpoints, tls=self._tls)
        self._runs.append(run)
        run.begin()
        return run

    def _checkpoints_of(self, job_graph: JobGraph, directory: Path) -> JobCheckpoints:
        """The checkpoints that the regions of a job take together."""
        found = self._checkpoints.get(job_graph.job_id)
        if found is None or found.is_idle:
            found = self._checkpoints[job_graph.job_id] = JobCheckpoints(StagePlan(job_graph), directory)
        return found

    def _pool(self) -> int:
        """A scheduler pool that no run uses now: Spark keeps pools for good, so they are used again."""
        self._runs = [run for run in self._runs if run.is_running]
        return min(set(range(len(self._runs) + 1)) - {run.pool for run in self._runs})

    async def deliver_coordination_request(self, operator_uid: str, request: bytes) -> bytes:
        """What the collecting sink of that id has for its client."""
        return await asyncio.to_thread(self.collected.answer, operator_uid, request)

    async def job_terminated(self, job_graph: JobGraph, status: JobStatus) -> None:
        """Remove the job's checkpoints unless they are to be kept.

        Raises:
            OSError: the directory could not be removed.
        """
        self._checkpoints.pop(job_graph.job_id, None)
        if CHECKPOINT_DIRECTORY in job_graph.configuration:  # Else the directory went with a former process.
            await asyncio.to_thread(self._forget, job_graph, status)

    def _forget(self, job_graph: JobGraph, status: JobStatus) -> None:
        directory = self._directory_of(job_graph)
        # A BATCH job has no checkpoints, so that nothing could go on from its directory.
        kept = keeps_checkpoints(job_graph, status) and job_graph.job_type != "BATCH"
        if kept:
            shutil.rmtree(python_directory(directory), ignore_errors=True)
        else:
            remove_job_directory(directory)

    def _directory_of(self, job_graph: JobGraph) -> Path:
        """The job's own directory below the configured one."""
        return local_path(job_graph.configuration[CHECKPOINT_DIRECTORY]) / job_graph.job_id

    def close(self) -> None:
        """Remove what is temporary; nothing runs any more."""
        self._temporary.remove()
