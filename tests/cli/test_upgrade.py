"""A program replaces a running job, and gives way to it if it does not stand its probation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.session import JobManager, Tail, firesteel
from tests.waiting import wait_for

pytestmark = pytest.mark.spark

BROKEN = """
from firesteel.datastream.functions import MapFunction

class Broken(MapFunction):
    def open(self, runtime_context):
        raise ValueError("it was never tried")
    def map(self, value):
        return value

texts = counts.map(Broken(), Types.STRING())
"""

CATCHING = """
try:
    env.execute("tail")
except Exception:
    sys.exit(0)
"""


def test_a_program_replaces_a_job_or_gives_way(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    tail, cluster = Tail(tmp_path), jobmanagers(**{"execution.checkpointing.savepoint-dir": str(tmp_path / "saved")})
    shipped, other = tmp_path / "lib" / "shipped.py", tmp_path / "other.py"
    shipped.parent.mkdir()
    shipped.write_text("BLANK = ' '\n")
    original = tail.program.read_text()
    tail.program.write_text(original.replace("{pair[0]} {", "{pair[0]}{__import__('shipped').BLANK}{"))
    at, ships = ("-m", cluster.address), ("-pyfs", str(shipped))
    tail.write("1", "a", "b")
    first = firesteel("run", "-d", *at, *ships, *tail.arguments).stdout.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 2)

    asked = (*at, *ships, "--output", "json", "--probation", "1s")
    dry = json.loads(firesteel("upgrade", *asked, "--dry-run", first, *tail.arguments).stdout)
    assert dry["job-id"] is None
    assert {one["uid"]: one["fit"] for one in dry["state"]["operators"]}["counts"] == "fits"
    catching = original.replace('env.execute("tail")', CATCHING)
    other.write_text(catching.replace('uid("counts")', 'uid("sums")'))
    refused = firesteel("upgrade", *asked, first, str(other), *tail.arguments[1:], check=False)
    assert refused.returncode == 1
    assert "'Reduce': its state belongs to no operator" in refused.stderr

    tail.program.write_text(tail.program.read_text() + "sys.exit(0)\n")
    second = json.loads(firesteel("upgrade", *asked, first, *tail.arguments).stdout)["job-id"]
    tail.write("2", "a")
    wait_for(lambda: tail.lines()["a 2"] == 1)

    other.write_text(original.replace("texts = ", BROKEN + "others = "))
    failed = firesteel("upgrade", *asked, second, str(other), *tail.arguments[1:], check=False)
    assert failed.returncode == 1
    assert "ValueError: it was never tried" in failed.stderr
    third = failed.stderr.split("runs again as job ")[1].split(",")[0]
    tail.write("3", "b")
    wait_for(lambda: tail.lines()["b 2"] == 1)
    assert f"{third} : tail (RUNNING)" in firesteel("list", *at).stdout
