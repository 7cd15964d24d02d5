"""A real Prometheus scrapes `/metrics` and loads the alert rules."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import job_graph

RULES = Path(__file__).parents[2] / "deploy/prometheus/rules.yaml"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("prometheus") is None and not os.environ.get("FIRESTEEL_REQUIRE_PROMETHEUS"),
        reason="NO PROMETHEUS, SO NONE SCRAPES THE METRICS; install it: apt-get install prometheus",
    ),
]


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@asynccontextmanager
async def prometheus(target: str, directory: Path) -> AsyncIterator[str]:
    """Start a Prometheus that scrapes a server each second; yields its address."""
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "firesteel", "static_configs": [{"targets": [target]}]}],
    }
    (directory / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    address = f"127.0.0.1:{_free_port()}"
    process = await asyncio.create_subprocess_exec(
        "prometheus",
        f"--config.file={directory / 'prometheus.yaml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=error",
    )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        await process.wait()


async def _answer(session: aiohttp.ClientSession, url: str) -> Any:
    """Return the data of an answer as soon as there is some."""
    for _ in range(200):
        try:
            async with session.get(url) as answer:
                found = (await answer.json())["data"]
            if found.get("result", found.get("groups")):
                return found
        except (aiohttp.ClientError, KeyError):
            pass
        await asyncio.sleep(0.1)
    raise AssertionError(f"{url} has no answer")


async def test_prometheus_scrapes_the_metrics_and_loads_the_rules(rest: Rest, tmp_path: Path) -> None:
    await rest.cluster.submit(job_graph(("a", 2, []), name='odd "name"'))
    async with prometheus(rest.server.address.removeprefix("http://"), tmp_path) as address:
        found = await _answer(rest.session, f"{address}/api/v1/query?query=flink_jobmanager_job_numRestarts")
        assert found["result"][0]["metric"]["job_name"] == 'odd "name"'
        assert found["result"][0]["value"][1] == "0"
        meaning = await rest.session.get(f"{address}/api/v1/metadata?metric=flink_jobmanager_taskSlotsTotal")
        [described] = (await meaning.json())["data"]["flink_jobmanager_taskSlotsTotal"]
        assert (described["type"], described["help"]) == ("gauge", "slots of all TaskManagers")
        rules = await _answer(rest.session, f"{address}/api/v1/rules")
        assert {rule["health"] for rule in rules["groups"][0]["rules"]} <= {"ok", "unknown"}
