"""The logs of a TaskExecutor in a process of its own, through the REST API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner, Result

from firesteel.cli.main import cli
from firesteel.cli.watching import followed
from firesteel.client.rest_client import RestClusterClient
from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.server import RestServer
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.highavailability.high_availability import DISPATCHER, RESOURCE_MANAGER
from firesteel.runtime.highavailability.leader_gateway import LeaderGateway
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from firesteel.runtime.taskexecutor.log_files import MAX_PIECE_BYTES, LogFileNotFoundError, LogFiles
from tests.runtime.taskexecutor.processes import JobManager, task_manager

pytestmark = pytest.mark.slow

CONTENT = b"".join(b"line %d\n" % number for number in range(250_000))
assert len(CONTENT) > 2 * MAX_PIECE_BYTES


@dataclass
class Remote:
    """A REST server over a JobManager, and the log directory of its one TaskExecutor."""

    address: str
    session: aiohttp.ClientSession
    logs: Path

    async def get(self, path: str, status: int = 200, **headers: str) -> tuple[bytes, Any]:
        async with self.session.get(f"{self.address}/taskmanagers/{path}", headers=headers) as answer:
            assert answer.status == status, await answer.text()
            return await answer.read(), answer.headers


@pytest.fixture
async def remote(tmp_path: Path) -> AsyncIterator[Remote]:
    job_manager = JobManager()
    await job_manager.start()
    (tmp_path / "task-manager.log").write_bytes(CONTENT)
    (tmp_path / "stdout").write_text("printed\n")
    (tmp_path / "job.jar").write_text("nobody's business")
    (tmp_path / "passwords.log").symlink_to("/etc/passwd")
    options = {"taskmanager.log.path": str(tmp_path / "task-manager.log"), "taskmanager.resource_id": "remote"}
    process = await task_manager(job_manager, **options)
    dispatcher = LeaderGateway(job_manager.rpc, job_manager.ha.leader_retrieval(DISPATCHER), DispatcherGateway)
    manager = LeaderGateway(job_manager.rpc, job_manager.ha.leader_retrieval(RESOURCE_MANAGER), ResourceManagerGateway)
    dispatcher.start()
    manager.start()
    server = RestServer(Cluster(dispatcher.get, manager.get, {}), Operations(asyncio.ensure_future), {"rest.port": "0"})
    await server.start()
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        await job_manager.task_managers(1)
        yield Remote(server.address, session, tmp_path)
    process.kill()
    await process.wait()
    await server.stop()
    dispatcher.stop()
    manager.stop()
    await job_manager.stop()


async def test_logs_of_a_task_manager_are_listed_and_read_in_pieces(remote: Remote) -> None:
    found = json.loads((await remote.get("remote/logs"))[0])["logs"]
    assert [(file["name"], file["size"]) for file in found] == [("stdout", 8), ("task-manager.log", len(CONTENT))]
    assert all(file["mtime"] > 1_600_000_000_000 for file in found)
    for path in ("remote/log", "remote/logs/task-manager.log"):
        content, headers = await remote.get(path)
        assert content == CONTENT
        assert headers["Content-Type"] == "text/plain; charset=UTF-8"
    assert (await remote.get("remote/stdout"))[0] == b"printed\n"


async def test_only_log_files_of_the_task_manager_are_served(remote: Remote) -> None:
    for name in ("job.jar", "passwords.log", "..%2Ftask-manager.log", "nothing.log"):
        body, _ = await remote.get(f"remote/logs/{name}", 404)
        assert "available: stdout, task-manager.log" in json.loads(body)["errors"][0]
    body, _ = await remote.get("nobody/log", 404)
    assert json.loads(body)["errors"] == ["Could not find TaskExecutor nobody"]


async def test_a_range_of_a_log_is_served(remote: Remote) -> None:
    length = len(CONTENT)
    content, headers = await remote.get("remote/log", 206, Range=f"bytes={length - 5}-")
    assert (content, headers["Content-Range"]) == (CONTENT[-5:], f"bytes {length - 5}-{length - 1}/{length}")
    begin = MAX_PIECE_BYTES - 3
    assert (await remote.get("remote/log", 206, Range=f"bytes={begin}-{begin + 9}"))[0] == CONTENT[begin : begin + 10]
    await remote.get("remote/log", 416, Range=f"bytes={length}-")
    await remote.get("remote/log", 416, Range="lines=1-2")


async def test_the_logs_command_shows_a_log(remote: Remote) -> None:
    def run(name: str) -> Result:
        return CliRunner().invoke(cli, ["logs", "-m", remote.address, "--taskmanager", name])

    assert (await asyncio.to_thread(run, "remote")).stdout == CONTENT.decode()
    assert "Could not find TaskExecutor nobody" in (await asyncio.to_thread(run, "nobody")).stderr


async def test_a_followed_log_loses_nothing_to_a_rotation(remote: Remote) -> None:
    """The file is renamed between two looks, with lines in it that were not read yet."""
    log = remote.logs / "task-manager.log"
    cluster = RestClusterClient(remote.address)
    parts = followed(cluster, "/taskmanagers/remote/log")

    async def next_part() -> bytes:
        return await asyncio.to_thread(next, parts)

    assert await next_part() == CONTENT
    with log.open("ab") as file:
        file.write(b"last of the old file\n")
    log.rename(remote.logs / "task-manager.log.1")
    log.write_bytes(b"first of the new file\n")
    assert await next_part() == b"last of the old file\n"
    assert await next_part() == b"first of the new file\n"
    names = [file["name"] for file in (await asyncio.to_thread(cluster.get, "/taskmanagers/remote/logs"))["logs"]]
    assert names == ["stdout", "task-manager.log", "task-manager.log.1"]


def test_a_process_without_a_log_file_has_none(tmp_path: Path) -> None:
    logs = LogFiles.of({})
    assert logs.list() == ()
    with pytest.raises(LogFileNotFoundError, match=r"log file 'x\.log' not found; available: none"):
        logs.read("x.log", 0)
    assert LogFiles(tmp_path / "not there yet" / "x.log").list() == ()
