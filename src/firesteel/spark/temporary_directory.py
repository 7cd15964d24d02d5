"""Directories for temporary files that go with their process, however it ends.

A process holds a lock on each of its directories. The lock goes with the process, also when that is killed; so
whoever makes or removes a directory knows which others nobody uses any more, and removes those.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from firesteel.common.locked_directories import remove_if_unlocked

_PREFIX = "firesteel-tmp-"


class TemporaryDirectory:
    """A directory of this process.

    Args:
        name: What it is for; part of its name.

    Attributes:
        path: Where it is.

    Example:
        >>> directory = TemporaryDirectory("example")
        >>> directory.path.is_dir()
        True
        >>> directory.remove()
        >>> directory.path.exists()
        False
    """

    def __init__(self, name: str) -> None:
        _remove_abandoned(tempfile.gettempdir())
        self.path, self._lock = _make_locked(name)

    def remove(self) -> None:
        """Remove it with all that is in it; may be called again."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            # Again: what a killed process had started may have written for a moment longer.
            _remove_abandoned(tempfile.gettempdir())


def _make_locked(name: str) -> tuple[Path, int]:
    while True:
        path = tempfile.mkdtemp(prefix=f"{_PREFIX}{name}-")
        # Before it is locked, somebody may take it for an abandoned one.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(path):
                return Path(path), lock
            os.close(lock)


def _remove_abandoned(parent: str) -> None:
    """Remove the directories whose processes are gone."""
    for path in Path(parent).glob(f"{_PREFIX}*"):
        remove_if_unlocked(path)
