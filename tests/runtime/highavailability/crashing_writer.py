"""Changes a fenced directory in processes of its own that are killed at each line in turn; checks what is left.

Run as a program with an empty directory as its argument.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from firesteel.runtime.highavailability import fenced_directory
from firesteel.runtime.highavailability.fenced_directory import FencedDirectory
from firesteel.runtime.highavailability.storage import CLEAN_RESULTS, DIRTY_RESULTS, JOBS
from tests.runtime.highavailability.kinds import CODEC


def change(root: Path, acknowledge: int) -> None:
    directory = FencedDirectory(root, CODEC)
    session_id = directory.take_over()
    steps = (
        lambda: directory.write(JOBS, "new", "new", session_id),
        lambda: directory.write(JOBS, "kept", "second", session_id),
        lambda: directory.move("moved", DIRTY_RESULTS, CLEAN_RESULTS, session_id),
        lambda: directory.delete(JOBS, "deleted", session_id),
    )
    for step in steps:
        step()
        os.write(acknowledge, b".")


def killed_at_line(number: int) -> Any:
    """A trace function that kills the process at the n-th line of the module under test."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != fenced_directory.__file__:
            return None
        count += event == "line"
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def crash(root: Path, line: int) -> tuple[int, bool]:
    """How many steps were acknowledged, and whether the process was killed before its end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        sys.settrace(killed_at_line(line))
        change(root, writer)
        sys.settrace(None)
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    acknowledged = len(os.read(reader, 100))
    os.close(reader)
    return acknowledged, os.WIFSIGNALED(status)


def check(root: Path, acknowledged: int) -> None:
    directory = FencedDirectory(root, CODEC)
    session_id = directory.take_over()
    assert len([name for name in os.listdir(root) if name.startswith("state-")]) == 1

    def read(folder: str, name: str) -> Any:
        return directory.read(folder, name, session_id)

    assert read(JOBS, "untouched") == "first"
    assert read(JOBS, "new") in ({"new"} if acknowledged > 0 else {"new", None})
    assert read(JOBS, "kept") in ({"second"} if acknowledged > 1 else {"first", "second"})
    places = [folder for folder in (DIRTY_RESULTS, CLEAN_RESULTS) if read(folder, "moved") == "first"]
    assert len(places) == 1
    assert acknowledged <= 2 or places == [CLEAN_RESULTS]
    assert read(JOBS, "deleted") in ({None} if acknowledged > 3 else {None, "first"})
    assert os.listdir(root / f"state-{session_id}" / "temporary") == []


def prepare(root: Path) -> None:
    directory = FencedDirectory(root, CODEC)
    for folder, name in ((JOBS, "untouched"), (JOBS, "kept"), (JOBS, "deleted"), (DIRTY_RESULTS, "moved")):
        directory.write(folder, name, "first", None)


def crash_at_every_line(parent: Path, is_prepared: bool) -> int:
    """How many lines there were."""
    line, is_killed = 0, True
    while is_killed:
        line += 1
        root = parent / f"{'old' if is_prepared else 'new'}-{line}"
        if is_prepared:
            prepare(root)
        acknowledged, is_killed = crash(root, line)
        if is_prepared:
            check(root, acknowledged)
        elif acknowledged:
            directory = FencedDirectory(root, CODEC)
            assert directory.read(JOBS, "new", directory.take_over()) == "new"
        else:
            FencedDirectory(root, CODEC).take_over()
        shutil.rmtree(root)
    return line - 1


def main(parent: Path) -> None:
    print(crash_at_every_line(parent, is_prepared=True), crash_at_every_line(parent, is_prepared=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
