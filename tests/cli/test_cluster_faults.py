"""A session cluster with ZooKeeper whose leader is killed or sleeps, or whose disk is full: a few of `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.change_faults import RESCALE, UPGRADE, ChangingCluster
from tests.cli.cluster_faults import FULL_DISK, LEADER, PAUSED

pytestmark = pytest.mark.spark


def test_killed_or_paused_leaders_lose_and_duplicate_nothing(tmp_path: Path) -> None:
    cluster = ChangingCluster(tmp_path, has_executors=False)
    try:
        cluster.hit(PAUSED)
        for change, fault in (
            (RESCALE, LEADER),
            (UPGRADE, LEADER),
            *([(RESCALE, FULL_DISK)] if cluster.has_disk else []),
        ):
            cluster.change(change, fault)
        cluster.end()
    finally:
        cluster.close()
