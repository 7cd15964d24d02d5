"""The JobManager of a session cluster: control plane, REST API and Spark in one process.

Flink: `runtime.entrypoint.ClusterEntrypoint`. Several of them may run: with high availability one leads, the others
take over. Each serves the REST API, and asks whoever leads.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firesteel.entrypoint.garbage_collection import collect_garbage_rarely
from firesteel.entrypoint.spark_session import SLOTS, has_executors, shared_gateway
from firesteel.entrypoint.workers import Workers
from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.server import RestServer
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.high_availability import DISPATCHER, RESOURCE_MANAGER
from firesteel.runtime.highavailability.leader_directory import LeaderDirectory
from firesteel.runtime.highavailability.leader_gateway import LeaderGateway
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import TcpRpcService
from firesteel.spark.data_plane import SparkDataPlane

logger = logging.getLogger(__name__)


class SessionCluster:
    """One JobManager process.

    Args:
        configuration: The cluster's options.
        log_directory: Where the process logs to, for the REST API; None: to its terminal.

    Attributes:
        ended: Done when the process should end; holds the error that is the reason.
    """

    def __init__(self, configuration: Mapping[str, str], log_directory: Path | None = None) -> None:
        slots = 1 if has_executors(configuration) else os.cpu_count() or 1
        self._configuration = configuration = {SLOTS: str(slots), **configuration}
        self.ended: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        collect_garbage_rarely()
        self._spark = shared_gateway(configuration)
        self._data_plane = SparkDataPlane(self._spark.context)
        self._workers = Workers(configuration)
        self._rpc = self._workers.rpc_service
        self._ha = ha_services(configuration)
        self._leaders = (
            LeaderGateway(self._rpc, self._ha.leader_retrieval(DISPATCHER), DispatcherGateway),
            LeaderGateway(self._rpc, self._ha.leader_retrieval(RESOURCE_MANAGER), ResourceManagerGateway),
        )
        cluster = Cluster(self._leaders[0].get, self._leaders[1].get, configuration, log_directory)
        self._rest = RestServer(cluster, Operations(self._spawn), configuration)

    async def start(self) -> str:
        """Start everything: the address of the REST API.

        Raises:
            OSError: a port is in use.
            FiresteelError: an option can't be read, or something can't be reached.
        """
        if isinstance(self._rpc, TcpRpcService):
            await self._rpc.start()
            await LeaderDirectory(self._rpc, self._ha).start()
        workers = self._workers.driver(self._ha, self._spark.context)
        self._resource_manager = resource_manager_runner(
            self._rpc, self._ha, self._configuration, workers, self._fatal_error
        )
        self._dispatcher = dispatcher_runner(
            self._rpc, self._ha, self._data_plane, self._configuration, self._fatal_error
        )
        for leader in self._leaders:
            leader.start()
        await self._rest.start()
        await self._resource_manager.start()
        await self._dispatcher.start()
        # The JVM comes up meanwhile, so that it is there when the first job is.
        asyncio.get_running_loop().run_in_executor(None, self._spark.context)
        return self._rest.address

    async def stop(self) -> None:
        """Stop everything; with high availability the jobs go on elsewhere."""
        await self._rest.stop()
        for leader in self._leaders:
            leader.stop()
        await self._dispatcher.close()
        await self._resource_manager.close()
        await self._ha.close()
        if isinstance(self._rpc, TcpRpcService):
            await self._rpc.stop()
        self._data_plane.close()

    def _fatal_error(self, error: BaseException) -> None:
        logger.error("the JobManager can't go on", exc_info=error)
        if not self.ended.done():
            self.ended.set_result(error)

    def _spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
