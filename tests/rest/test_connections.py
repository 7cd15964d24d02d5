"""Limits that hold before authentication."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import resource
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from firesteel.rest import endpoint, job_handlers, request_content
from firesteel.runtime.front_door import connection_limit
from tests.rest.rest_cluster import LOCAL_TOKEN, Rest, serving

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

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


@pytest.mark.parametrize("sent", [b"", b"GET", OVERVIEW + b"\r\n"])
async def test_idle_connections_give_way_to_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(endpoint, "MAX_CONNECTIONS", 10)
    async with serving(tmp_path) as rest:
        held = [await connect(rest, sent) for _ in range(50)]
        for _ in range(3):
            asked, writer = await connect(rest, OVERVIEW + b"\r\n")
            assert b" 200 " in await answered(asked)
            writer.close()
        first, _ = held[0]
        async with asyncio.timeout(20):
            with contextlib.suppress(ConnectionError):
                await first.read()  # It ends, as it was closed.
        for _, writer in held:
            writer.close()


JSON = b"POST /savepoint-disposal HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW = JSON + b"Content-Length: 2\r\n"


async def test_slow_senders_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_CONNECTIONS", 10)
    async with serving(tmp_path) as rest:
        held = [await connect(rest, SLOW + b"\r\n{") for _ in range(20)]
        for _ in range(3):
            asked, writer = await connect(rest, OVERVIEW + b"\r\n")
            assert b" 200 " in await answered(asked)
            writer.close()
        for _, writer in held:
            writer.close()


async def test_connections_in_use_are_kept_and_others_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_CONNECTIONS", 4)  # two of one host
    may_end = threading.Event()
    async with serving(tmp_path) as rest:
        rest.view.dispose_savepoint = lambda path: None
        monkeypatch.setattr(job_handlers.REQUESTED_FILES, "run", lambda *_: asyncio.to_thread(may_end.wait, 20))
        known = f"Authorization: Bearer {LOCAL_TOKEN}\r\nContent-Length: 23\r\n\r\n".encode()
        held = [await connect(rest, JSON + known + b'{"savepoint-path":"/a"}') for _ in range(2)]
        assert rest.server._connections is not None
        async with asyncio.timeout(20):
            while rest.server._connections._door.idle or len(rest.server._connections._door) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        refused, writer = await connect(rest, OVERVIEW + b"\r\n")
        assert await answered(refused) == b""
        may_end.set()
        for reader, one in held:
            assert b" 200 " in await answered(reader)
            one.close()
        writer.close()


async def test_a_request_is_answered_when_descriptors_have_run_out(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    loop = asyncio.get_running_loop()
    async with serving(tmp_path) as rest, contextlib.AsyncExitStack() as stack:
        place = ("127.0.0.1", urlsplit(rest.server.address).port)
        clients = [stack.enter_context(socket.socket()) for _ in range(61)]
        for client in clients:
            client.setblocking(False)
        # The server can accept 30 of the 61 connections before it has no descriptors left.
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 30, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for client in clients:
            await loop.sock_connect(client, place)
        async with asyncio.timeout(20):
            await loop.sock_sendall(clients[-1], OVERVIEW + b"Connection: close\r\n\r\n")
            assert b" 200 " in await loop.sock_recv(clients[-1], 1000)


def test_half_of_the_descriptors_are_left_for_other_work() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        assert (connection_limit(1000), connection_limit(100)) == (512, 100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_compressed_content_is_refused_and_not_expanded(rest: Rest) -> None:
    bomb = gzip.compress(b" " * (64 << 20))
    for path, kind in (("/savepoint-disposal", "application/json"), ("/jobs", "multipart/form-data; boundary=b")):
        headers = {"Content-Encoding": "gzip", "Content-Type": kind}
        status, body = await rest.call("POST", path, data=bomb, headers=headers)
        assert (status, body["errors"]) == (415, ["the content is encoded with 'gzip'; allowed: identity"])
    unknown = {**headers, "Authorization": "Bearer nobody"}
    assert (await rest.call("POST", "/jobs", data=bomb, headers=unknown))[0] == 401


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


async def test_the_first_free_port_is_taken(make_rest: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = (await make_rest(**{"rest.bind-port": f"{port}, 0"})).server
        assert server.port not in (0, port)
        with pytest.raises(
            OSError, match=f"port {port} of 127.0.0.1 is in use by another process; set rest.port to another"
        ):
            await make_rest(**{"rest.bind-port": f"{port}"})
