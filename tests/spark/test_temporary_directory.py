"""Temporary directories are removed with their process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.spark.temporary_directory import TemporaryDirectory

MAKE = "from firesteel.spark.temporary_directory import TemporaryDirectory; d = TemporaryDirectory('x'); print(d.path)"
WITHOUT_SHELL = "from firesteel.spark import removal_after_death as r; r._SHELL = '/no/such/shell'"


def start(directory: Path, then: str, first: str = "") -> subprocess.Popen[str]:
    """A process that runs `first`, creates a directory, prints its path, and continues with `then`."""
    environment = {**os.environ, "TMPDIR": str(directory), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-u", "-c", f"{first}\n{MAKE}; {then}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@contextlib.contextmanager
def made_directory(parent: Path, first: str = "") -> Iterator[tuple[subprocess.Popen[str], Path]]:
    with start(parent, "input()", first) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        (path / "inside").touch()
        yield process, path
        process.kill()


@pytest.fixture
def made(tmp_path):
    with made_directory(tmp_path) as made:
        yield made


def wait_until_gone(path: Path) -> None:
    deadline_s = time.monotonic() + 60
    while path.exists():
        assert time.monotonic() < deadline_s, f"{path} is left"
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["plain", "a blank and 'quotes' $HOME *", "-dash"])
def test_directory_of_a_killed_process_is_removed(tmp_path, name):
    parent = tmp_path / name
    parent.mkdir()
    with made_directory(parent) as (process, path):
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until_gone(path)
    assert parent.exists()


def test_a_path_of_two_lines_is_left_to_the_next_process(tmp_path):
    parent = tmp_path / f"first\n{tmp_path}" / "mine"
    (tmp_path / "mine").mkdir()
    parent.mkdir(parents=True)
    with start(parent, "input()") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    assert (tmp_path / "mine").exists()


def test_without_a_shell_the_next_process_removes_the_directory_of_a_killed_one(tmp_path):
    with made_directory(tmp_path, WITHOUT_SHELL) as (process, path):
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
