"""A REST server over a simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import aiohttp

from firesteel.rest.cluster import Cluster
from firesteel.rest.server import RestServer
from tests.runtime.simulated import Cluster as SimulatedCluster


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
        """Let the next answers be about jobs as they are now, and not as they were up to three seconds ago."""
        self.view._jobs.clear()

    async def get(self, path: str) -> Any:
        """The JSON of an answer with status 200."""
        status, body = await self.call("GET", path)
        assert status == 200, body
        return body
