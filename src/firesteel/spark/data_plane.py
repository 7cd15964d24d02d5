"""Execution of jobs through Spark: one Spark job per small batch (STREAMING) or one over all input (BATCH)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import Any

from firesteel.common.files.file_systems import scheme_of
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.common.options.cluster_options import options_of_job
from firesteel.common.options.file_options import FS_DEFAULT_SCHEME
from firesteel.common.options.rest_options import JOB_STORE_MAX_CAPACITY
from firesteel.common.trust import pickling
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.stored_checkpoints import (
    keeps_checkpoints,
    mark_as_running,
    remove_all_but_checkpoints,
    remove_job_directory,
    restore_job,
)
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.jobmaster.data_plane import DataPlaneListener, QueryDescriptor, RunningQuery
from firesteel.runtime.thread_pools import JOBS, RESULTS
from firesteel.spark.batch_run import BatchRun
from firesteel.spark.collect_buffers import CollectBuffers, limit_collecting_sinks
from firesteel.spark.printed_texts import PrintedTexts
from firesteel.spark.run import Run
from firesteel.spark.streaming_run import StreamingRun
from firesteel.spark.temporary_directory import TemporaryDirectory
from firesteel.task.job_place import HeldDirectories, JobPlace, job_place
from firesteel.task.python_environment import leave_artifacts, python_directory, store_artifacts
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_seal import UNSEALED, StateSeal


class SparkDataPlane:
    """A data plane on one SparkContext (implements `runtime.jobmaster.data_plane.DataPlane`).

    Args:
        context: Returns the SparkContext; called in a thread, as it may wait for the JVM.
        cluster: The options of the cluster, of which each job inherits some.
        tls: The TLS settings for connections to slots on other hosts; None disables encryption.
        seal: Signs and verifies state files.

    Attributes:
        collected: The output of collecting sinks.
        printed: What jobs have printed.
    """

    has_queries = True

    def __init__(
        self,
        context: Callable[[], Any],
        cluster: Mapping[str, str],
        tls: InternalTls | None = None,
        seal: StateSeal = UNSEALED,
    ) -> None:
        self._cluster = cluster
        self._seal = seal
        self._tls = tls
        self._context = context
        self.collected = CollectBuffers()
        self.printed = PrintedTexts(JOB_STORE_MAX_CAPACITY.of(cluster))
        self._temporary = TemporaryDirectory("checkpoints", temporary_directory(cluster))
        self._held = HeldDirectories()
        self._runs: list[Run] = []
        self._checkpoints: dict[str, JobCheckpoints] = {}

    async def submitted(self, job_graph: JobGraph) -> None:
        """Mark the job as running in the object store of its checkpoints, if they are in one."""
        if job_graph.job_type != "BATCH" and CHECKPOINTING_DIR.key in self._options_of(job_graph):
            await JOBS.run(self._mark, job_graph)

    def _mark(self, job_graph: JobGraph) -> None:
        store = self._place_of(job_graph).remote
        if store is not None:
            mark_as_running(store)

    async def restore(self, job_graph: JobGraph) -> bytes:
        """Prepare a new job to start from the checkpoint or savepoint in its configuration.

        Files that it ships are written to its directory. A job without a checkpoint directory gets a temporary one,
        which its sinks use, too.
        """
        temporary = self._temporary.path
        default = temporary.as_uri() if FS_DEFAULT_SCHEME.of(self._options_of(job_graph)) else str(temporary)
        job_graph.configuration.setdefault(CHECKPOINTING_DIR.key, default)
        return await JOBS.run(self._restore, job_graph)

    def _restore(self, job_graph: JobGraph) -> bytes:
        place = self._made(job_graph)
        leave_artifacts(job_graph, place.work)
        if place.remote is not None:
            store_artifacts(job_graph, place.remote, place.work)
        restore_job(job_graph, self._options_of(job_graph), place.work, place.store, self._seal)
        limit_collecting_sinks(job_graph)
        serialized: bytes = pickling.dumps(job_graph)
        return serialized

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> RunningQuery:
        """Start the run in a new thread and return immediately."""
        is_local = scheme_of(query.job_graph.configuration[CHECKPOINTING_DIR.key]) is None
        # Run in a thread, as the first use of a remote file system imports its library.
        place = self._place_of(query.job_graph) if is_local else await JOBS.run(self._made, query.job_graph)
        directory = place.work
        options = self._options_of(query.job_graph)
        common = query, options, listener, self._context, self.collected, self.printed, directory, self._pool()
        run: Run
        if query.job_graph.job_type == "BATCH":
            run = BatchRun(*common, seal=self._seal)
        else:
            checkpoints = self._checkpoints_of(query.job_graph, place)
            run = StreamingRun(*common, checkpoints=checkpoints, tls=self._tls)
        self._runs.append(run)
        run.begin()
        return run

    def _checkpoints_of(self, job_graph: JobGraph, place: JobPlace) -> JobCheckpoints:
        """Return the checkpoints shared by the regions of a job."""
        found, plan = self._checkpoints.get(job_graph.job_id), StagePlan(job_graph)
        # A run that was given up may still hold those of the job before it was rescaled.
        if found is None or found.is_idle or found.plan.places != plan.places:
            options = self._options_of(job_graph)
            # A region that has ended does not begin again when the others restart.
            ended = frozenset() if found is None else found.ended
            made = JobCheckpoints(plan, options, place.work, place.store, self._seal, ended)
            found = self._checkpoints[job_graph.job_id] = made
        return found

    def _pool(self) -> int:
        """Return a scheduler pool that no run uses; pools are reused, as Spark never removes them."""
        # By the thread, not by the job: a run that was given up may still start jobs in its pool.
        self._runs = [run for run in self._runs if run.is_running]
        return min(set(range(len(self._runs) + 1)) - {run.pool for run in self._runs})

    async def deliver_coordination_request(self, operator_uid: str, request: bytes) -> bytes:
        """Return the response of a collecting sink to its client."""
        return await RESULTS.run(self.collected.answer, operator_uid, request)

    def printed_after(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text that a job has printed, from an offset on, and where it begins."""
        return self.printed.after(job_id, offset)

    async def job_terminated(self, job_graph: JobGraph, status: JobStatus) -> None:
        """Remove the job's checkpoints unless they are retained.

        Raises:
            OSError: the directory could not be removed.
        """
        self._checkpoints.pop(job_graph.job_id, None)
        self.printed.end(job_graph.job_id)
        if CHECKPOINTING_DIR.key in job_graph.configuration:  # Otherwise an earlier process has removed it.
            await JOBS.run(self._forget, job_graph, status)

    def _forget(self, job_graph: JobGraph, status: JobStatus) -> None:
        place = self._place_of(job_graph)
        # A BATCH job has no checkpoints to restore from, so its directory is not needed any more.
        kept = keeps_checkpoints(job_graph, status) and job_graph.job_type != "BATCH"
        if not kept:
            remove_job_directory(place.store)
        elif place.remote is None:
            shutil.rmtree(python_directory(place.work), ignore_errors=True)
        else:
            remove_all_but_checkpoints(place.remote, self._seal)
        if place.remote is not None:
            remove_job_directory(place.work)
            self._held.let_go(place.work)

    def _options_of(self, job_graph: JobGraph) -> dict[str, str]:
        return options_of_job(job_graph.configuration, self._cluster)

    def _place_of(self, job_graph: JobGraph) -> JobPlace:
        """Return the job's directories."""
        return job_place(self._options_of(job_graph), job_graph.job_id)

    def _made(self, job_graph: JobGraph) -> JobPlace:
        """Return the job's directories, created on this host if another host has led the job before."""
        place = self._place_of(job_graph)
        if place.remote is not None:
            self._held.hold(place.work)
        return place

    def close(self) -> None:
        """Remove temporary files after all runs have ended."""
        self._temporary.remove()
