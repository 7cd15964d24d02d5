"""A session cluster with ZooKeeper whose leader is killed, or paused until another leads: a few of `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.cluster_faults import LEADER, PAUSED, FaultyCluster

pytestmark = pytest.mark.spark


def test_nothing_is_lost_or_doubled_when_leaders_die_or_sleep(tmp_path: Path) -> None:
    cluster = FaultyCluster(tmp_path, has_executors=False)
    try:
        for fault in (PAUSED, LEADER):
            cluster.hit(fault)
        cluster.end()
    finally:
        cluster.close()
