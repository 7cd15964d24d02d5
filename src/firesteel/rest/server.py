"""The REST API of a JobManager (Flink: `runtime.webmonitor.WebMonitorEndpoint`).

Why: `docs/decisions/0014-aiohttp-serves-the-rest-api.md`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

from firesteel.rest import (
    cluster_handlers,
    dashboard_handlers,
    health_handlers,
    job_handlers,
    log_handlers,
    metric_handlers,
    prometheus_handlers,
    rescale_handlers,
    stack_handlers,
    state_handlers,
    vertex_handlers,
)
from firesteel.rest.access import Access
from firesteel.rest.cluster import Cluster
from firesteel.rest.endpoint import RestServerEndpoint
from firesteel.rest.metric_reporters import ReporterRun, reporters_of
from firesteel.rest.openapi import openapi_route
from firesteel.rest.operations import Operations
from firesteel.rest.routes import Call, Route

# Metric routes come first, so that `subtasks/metrics` is not matched as a subtask index.
_API: tuple[Route, ...] = (
    *metric_handlers.ROUTES,
    *prometheus_handlers.ROUTES,
    *health_handlers.ROUTES,
    *cluster_handlers.ROUTES,
    *log_handlers.ROUTES,
    *job_handlers.ROUTES,
    *vertex_handlers.ROUTES,
    *rescale_handlers.ROUTES,
    *stack_handlers.ROUTES,
    *state_handlers.ROUTES,
    *dashboard_handlers.ROUTES,
)
ROUTES = (*_API, openapi_route(_API))


def reporting(cluster: Cluster, configuration: Mapping[str, str]) -> ReporterRun:
    """Return the reporters of the cluster's metrics, which are to be started.

    Raises:
        InvalidOptionError: a reporter is unknown, or one of its options is.
    """
    call = Call(cluster, Operations(asyncio.create_task))
    return ReporterRun(reporters_of(configuration), lambda: prometheus_handlers.metrics_of(call))


class RestServer(RestServerEndpoint):
    """Serves the API of a cluster.

    Args:
        cluster: The cluster.
        operations: Asynchronous operations.
        configuration: Configuration of the cluster.
        local_token: The token with which this user's commands submit jobs.

    Raises:
        InvalidOptionError: it would be reachable by others without authentication, or TLS is misconfigured.
    """

    def __init__(
        self,
        cluster: Cluster,
        operations: Operations,
        configuration: Mapping[str, str],
        local_token: str | None = None,
    ) -> None:
        def make_call(request: web.Request, body: dict[str, object], files: dict[str, bytes]) -> Call:
            share = self.limits.of(self.token_of(request))
            return Call(cluster, operations, dict(request.match_info), dict(request.query), body, files, share)

        super().__init__(ROUTES, ("", "/v1"), make_call, Access(configuration, local_token), configuration)
        self._cluster = cluster
        self._sampling: asyncio.Task[None] | None = None
        self._reporters = reporting(cluster, configuration)

    async def start(self) -> None:
        """Start listening, take samples of jobs, and report metrics.

        Raises:
            OSError: the port is in use, or all of them are.
        """
        await super().start()
        self._cluster.latencies = self.latencies
        self._sampling = asyncio.create_task(self._cluster.samples.run())
        self._reporters.start()

    async def stop(self) -> None:
        """Stop all that."""
        if self._sampling is not None:
            self._sampling.cancel()
            await self._reporters.stop()
        await self._cluster.flame_graphs.stop()
        await super().stop()
