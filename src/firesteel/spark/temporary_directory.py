"""Directories for temporary files that are removed even if their process is killed.

A shell waits for the end of the process. In case that it was killed, too: a process holds a lock on each of its
directories, which the kernel releases when the process ends or is killed. Each process that creates or removes a
directory also removes the unlocked ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from firesteel.common.files.durability import TEMPORARY_PREFIX
from firesteel.common.files.locked_directories import remove_if_unlocked
from firesteel.common.files.temporary_directories import made_directory
from firesteel.spark.removal_after_death import remove_after_death


class TemporaryDirectory:
    """A temporary directory of this process.

    Args:
        name: The purpose of the directory, which becomes part of its name.
        configured: The parent directory, a result of `temporary_directory`; None for that of the system.

    Attributes:
        path: The path of the directory.

    Example:
        >>> directory = TemporaryDirectory("example")
        >>> directory.path.is_dir()
        True
        >>> directory.remove()
        >>> directory.path.exists()
        False
    """

    def __init__(self, name: str, configured: str | None = None) -> None:
        self._parent = made_directory(configured)
        _remove_abandoned(self._parent)
        self.path, self._lock = _make_locked(self._parent, name)

    def remove(self) -> None:
        """Remove the directory with its contents; may be called repeatedly."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            # Repeat, as children of a killed process may have written for a moment longer.
            _remove_abandoned(self._parent)


def _make_locked(parent: str, name: str) -> tuple[Path, int]:
    while True:
        path = tempfile.mkdtemp(prefix=f"{TEMPORARY_PREFIX}{name}-", dir=parent)
        # Another process may take it for an abandoned directory before it is locked.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            # It may have been removed between the two calls above; then the lock is on nothing.
            if os.path.exists(path):
                remove_after_death(Path(path).absolute())
                return Path(path), lock
            os.close(lock)


def _remove_abandoned(parent: str) -> None:
    """Remove the directories whose processes have ended."""
    for path in Path(parent).glob(f"{TEMPORARY_PREFIX}*"):
        remove_if_unlocked(path)
