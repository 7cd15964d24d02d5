"""A whole cluster in this process: JobManager, ResourceManager and one TaskExecutor on one loop, Spark beside it.

Flink: `runtime.minicluster.MiniCluster`. Differs in that the TaskExecutor has as many slots as the job needs.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from firesteel.entrypoint.garbage_collection import collect_garbage_rarely
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import SystemClock
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.parallelism import resolve_parallelism
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.leader_gateway import leader_gateway
from firesteel.runtime.options import number
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import InMemoryRpcService
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.spark.collect_buffers import CollectBuffers
from firesteel.spark.data_plane import SparkDataPlane
from firesteel.spark.slot_processes import SlotProcesses
from firesteel.task.stage_plan import StagePlan

T = TypeVar("T")

_CLOSE_TIMEOUT_S = 30


class MiniCluster:
    """Runs one job; its loop lives in a thread of its own.

    Args:
        job_graph: The job; parallelism that is left to the scheduler becomes `parallelism.default`.
    """

    def __init__(self, job_graph: JobGraph) -> None:
        self.job_graph = job_graph
        self._configuration: Mapping[str, str] = job_graph.configuration
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jobmanager", daemon=True)
        self._fatal: list[BaseException] = []
        self._gateway: DispatcherGateway | None = None

    def start(self) -> None:
        """Start everything and submit the job.

        Raises:
            JavaNotFoundError: Spark finds no Java.
            FiresteelError: the job was refused.
        """
        default = int(number(self._configuration, "parallelism.default", os.cpu_count() or 1))
        resolve_parallelism(self.job_graph, default)
        collect_garbage_rarely()
        spark = shared_gateway(self._configuration)
        self._thread.start()
        self._data_plane = SparkDataPlane(spark.context)
        self._run(self._start(self._data_plane)).result()

    async def _start(self, data_plane: SparkDataPlane) -> None:
        rpc, ha = InMemoryRpcService(SystemClock()), EmbeddedHaServices()
        self._resource_manager = resource_manager_runner(
            rpc, ha, self._configuration, on_fatal_error=self._fatal.append
        )
        self._dispatcher = dispatcher_runner(rpc, ha, data_plane, self._configuration, self._fatal.append)
        slots = StagePlan(self.job_graph).slots
        self._task_executor = TaskExecutor(rpc, "local", slots, ha, self._make_runner, self._configuration)
        await self._resource_manager.start()
        await self._dispatcher.start()
        await self._task_executor.start()
        if self.job_graph.job_type != "BATCH":
            await self._runner.start()
        self._gateway = await leader_gateway(rpc, ha.leader_retrieval(DISPATCHER), DispatcherGateway)
        await self._gateway.submit_job(self.job_graph)

    def _make_runner(self, listener: Any) -> SlotProcesses:
        self._runner = SlotProcesses(listener)
        return self._runner

    def ask(self, question: Callable[[DispatcherGateway], Coroutine[Any, Any, T]]) -> Future[T]:
        """Ask the Dispatcher, on the cluster's loop."""

        async def answer() -> T:
            assert self._gateway is not None, "the cluster was not started"
            return await question(self._gateway)

        return self._run(answer())

    @property
    def collected(self) -> CollectBuffers:
        """What collecting sinks put out."""
        return self._data_plane.collected

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        """Stop everything but the JVM; may be called again."""
        if not self._thread.is_alive():
            return
        try:
            self._run(self._close()).result(_CLOSE_TIMEOUT_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _close(self) -> None:
        await self._dispatcher.close()
        await self._task_executor.stop()
        await self._resource_manager.close()
        self._data_plane.close()
