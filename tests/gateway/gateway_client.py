"""A client of the SQL gateway's REST API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from firesteel.gateway.server import SqlGateway

WAIT_S = 60


class Client:
    """Sends requests to a gateway.

    Attributes:
        address: The URL of the gateway.
        http: Sends the requests.
        version: Prefix of paths.
    """

    def __init__(self, address: str, http: aiohttp.ClientSession, version: str = "/v3") -> None:
        self.address, self.http, self.version = address, http, version

    async def call(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Status and JSON of the answer."""
        async with self.http.request(method, self.address + self.version + path, **options) as answer:
            return answer.status, await answer.json()

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of an answer with status 200."""
        status, body = await self.call(method, path, **options)
        assert status == 200, body
        return body

    async def open(self, **properties: str) -> str:
        """Open a session and return the path of its requests."""
        opened = await self.ask("POST", "/sessions", json={"properties": properties})
        return f"/sessions/{opened['sessionHandle']}"

    async def submit(self, session: str, statement: str, **more: Any) -> str:
        """Start a statement and return the path of its operation."""
        started = await self.ask("POST", f"{session}/statements", json={"statement": statement, **more})
        return f"{session}/operations/{started['operationHandle']}"

    async def first(self, operation: str, row_format: str = "JSON") -> tuple[int, Any]:
        """Status and JSON of the first answer that is ready."""
        async with asyncio.timeout(WAIT_S):
            while True:
                status, body = await self.call("GET", f"{operation}/result/0?rowFormat={row_format}")
                if status != 200 or body["resultType"] != "NOT_READY":
                    return status, body
                await asyncio.sleep(0.02)

    async def rows(self, session: str, statement: str, row_format: str = "JSON", **more: Any) -> list[list[Any]]:
        """The fields of all rows of a statement, along the links from one answer to the next."""
        operation = await self.submit(session, statement, **more)
        status, body = await self.first(operation, row_format)
        found: list[list[Any]] = []
        async with asyncio.timeout(WAIT_S):
            while True:
                assert status == 200, body
                found += [row["fields"] for row in body["results"]["data"]]
                if body["resultType"] == "EOS":
                    return found
                path = body["nextResultUri"].removeprefix(self.version)
                await asyncio.sleep(0.02)
                status, body = await self.call("GET", path)

    async def error(self, session: str, statement: str) -> str:
        """The message of a statement that fails."""
        status, body = await self.first(await self.submit(session, statement))
        assert status == 500, body
        return str(body["errors"][0])


@asynccontextmanager
async def serving(**options: str) -> AsyncIterator[Client]:
    """A gateway at a free port, and a client of it."""
    gateway = SqlGateway({"sql-gateway.endpoint.rest.port": "0", **options})
    await gateway.start()
    async with aiohttp.ClientSession() as http:
        yield Client(gateway.address, http)
    await gateway.stop()
