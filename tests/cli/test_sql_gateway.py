"""`firesteel sql-gateway` in front of a session cluster."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner

from firesteel.cli.main import cli
from tests.cli.session import RUN_DIRECTORY, JobManager, firesteel
from tests.cli.sql_gateway import gateway_of
from tests.gateway.gateway_client import Client
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

COUNTS = "SELECT w, COUNT(*) AS n FROM (VALUES ('a'), ('b'), ('a')) AS t (w) GROUP BY w"


def jobs_of(cluster: JobManager) -> dict[str, str]:
    with urllib.request.urlopen(f"http://{cluster.address}/jobs") as answer:
        return {job["id"]: job["status"] for job in json.load(answer)["jobs"]}


@pytest.mark.spark
def test_sessions_run_their_jobs_on_the_cluster(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    cluster = jobmanagers()
    with gateway_of(cluster, tmp_path) as address:
        asyncio.run(use(address, cluster, tmp_path))


async def use(address: str, cluster: JobManager, directory: Path) -> None:
    async with aiohttp.ClientSession() as http:
        client = Client(address, http)
        session = await client.open()
        await changes_and_results(client, session)
        await inserts(client, session, cluster, directory)
        await a_running_query(client, session, cluster)
        await running_jobs(client, cluster, directory)


async def changes_and_results(client: Client, session: str) -> None:
    operation = await client.submit(session, COUNTS)
    _, body = await client.first(operation)
    found: list[Any] = body["results"]["data"]
    while body["resultType"] != "EOS":
        body = await client.ask("GET", body["nextResultUri"].removeprefix(client.version))
        found += body["results"]["data"]
    changes = [(row["kind"], *row["fields"]) for row in found]
    assert changes.index(("UPDATE_BEFORE", "a", 1)) < changes.index(("UPDATE_AFTER", "a", 2))
    assert len(changes) == 4
    rows = await client.rows(session, COUNTS, executionConfig={"execution.runtime-mode": "batch"})
    assert sorted(rows) == [["a", 2], ["b", 1]]


async def inserts(client: Client, session: str, cluster: JobManager, directory: Path) -> None:
    path = directory / "numbers"
    table = f"CREATE TABLE numbers (n INT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    assert await client.rows(session, table) == [["OK"]]
    ((job_id,),) = await client.rows(session, "INSERT INTO numbers VALUES (1), (2)")
    assert job_id in await asyncio.to_thread(jobs_of, cluster)
    await client.rows(session, "SET 'table.dml-sync' = 'true'")
    ((job_id,),) = await client.rows(session, "INSERT INTO numbers VALUES (3)")
    assert (await asyncio.to_thread(jobs_of, cluster))[job_id] == "FINISHED"


async def a_running_query(client: Client, session: str, cluster: JobManager) -> None:
    await client.rows(session, "CREATE TABLE g (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5')")
    operation = await client.submit(session, "SELECT n FROM g")
    status, body = await client.first(operation)
    job_id = body["jobID"]
    assert (status, jobs_of(cluster)[job_id]) != (200, "CANCELED")
    assert (await client.ask("POST", f"{operation}/cancel", json={}))["status"] == "CANCELED"
    await asyncio.to_thread(wait_for, lambda: jobs_of(cluster)[job_id] == "CANCELED")


async def running_jobs(client: Client, cluster: JobManager, directory: Path) -> None:
    session = await client.open(**{"execution.checkpointing.savepoint-dir": str(directory / "savepoints")})
    await client.rows(session, "CREATE TABLE g (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5')")
    await client.rows(session, "CREATE TABLE b (n INT) WITH ('connector' = 'blackhole')")
    for stop, status in (("", "CANCELED"), (" WITH SAVEPOINT", "FINISHED")):
        ((job_id,),) = await client.rows(session, "INSERT INTO b SELECT n FROM g")
        await asyncio.to_thread(wait_for, lambda job_id=job_id: jobs_of(cluster)[job_id] == "RUNNING")
        ((described, name, *_),) = await client.rows(session, f"DESCRIBE JOB '{job_id}'")
        assert (described, name) == (job_id, "insert-into_default_catalog.default_database.b")
        ((answer,),) = await client.rows(session, f"STOP JOB '{job_id}'{stop}")
        assert answer == "OK" if not stop else (Path(answer) / "_metadata").exists()
        await asyncio.to_thread(wait_for, lambda job_id=job_id, status=status: jobs_of(cluster)[job_id] == status)
    assert "does not exist in the cluster" in await client.error(session, f"STOP JOB '{'0' * 32}'")


def test_stopping_without_a_gateway_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path))
    result = CliRunner().invoke(cli, ["sql-gateway", "stop", "--port", "8083"])
    assert result.exit_code == 1
    assert "no SQL gateway is running at port 8083" in result.stderr


def test_a_gateway_without_tokens_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    environment = {RUN_DIRECTORY: str(tmp_path)}
    done = firesteel("sql-gateway", "start-foreground", "--host", "0.0.0.0", check=False, **environment)
    assert done.returncode == 1
    assert "sql-gateway.endpoint.rest.bind-address is '0.0.0.0'" in done.stderr
