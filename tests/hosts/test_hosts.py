"""Jobs on hosts that share nothing but the network: state and files are on S3, all between hosts goes through TLS."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.cluster import WORKERS, HostCluster
from tests.hosts.network import network, why_not
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        bool(why_not()) and "FIRESTEEL_REQUIRE_HOSTS" not in os.environ, reason=f"no hosts here: {why_not()}"
    ),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[HostCluster]:
    with network(tmp_path) as made:
        yield HostCluster(made)


def test_words_are_counted_from_s3_to_s3_while_hosts_are_lost(cluster: HostCluster) -> None:
    cluster.write("1", "a", "b", "a", *(f"w{number}" for number in range(20)))
    job_id = cluster.submit()
    wait_for(cluster.is_exact)
    busy = [cluster.hosts[name] for name in WORKERS if cluster.hosts[name].processes("task_manager_process")]
    assert len(busy) >= 2

    busy[0].crash()
    cluster.write("2", "a", "c")
    begun = time.monotonic()
    busy[0].come_back()
    cluster.start_worker(busy[0].name)
    wait_for(cluster.is_exact)
    print(f"a lost host: {time.monotonic() - begun:.1f} s until all was committed")

    leader = cluster.leader()
    begun = time.monotonic()
    leader.crash()
    cluster.write("3", "b", "d")
    wait_for(cluster.is_exact)
    print(f"a lost leader: {time.monotonic() - begun:.1f} s until all was committed")
    assert cluster.get(f"/jobs/{job_id}")["state"] == "RUNNING"
