"""Directories that belong to living processes: each holds a lock on its own, which goes with the process."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path


def remove_if_unlocked(directory: Path) -> None:
    """Remove a directory, as far as that is possible, if no process holds a lock on it."""
    try:
        lock = os.open(directory, os.O_RDONLY)
    except OSError:
        return  # gone meanwhile, or of another user
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
