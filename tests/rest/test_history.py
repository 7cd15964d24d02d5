"""Ended jobs are archived, and the history server answers from the archives as the JobManager did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.archive import NOT_ARCHIVED, archived_routes, read_archive, write_archive
from firesteel.rest.history_server import HistoryServer
from firesteel.rest.server import ROUTES
from firesteel.runtime.failure import TaskFailure
from tests.objects.server import Bucket
from tests.rest.browser import Browser
from tests.rest.rest_cluster import Rest
from tests.rest.test_server import running

pytestmark = pytest.mark.slow


async def ended(rest: Rest) -> str:
    """The id of a job that has failed."""
    job_id = await running(rest)
    await rest.cluster.fail_query(TaskFailure("ValueError: bad", operator_name="Map", subtask_index=0, parallelism=2))
    rest.forget()
    return job_id


async def archive(rest: Rest, job_id: str, directory: object, **options: str) -> None:
    job = await rest.cluster.gateway.request_job(job_id)
    await asyncio.to_thread(write_archive, job, str(directory), options)


@asynccontextmanager
async def history(*directories: object, **options: str) -> AsyncIterator[tuple[HistoryServer, Any]]:
    named = {"historyserver.archive.fs.dir": ",".join(map(str, directories)), "historyserver.web.port": "0"}
    server = HistoryServer(named | options)
    await server.start()
    async with aiohttp.ClientSession(server.address) as session:

        async def get(path: str) -> Any:
            async with session.get(path) as answer:
                return await answer.json()

        yield server, get
    await server.stop()


def _timeless(answer: Any) -> Any:
    """An answer without the time at which it was given."""
    return {key: value for key, value in answer.items() if key != "now"} if isinstance(answer, dict) else answer


def _archives(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if len(path.name) == 32}


def test_each_request_about_a_job_is_archived_or_not_for_a_reason() -> None:
    about = {route.path for route in ROUTES if route.method == "GET" and "/jobs/{jobid}" in route.path}
    of_other_modules = {path for path in about if path.startswith("/firesteel") or path.endswith("metrics")}
    others = {"/jobs/{jobid}/vertices/{vertexid}/watermarks"}
    others |= {path for path in about if path.startswith("/jobs/{jobid}/jobmanager")}
    assert {route.path for route in archived_routes()} == about - NOT_ARCHIVED.keys() - of_other_modules - others


async def test_the_history_server_answers_as_the_jobmanager_did(rest: Rest, tmp_path: Path) -> None:
    job_id = await ended(rest)
    await archive(rest, job_id, tmp_path)
    assert _archives(tmp_path) == {job_id}
    answers = read_archive(tmp_path / job_id)
    assert len(answers) > 25
    async with history(tmp_path) as (_, get):
        for path in answers:
            status, live = await rest.call("GET", path)
            found = await get(path)
            assert _timeless(found) == _timeless(live), path
            assert status == 200 or "errors" in live
        assert (await get("/config"))["features"]["web-history"] is True
        assert (await get("/overview"))["jobs-failed"] == 1
        assert (await get(f"/jobs/{job_id}/nothing"))["errors"] == [
            f"The archive of job {job_id} has no answer to /jobs/{job_id}/nothing"
        ]
        assert (await get(f"/jobs/{'0' * 32}"))["errors"] == [f"Job {'0' * 32} not found"]


async def test_archives_come_and_go_and_damaged_ones_are_left_out(rest: Rest, tmp_path: Path) -> None:
    job_id = await ended(rest)
    place = tmp_path / "cluster" / "applications" / ("1" * 32) / "jobs"  # As Flink 2.3 does.
    async with history(tmp_path) as (server, get):
        assert await get("/jobs/overview") == {"jobs": []}
        await archive(rest, job_id, place)
        await archive(rest, job_id, place)
        (tmp_path / ("2" * 32)).write_text("{}")
        (tmp_path / "other").write_text("no archive")
        server.archives.look()
        assert [job["jid"] for job in (await get("/jobs/overview"))["jobs"]] == [job_id]
        (place / job_id).unlink()
        server.archives.look()
        assert await get("/jobs/overview") == {"jobs": []}


async def test_only_the_newest_archives_are_retained(rest: Rest, tmp_path: Path) -> None:
    job_id = await ended(rest)
    await archive(rest, job_id, tmp_path)
    text = (tmp_path / job_id).read_text()
    for digit in "abc":
        (tmp_path / (digit * 32)).write_text(text.replace(job_id, digit * 32))
    later = json.loads(text)
    overview = json.loads(later["archive"][0]["json"])
    overview["jobs"][0]["end-time"] += 1000
    later["archive"][0]["json"] = json.dumps(overview)
    (tmp_path / job_id).write_text(json.dumps(later))
    async with history(tmp_path, **{"historyserver.archive.retained-jobs": "2"}) as (_, get):
        assert len((await get("/jobs/overview"))["jobs"]) == 2
    assert len(_archives(tmp_path)) == 2
    assert job_id in _archives(tmp_path)


async def test_archives_are_in_object_stores_too(rest: Rest, bucket: Bucket) -> None:
    job_id = await ended(rest)
    await archive(rest, job_id, bucket.uri("archive"), **bucket.options)
    async with history(bucket.uri("archive"), **bucket.options) as (_, get):
        assert (await get(f"/jobs/{job_id}"))["state"] == "FAILED"


async def test_pages_show_what_ended_jobs_have(rest: Rest, tmp_path: Path) -> None:
    job_id = await ended(rest)
    await archive(rest, job_id, tmp_path)
    browser = Browser(tmp_path / "profile")
    await browser.start()
    async with history(tmp_path) as (server, _):
        await browser.open(f"{server.address}/#/jobs/{job_id}")
        await browser.wait_for("document.querySelector('.graph svg') !== null")
        text = await browser.run("document.body.innerText")
    assert "operator 'Map' (subtask 1/2) failed: ValueError: bad" in text
    assert "Last hour" not in text
    assert "TaskManagers" not in text
    assert browser.errors == []
    await browser.stop()


def test_a_server_without_directory_or_open_to_others_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match=r"historyserver\.archive\.fs\.dir"):
        HistoryServer({})
    with pytest.raises(InvalidOptionError, match="which others can reach"):
        HistoryServer({"historyserver.archive.fs.dir": str(tmp_path), "historyserver.web.address": "0.0.0.0"})
