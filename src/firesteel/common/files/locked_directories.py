"""Directories of live processes: each process holds a lock on its directory, which is released when it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path


def remove_if_unlocked(directory: Path) -> None:
    """Remove a directory of this user, as far as possible, unless a process holds a lock on it.

    Anything else with that name is left alone: in a directory for temporary files anybody can create a pipe, which
    would be waited for, or a link.
    """
    try:
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # removed meanwhile, no directory, or owned by another user
    try:
        if os.fstat(lock).st_uid != os.getuid():
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
