"""A JobManager of the commit before and one of this commit share a cluster, or refuse each other by name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.session import JobManager, Tail, firesteel
from tests.waiting import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def former_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of the commit before."""
    sources, wheels = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheels")
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "--format=zip", "-o", str(sources / "sources.zip"), "HEAD^"],
        capture_output=True,
        text=True,
        check=False,
    )
    if archive.returncode:
        pytest.skip(f"there is no commit before this one here: {archive.stderr.strip()}")
    zipfile.ZipFile(sources / "sources.zip").extractall(sources)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels), str(sources)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = wheels.glob("*.whl")
    unpacked = tmp_path_factory.mktemp("former")
    zipfile.ZipFile(wheel).extractall(unpacked)
    return unpacked


def asked(cluster: JobManager, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://{cluster.address}{path}", timeout=30) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.read().decode())


@pytest.mark.parametrize("is_newer_first", [False, True], ids=["upgrade", "downgrade"])
def test_jobs_go_on_with_a_jobmanager_of_another_release(
    tmp_path: Path,
    former_release: Path,
    jobmanagers: Callable[..., JobManager],
    monkeypatch: pytest.MonkeyPatch,
    is_newer_first: bool,
) -> None:
    options = {
        "jobmanager.rpc.port": "0",
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path / "ha"),
        "execution.checkpointing.interval": "100 ms",
    }

    def start(is_newer: bool) -> JobManager:
        with monkeypatch.context() as process:
            if not is_newer:
                process.setenv("PYTHONPATH", os.pathsep.join([str(former_release), os.environ.get("PYTHONPATH", "")]))
            return jobmanagers(**options)

    first = start(is_newer_first)
    tail = Tail(tmp_path)
    tail.write("1", "a", "b")
    said = firesteel("run", "-d", "-m", first.address, *tail.arguments).stdout
    job_id = said.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 2)

    standby = start(not is_newer_first)
    seen = asked(standby, "/jobs/overview")
    assert job_id in seen or "of the protocol, this process" in seen, seen

    first.end(signal.SIGTERM)
    wait_for(lambda: f'"{job_id}"' in (found := asked(standby, "/jobs/overview")) and '"RUNNING"' in found)
    tail.write("2", "a")
    wait_for(lambda: tail.lines() == Counter({"a 1": 1, "b 1": 1, "a 2": 1}))
    environment = json.loads(asked(standby, "/jobmanager/environment"))
    assert (str(former_release) in environment["classpath"]) is is_newer_first
