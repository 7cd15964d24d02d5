"""Directories of live processes: each process holds a lock on its directory, which is released when it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path


def remove_if_unlocked(directory: Path) -> None:
    """Remove a directory, as far as possible, unless a process holds a lock on it."""
    try:
        lock = os.open(directory, os.O_RDONLY)
    except OSError:
        return  # removed meanwhile, or owned by another user
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
