"""A JobManager killed at random moments loses no acknowledged job and runs no finished one again."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.objects.server import Bucket
from tests.runtime.recovery.killing import Figures, Killing, at_times, filesystem, object_store, zookeeper

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("FIRESTEEL_RECOVERY_KILLS", "4"))
SEED = int(os.environ.get("FIRESTEEL_RECOVERY_SEED", "1"))


def check(figures: Figures) -> None:
    assert (figures.lost, figures.run_again) == (set(), set()), f"seed {SEED}: {figures}"
    assert figures.kills == KILLS
    assert len(figures.acknowledged) > 0


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTEEL_RPC_SECRET", os.urandom(16).hex())


async def test_no_job_is_lost_or_run_again_with_the_filesystem_kind(tmp_path: Path) -> None:
    check(await Killing(filesystem(tmp_path), tmp_path, SEED).run(KILLS))


async def test_no_job_is_lost_or_run_again_with_the_zookeeper_kind(zookeeper_server: object, tmp_path: Path) -> None:
    address: str = zookeeper_server.address  # type: ignore[attr-defined]
    check(await Killing(zookeeper(address, tmp_path), tmp_path, SEED).run(KILLS))


async def test_no_job_is_lost_or_run_again_with_an_object_store(bucket: Bucket, tmp_path: Path) -> None:
    with bucket.server.failing(at_times(random.Random(SEED))):
        check(await Killing(object_store(bucket), tmp_path, SEED).run(KILLS))
