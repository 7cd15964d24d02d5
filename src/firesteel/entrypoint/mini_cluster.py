"""A whole cluster for one job in this process, with its event loop in a thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from firesteel.common.options.ha_options import HA_TYPE
from firesteel.common.options.pipeline_options import DEFAULT_PARALLELISM
from firesteel.common.options.restart_options import (
    RESTART_EXPONENTIAL_DELAY_ATTEMPTS_BEFORE_RESET_BACKOFF,
    RESTART_TYPE,
)
from firesteel.common.options.slot_options import TASK_SLOTS
from firesteel.entrypoint.cluster_entrypoint import ClusterEntrypoint
from firesteel.entrypoint.spark_options import has_executors
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import set_parallelism
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway, JobNotFoundError
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.spark.collect_buffers import CollectBuffers
from firesteel.task.stage_plan import StagePlan

T = TypeVar("T")

_CLOSE_TIMEOUT_S = 30

_RESTARTS = 10
"""How often a job without a restart strategy restarts in its program's own process, where its user waits for it."""


class MiniCluster:
    """A cluster for one job (Flink: `runtime.minicluster.MiniCluster`).

    With a local Spark there is one TaskExecutor, with as many slots as the job needs or, if that is more,
    `taskmanager.numberOfTaskSlots`. Otherwise the TaskExecutors are as many Spark executors as needed.

    Args:
        job_graph: The job; a parallelism that is left to the scheduler becomes `parallelism.default`.
        serves_rest: Whether it has a REST API, as in application mode.
        listeners: Notified of each change of the job's status.
    """

    def __init__(
        self, job_graph: JobGraph, serves_rest: bool = False, listeners: Sequence[JobStatusListener] = ()
    ) -> None:
        self.job_graph = job_graph
        self._listeners = listeners
        self._serves_rest = serves_rest
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jobmanager", daemon=True)
        self._entrypoint: ClusterEntrypoint | None = None
        self._is_left = False
        self._closing = threading.Lock()
        self._asking = threading.Lock()
        self._is_silent = False

    def start(self) -> str | None:
        """Start the cluster, submit the job and return the address of the REST API, if there is one.

        Raises:
            JavaNotFoundError: Spark finds no Java.
            FiresteelError: the job was rejected.
        """
        configuration = self.job_graph.configuration
        default = DEFAULT_PARALLELISM.of(configuration) or os.cpu_count() or 1
        set_parallelism(self.job_graph, default)
        cluster = {**configuration, HA_TYPE.key: "NONE"}  # no other process could take over this job
        if not self._serves_rest and RESTART_TYPE.of(configuration) is None:
            cluster.setdefault(RESTART_EXPONENTIAL_DELAY_ATTEMPTS_BEFORE_RESET_BACKOFF.key, str(_RESTARTS))
        if not has_executors(configuration):
            cluster[TASK_SLOTS.key] = str(max(StagePlan(self.job_graph).slots, TASK_SLOTS.of(configuration)))
        self._thread.start()
        return self._run(self._start(cluster)).result()

    async def _start(self, configuration: dict[str, str]) -> str | None:
        self._entrypoint = entrypoint = ClusterEntrypoint(configuration, self._listeners)
        await entrypoint.start()
        if not self._serves_rest:
            entrypoint.report_metrics()
        address = await entrypoint.serve_rest() if self._serves_rest else None
        await (await entrypoint.dispatcher.get()).submit_job(self.job_graph)
        return address

    def ask(self, question: Callable[[DispatcherGateway], Coroutine[Any, Any, T]]) -> Future[T]:
        """Call the Dispatcher on the cluster's event loop and return a future of the result.

        Raises:
            JobNotFoundError: the cluster was closed after its job ended; also the error of a future that it ends.
        """

        async def answer() -> T:
            assert self._entrypoint is not None, "the cluster was not started"
            try:
                return await question(await self._entrypoint.dispatcher.get())
            except asyncio.CancelledError:
                if self._is_silent:
                    raise JobNotFoundError(self.job_graph.job_id) from None
                raise

        # The event loop forgets what comes after its last tasks were ended, and the future would be waited for forever.
        with self._asking:
            if self._is_silent:
                raise JobNotFoundError(self.job_graph.job_id)
            return self._run(answer())

    @property
    def collected(self) -> CollectBuffers:
        """The buffers of collecting sinks."""
        assert self._entrypoint is not None, "the cluster was not started"
        return self._entrypoint.data_plane.collected

    def _run(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        """Stop everything except the JVM; further calls only wait until that is done."""
        with self._closing:
            if not self._is_left and self._thread.is_alive():
                self._close()

    def _close(self) -> None:
        try:
            if self._entrypoint is not None:
                self._run(self._entrypoint.stop()).result(_CLOSE_TIMEOUT_S)
            self._silence()
            self._run(_end_tasks()).result(_CLOSE_TIMEOUT_S)
        finally:
            self._silence()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _silence(self) -> None:
        with self._asking:
            self._is_silent = True

    def leave(self) -> None:
        """Let the cluster end with this process, which is about to exit; `close()` has no effect any more."""
        self._is_left = True


async def _end_tasks() -> None:
    """Cancel what still runs on the event loop, as `asyncio.run` does; asyncio would complain of it."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
