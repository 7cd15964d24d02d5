"""Temporary directories are removed with their process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.spark.temporary_directory import TemporaryDirectory

MAKE = "from firesteel.spark.temporary_directory import TemporaryDirectory; d = TemporaryDirectory('x'); print(d.path)"


def start(directory: Path, then: str) -> subprocess.Popen[str]:
    """A process that creates a directory, prints its path, and continues with `then`."""
    environment = {**os.environ, "TMPDIR": str(directory), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-u", "-c", f"{MAKE}; {then}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.fixture
def made(tmp_path):
    with start(tmp_path, "input()") as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        (path / "inside").touch()
        yield process, path
        process.kill()


def test_directory_of_a_killed_process_is_removed_by_the_next_one(made, tmp_path):
    process, path = made
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.exists()
    with start(tmp_path, "d.remove()") as other:
        assert other.wait() == 0
    assert list(tmp_path.iterdir()) == []


def test_directory_in_use_is_left_alone(made, tmp_path):
    _, path = made
    with start(tmp_path, "d.remove()") as other:
        assert other.wait() == 0
    assert list(tmp_path.iterdir()) == [path]


def test_what_others_have_put_there_is_left_alone_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "firesteel-tmp-pipe")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    (tmp_path / "firesteel-tmp-link").symlink_to(tmp_path / "mine")
    (tmp_path / "firesteel-tmp-file").touch()
    if os.getuid() == 0:
        (tmp_path / "firesteel-tmp-theirs").mkdir()
        os.chown(tmp_path / "firesteel-tmp-theirs", 65534, 65534)
    before = sorted(tmp_path.rglob("*"))
    with start(tmp_path, "d.remove()") as process:
        try:
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert sorted(tmp_path.rglob("*")) == before


def test_removing_twice_does_nothing():
    directory = TemporaryDirectory("twice")
    directory.remove()
    directory.remove()
    assert not directory.path.exists()
