"""A REST server over a simulated cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from firesteel.entrypoint.savepoint_disposal import dispose_savepoint
from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.server import RestServer
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.highavailability.high_availability import DISPATCHER, RESOURCE_MANAGER
from firesteel.runtime.highavailability.leader_gateway import LeaderGateway
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from tests.runtime.simulated import Cluster as SimulatedCluster

LOCAL_TOKEN = "local" * 8
AS_THIS_USER = {"Authorization": f"Bearer {LOCAL_TOKEN}"}


@dataclass
class Rest:
    """The REST server of a simulated cluster: real endpoints over simulated tasks."""

    cluster: SimulatedCluster
    server: RestServer
    session: aiohttp.ClientSession
    view: Cluster

    async def call(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Status and JSON of the answer."""
        async with self.session.request(method, self.server.address + path, **options) as answer:
            return answer.status, await answer.json()

    def forget(self) -> None:
        """Refresh cached responses, which may be up to three seconds old."""
        self.view._jobs.clear()

    async def get(self, path: str) -> Any:
        """The JSON of an answer with status 200."""
        status, body = await self.call("GET", path)
        assert status == 200, body
        return body


@asynccontextmanager
async def serving(log_directory: Path, **options: str) -> AsyncIterator[Rest]:
    """A cluster with one TaskExecutor of two slots, and its REST server."""
    (log_directory / "jobmanager.log").write_text("started\n")
    (log_directory / "jobmanager.out").touch()
    simulated = SimulatedCluster(ManualClock(), options)
    simulated.clock.advance(1_700_000_000)
    await simulated.start(tm=2)

    dispatcher = LeaderGateway(simulated.rpc, simulated.ha.leader_retrieval(DISPATCHER), DispatcherGateway)
    manager = LeaderGateway(simulated.rpc, simulated.ha.leader_retrieval(RESOURCE_MANAGER), ResourceManagerGateway)
    dispatcher.start()
    manager.start()
    view = Cluster(dispatcher.get, manager.get, options, log_directory, dispose_savepoint=dispose_savepoint)
    server = RestServer(view, Operations(asyncio.ensure_future), {"rest.port": "0", **options}, LOCAL_TOKEN)
    await server.start()
    headers = {} if any(option.startswith("security.rest.token.") for option in options) else AS_THIS_USER
    async with aiohttp.ClientSession(headers=headers) as session:
        yield Rest(simulated, server, session, view)
    await server.stop()
    await simulated.stop()
