"""A job goes on after an outage of the whole ensemble that is longer than a session."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.session import JobManager, Tail, firesteel
from tests.runtime.highavailability.zookeeper_server import ZooKeeperServer
from tests.waiting import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SESSION_S = 1.0


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    server = ZooKeeperServer(tmp_path / "zookeeper")
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize("tolerates", ["false", "true"])
def test_a_job_survives_an_outage_of_zookeeper(
    tmp_path: Path, jobmanagers: Callable[..., JobManager], ensemble: ZooKeeperServer, tolerates: str
) -> None:
    client = "high-availability.zookeeper.client"
    options = {
        "jobmanager.rpc.port": "0",
        "high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": ensemble.address,
        "high-availability.storageDir": str(tmp_path / "ha"),
        f"{client}.session-timeout": f"{SESSION_S:g} s",
        f"{client}.retry-wait": "100 ms",
        f"{client}.tolerate-suspended-connections": tolerates,
        "execution.checkpointing.interval": "100 ms",
    }
    tail, cluster = Tail(tmp_path), jobmanagers(**options)
    tail.write("1", "a", "b")
    job_id = firesteel("run", "-d", "-m", cluster.address, *tail.arguments).stdout.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 2)

    ensemble.kill()
    time.sleep(4 * SESSION_S)
    assert cluster.process.poll() is None
    ensemble.start()

    def status() -> str | None:
        try:
            with urllib.request.urlopen(f"http://{cluster.address}/jobs/{job_id}/status", timeout=5) as answer:
                return str(json.load(answer)["status"])
        except urllib.error.HTTPError:
            return None  # A leader is being elected.

    wait_for(lambda: status() == "RUNNING")
    tail.write("2", "a")
    wait_for(lambda: tail.lines() == Counter({"a 1": 1, "b 1": 1, "a 2": 1}))
    assert cluster.process.poll() is None
