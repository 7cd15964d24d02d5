from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from firesteel.spark.guarded_process import GuardedProcess
from tests.waiting import wait_for

SLEEPER = ["/bin/sleep", "600"]  # It does not read its standard input, as Java does not while it starts.


def killed_after(delay_s: float) -> int:
    """Return the id of a guarded process that another one starts, which is killed so long after."""
    told, tell = os.pipe()
    if (starter := os.fork()) == 0:
        with tempfile.TemporaryFile() as log:
            os.write(tell, str(GuardedProcess(SLEEPER, os.environ, log).pid).encode())
        time.sleep(delay_s)
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(tell)
    os.waitpid(starter, 0)
    with os.fdopen(told) as process:
        return int(process.read())


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_it_ends_whenever_its_parent_is_killed() -> None:
    delays = random.Random(40)
    processes = [killed_after(delays.uniform(0, 0.01)) for _ in range(30)]
    wait_for(lambda: all(map(is_gone, processes)))


def test_its_children_end_with_it(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        process = GuardedProcess(["/bin/sh", "-c", "sleep 600 & echo $!; wait"], os.environ, log)
    wait_for(lambda: (tmp_path / "log").read_text().endswith("\n"))
    process.end()
    wait_for(lambda: is_gone(int((tmp_path / "log").read_text())))
    assert process.returncode == -signal.SIGKILL
    process.end()


def test_it_has_its_own_input_output_and_exit_code(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        process = GuardedProcess(["/bin/sh", "-c", "cat; echo error >&2; exit 7"], {"A": "1"}, log)
    process.communicate(b"input\n")
    process.end()
    assert process.returncode == 7
    assert (tmp_path / "log").read_text() == "input\nerror\n"


def test_no_descriptor_is_left_if_it_cannot_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("firesteel.spark.guarded_process._SHELL", "/missing/shell")
    before = os.listdir("/proc/self/fd")
    with (tmp_path / "log").open("ab") as log, pytest.raises(FileNotFoundError):
        GuardedProcess(SLEEPER, os.environ, log)
    assert os.listdir("/proc/self/fd") == before
