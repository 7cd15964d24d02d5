"""A JobManager: control plane, data plane and, optionally, REST API on one event loop."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firesteel.common.files.run_directory import write_token
from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.common.options.history_options import ARCHIVE_DIR
from firesteel.common.options.metric_options import (
    EVENT_REPORTER,
    EVENT_REPORTERS,
    METRIC_REPORTERS,
    REPORTER,
    TRACE_REPORTER,
    TRACE_REPORTERS,
)
from firesteel.common.options.option_check import check_options
from firesteel.common.short_turns import take_short_turns
from firesteel.entrypoint.job_garbage import JobGarbage
from firesteel.entrypoint.savepoint_disposal import dispose_savepoint
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.entrypoint.workers import Workers
from firesteel.runtime.dispatcher.dispatcher import Archivist
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.heartbeat.heartbeat_options import check_heartbeats
from firesteel.runtime.highavailability.ha_services import ha_services, has_high_availability, storage_directory
from firesteel.runtime.highavailability.high_availability import DISPATCHER, RESOURCE_MANAGER
from firesteel.runtime.highavailability.leader_directory import LeaderDirectory
from firesteel.runtime.highavailability.leader_gateway import LeaderGateway
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import TcpRpcService, accepted_state_keys, state_key
from firesteel.spark.data_plane import SparkDataPlane
from firesteel.task.state_seal import StateSeal

if TYPE_CHECKING:
    from firesteel.rest.cluster import Cluster
    from firesteel.rest.metric_reporters import ReporterRun
    from firesteel.rest.server import RestServer
    from firesteel.rest.telemetry_reporters import Telemetry

logger = logging.getLogger(__name__)


class ClusterEntrypoint:
    """A JobManager, created and used on one event loop (Flink: `runtime.entrypoint.ClusterEntrypoint`).

    Several may run in separate processes: with high availability one is the leader and the others are standbys.

    Args:
        configuration: Configuration of the cluster.
        listeners: Notified of each change of a job's status.

    Attributes:
        ended: Completes when the process should exit; the result is the error, or None for a requested shutdown.
        dispatcher: Gateway to the leading Dispatcher, in this or another process.
        data_plane: Moves the records.
    """

    def __init__(self, configuration: Mapping[str, str], listeners: Sequence[JobStatusListener] = ()) -> None:
        check_options(configuration)
        check_heartbeats(configuration)
        self._telemetry = _telemetry(configuration)
        self._listeners = [JobGarbage(), *listeners, *([] if self._telemetry is None else [self._telemetry.listener])]
        self.ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        collect_garbage_rarely()
        self._spark = shared_gateway(configuration)
        seal = StateSeal(state_key(configuration), accepted=accepted_state_keys(configuration)).allowing(configuration)
        configuration = _with_checkpoint_directory(configuration)
        self.data_plane = SparkDataPlane(self._spark.context, configuration, InternalTls.of(configuration), seal)
        self._workers = Workers(configuration, seal)
        self._configuration = configuration = self._workers.configuration
        self._rpc = rpc = self._workers.rpc_service
        self._ha = ha_services(configuration)
        self.dispatcher = LeaderGateway(rpc, self._ha.leader_retrieval(DISPATCHER), DispatcherGateway)
        self._resources = LeaderGateway(rpc, self._ha.leader_retrieval(RESOURCE_MANAGER), ResourceManagerGateway)
        self._rest: RestServer | None = None
        self._reporters: ReporterRun | None = None
        self._token_file: Path | None = None
        self._operations: set[asyncio.Task[object]] = set()

    async def start(self) -> None:
        """Start everything except the REST API.

        Raises:
            OSError: a port is in use.
            FiresteelError: an option is invalid, or a service is unreachable.
        """
        take_short_turns()
        if isinstance(self._rpc, TcpRpcService):
            await self._rpc.start()
            await LeaderDirectory(self._rpc, self._ha).start()
        driver = self._workers.driver(self._ha, self._spark.context)
        configuration, rpc, ha = self._configuration, self._rpc, self._ha
        self._resource_manager = resource_manager_runner(rpc, ha, configuration, driver, self._fatal_error)
        self._dispatcher = dispatcher_runner(
            rpc, ha, self.data_plane, configuration, self._fatal_error, self._listeners, _archivist(configuration)
        )
        self.dispatcher.start()
        self._resources.start()
        await self._resource_manager.start()
        await self._dispatcher.start()
        self._spark.begin()  # so that Spark is ready for the first job

    async def serve_rest(self, log_directory: Path | None = None) -> str:
        """Start the REST API, store its token in the run directory and return its address.

        Args:
            log_directory: Directory of the process's logs; None if it logs to its terminal.

        Raises:
            OSError: the port is in use.
            FiresteelError: an option is invalid.
        """
        # Late import: slow, and an embedded job does not need it.
        from firesteel.rest.operations import Operations
        from firesteel.rest.server import RestServer

        cluster = self._cluster(log_directory)
        token = secrets.token_hex(32)
        self._rest = RestServer(cluster, Operations(self._spawn), self._configuration, token)
        await self._rest.start()
        self._token_file = write_token(self._rest.port, token)
        return str(self._rest.address)

    def report_metrics(self) -> None:
        """Start the reporters of metrics of a process that serves no REST API, which would start them.

        Raises:
            InvalidOptionError: a reporter is unknown, or one of its options is.
        """
        named = METRIC_REPORTERS.of(self._configuration)
        if named or any(key.startswith(REPORTER) for key in self._configuration):
            from firesteel.rest.server import reporting  # Late import, as above.

            self._reporters = reporting(self._cluster(None), self._configuration)
            self._reporters.start()

    def _cluster(self, log_directory: Path | None) -> Cluster:
        """Return what handlers of the REST API know of the cluster."""
        from firesteel.rest.cluster import Cluster

        return Cluster(
            self.dispatcher.get,
            self._resources.get,
            self._configuration,
            log_directory,
            lambda: self._end(None),
            dispose_savepoint,
        )

    async def stop(self) -> None:
        """Stop everything except the JVM; with high availability another JobManager takes over the jobs.

        The token stays until then, so that this process can be asked as long as its REST API answers.
        """
        try:
            await self._stop()
        finally:
            if self._token_file is not None:
                self._token_file.unlink(missing_ok=True)

    async def _stop(self) -> None:
        if self._rest is not None:
            await self._rest.stop()
        if self._reporters is not None:
            await self._reporters.stop()
        self.dispatcher.stop()
        self._resources.stop()
        await self._dispatcher.close()
        await self._resource_manager.close()
        if self._telemetry is not None:  # Now, as the last jobs have ended.
            await self._telemetry.stop()
        await self._ha.close()
        if isinstance(self._rpc, TcpRpcService):
            await self._rpc.stop()
        self.data_plane.close()

    def _fatal_error(self, error: BaseException) -> None:
        logger.error("the JobManager failed", exc_info=error)
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if not self.ended.done():
            self.ended.set_result(error)

    def _spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(coroutine)
        self._operations.add(task)
        task.add_done_callback(self._operations.discard)
        return task


def _telemetry(configuration: Mapping[str, str]) -> Telemetry | None:
    """Return the reporters of traces and events; None without any."""
    named = TRACE_REPORTERS.of(configuration) or EVENT_REPORTERS.of(configuration)
    if not named and not any(key.startswith((TRACE_REPORTER, EVENT_REPORTER)) for key in configuration):
        return None
    from firesteel.rest.telemetry_reporters import telemetry_of  # Late import: slow, and few clusters need it.

    return telemetry_of(configuration)


def _archivist(configuration: Mapping[str, str]) -> Archivist | None:
    """Return what writes ended jobs to `jobmanager.archive.fs.dir`; None without the option."""
    directory = ARCHIVE_DIR.of(configuration)
    if directory is None:
        return None

    def write(job: ArchivedExecutionGraph) -> None:
        from firesteel.rest.archive import write_archive  # Late import: slow, and few clusters need it.

        write_archive(job, directory, configuration)

    return write


def _with_checkpoint_directory(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the options; with high availability, add a checkpoint directory that all JobManagers can reach."""
    if not has_high_availability(configuration):
        return dict(configuration)
    return {CHECKPOINTING_DIR.key: str(storage_directory(configuration) / "checkpoints"), **configuration}
