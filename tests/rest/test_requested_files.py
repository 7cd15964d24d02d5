"""Requests that name paths: from callers with a token only, for regular files only, in threads of their own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.rest.routes import PATH
from firesteel.rest.server import ROUTES
from firesteel.runtime import thread_pools
from firesteel.runtime.thread_pools import DeadlineError, ThreadPool
from tests.rest.rest_cluster import Rest

DISPOSAL = "/savepoint-disposal"
NO_TOKEN = {"Authorization": "none", "Content-Type": "application/json"}


async def disposal_of(rest: Rest, path: Path) -> str:
    """Return the failure of a disposal."""
    status, body = await rest.call("POST", DISPOSAL, json={"savepoint-path": str(path)})
    assert status == 200, body
    async with asyncio.timeout(20):
        while (found := await rest.get(f"{DISPOSAL}/{body['request-id']}"))["status"]["id"] != "COMPLETED":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return str(found["operation"]["failure-cause"]["stack-trace"])


def special(kind: str, path: Path) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "link":
        (path.parent / "real").write_bytes(b"secret")
        path.symlink_to(path.parent / "real")
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["pipe", "device", "link", "directory"])
async def test_no_path_keeps_a_thread(rest: Rest, tmp_path: Path, kind: str) -> None:
    special(kind, tmp_path / "_metadata")
    for failure in await asyncio.gather(*(disposal_of(rest, tmp_path) for _ in range(20))):
        assert "is not a regular file" in failure
    assert (await rest.get("/overview"))["taskmanagers"] == 1


def _with_paths() -> list[tuple[str, str, str]]:
    return [
        (route.method, route.path, name)
        for route in ROUTES
        for name, schema in route.body.items()
        if schema.get("format") == PATH["format"]
    ]


def test_each_field_with_a_path_is_declared() -> None:
    assert {(path, name) for _, path, name in _with_paths()} == {
        ("/savepoint-disposal", "savepoint-path"),
        ("/jobs", "savepointPath"),
        ("/jobs/{jobid}/savepoints", "target-directory"),
        ("/jobs/{jobid}/stop", "targetDirectory"),
    }
    undeclared = [
        (route.path, name)
        for route in ROUTES
        for name, schema in route.body.items()
        if ("path" in name.lower() or "directory" in name.lower()) and schema.get("format") != "path"
    ]
    assert undeclared == []


@pytest.mark.parametrize(("method", "path", "field"), _with_paths())
async def test_without_a_token_nobody_names_a_path(
    rest: Rest, tmp_path: Path, method: str, path: str, field: str
) -> None:
    where = path.replace("{jobid}", "0" * 32)
    status, body = await rest.call(method, where, json={field: str(tmp_path)}, headers=NO_TOKEN)
    assert status == 401
    assert "requires the token of this JobManager" in body["errors"][0]
    # The default directory, which the cluster names, is open as before. The others run code, or remove files.
    if path not in ("/jobs", "/savepoint-disposal"):
        assert (await rest.call(method, where, json={}, headers=NO_TOKEN))[0] == 202


async def test_open_submission_lets_everyone_name_paths(make_rest: Callable[..., Any], tmp_path: Path) -> None:
    rest: Rest = await make_rest(**{"security.rest.submit-without-token": "true"})
    status, _ = await rest.call("POST", DISPOSAL, json={"savepoint-path": str(tmp_path)}, headers=NO_TOKEN)
    assert status == 200


async def test_blocked_work_of_one_purpose_leaves_the_others_alone(rest: Rest) -> None:
    may_end = threading.Event()
    try:
        blocked = [asyncio.ensure_future(thread_pools.REQUESTED_FILES.run(may_end.wait)) for _ in range(50)]
        others = [pool for pool in vars(thread_pools).values() if isinstance(pool, ThreadPool)]
        assert len(others) > 5
        async with asyncio.timeout(20):
            for pool in others:
                if pool is not thread_pools.REQUESTED_FILES:
                    assert await pool.run(sum, [1, 2]) == 3
            assert await asyncio.to_thread(sum, [1, 2]) == 3
            assert (await rest.get("/overview"))["taskmanagers"] == 1
    finally:
        may_end.set()
        await asyncio.gather(*blocked)


async def test_callers_of_blocked_work_are_answered_after_a_deadline() -> None:
    may_end = threading.Event()
    pool = ThreadPool("a test", 1, 0.01)
    try:
        for _ in range(3):  # The later ones wait for the only thread.
            with pytest.raises(DeadlineError, match=r"a test took more than 0\.01 s"):
                await pool.run(may_end.wait)
    finally:
        may_end.set()


async def test_a_timeout_of_the_work_itself_is_its_own() -> None:
    def fail() -> None:
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work"):
        await ThreadPool("a test", 1, 10).run(fail)
