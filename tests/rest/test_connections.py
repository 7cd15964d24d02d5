"""Limits that hold before authentication."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from firesteel.rest import endpoint, request_content
from tests.rest.rest_cluster import Rest, serving

pytestmark = pytest.mark.libraries

OVERVIEW = b"GET /overview HTTP/1.1\r\nHost: localhost\r\n"


async def connect(rest: Rest, first: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(rest.server.address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(first)
    return reader, writer


async def answered(reader: asyncio.StreamReader) -> bytes:
    """The first line of the answer; nothing if the connection was closed."""
    async with asyncio.timeout(20):
        try:
            return await reader.readline()
        except ConnectionError:
            return b""


@pytest.mark.parametrize("sent", [b"", b"GET", OVERVIEW, OVERVIEW + b"X-Some: "])
async def test_a_connection_without_a_whole_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(endpoint, "FIRST_REQUEST_S", 0.1)
    async with serving(tmp_path) as rest:
        reader, writer = await connect(rest, sent)
        assert await answered(reader) == b""
        writer.close()
        assert (await rest.get("/overview"))["taskmanagers"] == 1


async def test_a_slow_request_body_times_out(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_content, "_CHUNK_TIMEOUT_S", 0.05)
    head = b"POST /savepoint-disposal HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    reader, writer = await connect(rest, head + b"Content-Length: 100\r\n\r\n{")
    assert b" 408 " in await answered(reader)
    writer.close()


async def test_a_slow_first_request_is_answered_once_its_head_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "FIRST_REQUEST_S", 0.1)
    monkeypatch.setattr(request_content, "_CHUNK_TIMEOUT_S", 0.5)
    async with serving(tmp_path) as rest:
        head = b"POST /savepoint-disposal HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        reader, writer = await connect(rest, head + b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in await answered(reader)
        writer.close()


async def test_one_connection_too_many_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_CONNECTIONS", 2)
    async with serving(tmp_path) as rest:
        held = [await connect(rest, OVERVIEW + b"\r\n") for _ in range(2)]
        assert [b" 200 " in await answered(reader) for reader, _ in held] == [True, True]
        refused, writer = await connect(rest, OVERVIEW + b"\r\n")
        assert await answered(refused) == b""
        for one in (writer, *(writer for _, writer in held)):
            one.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        OVERVIEW + b"X-Some: " + b"x" * 100_000 + b"\r\n\r\n",
        OVERVIEW + b"X-Some: x\r\n" * 10_000 + b"\r\n",
    ],
)
async def test_a_head_that_is_too_long_is_refused(rest: Rest, head: bytes) -> None:
    reader, writer = await connect(rest, head)
    assert (await answered(reader)).split()[1:2] in ([b"400"], [b"431"], [])
    writer.close()
