from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.server import RestServer
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER
from firesteel.runtime.highavailability.leader_gateway import leader_gateway
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from tests.rest.rest_cluster import Rest
from tests.runtime.simulated import Cluster as SimulatedCluster


@pytest.fixture
async def make_rest(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts clusters with a REST server each."""
    started: list[Rest] = []
    (tmp_path / "jobmanager.log").write_text("started\n")
    (tmp_path / "jobmanager.out").touch()

    async def make(**options: str) -> Rest:
        simulated = SimulatedCluster(ManualClock(), options)
        simulated.clock.advance(1_700_000_000)
        await simulated.start(tm=2)

        async def resource_manager() -> ResourceManagerGateway:
            retrieval = simulated.ha.leader_retrieval(RESOURCE_MANAGER)
            return await leader_gateway(simulated.rpc, retrieval, ResourceManagerGateway)

        view = Cluster(simulated.dispatcher_gateway, resource_manager, options, tmp_path)
        server = RestServer(view, Operations(asyncio.ensure_future), {"rest.port": "0", **options})
        await server.start()
        started.append(Rest(simulated, server, aiohttp.ClientSession(), view))
        return started[-1]

    yield make
    for rest in started:
        await rest.session.close()
        await rest.server.stop()
        await rest.cluster.stop()


@pytest.fixture
async def rest(make_rest: Callable[..., Any]) -> Rest:
    """One of them, with the defaults."""
    return await make_rest()
