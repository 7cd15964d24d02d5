"""Durable writes of files and directories, which survive a power failure.

What is in a temporary directory of a process is removed with the process, so it needs no durable writes.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

__all__ = ["PRIVATE_DIRECTORY", "TEMPORARY_PREFIX", "is_disk_full", "make_directory", "sync_directory", "sync_file"]

TEMPORARY_PREFIX = "firesteel-tmp-"
"""Beginning of the names of directories that are removed with their process, even if that is killed."""


def sync_file(path: str | Path) -> None:
    """Sync the contents of a file to disk, regardless of which process wrote them."""
    _sync(path)


def sync_directory(path: str | Path) -> None:
    """Sync the entries of a directory to disk."""
    _sync(path)


def _sync(path: str | Path) -> None:
    if f"{os.sep}{TEMPORARY_PREFIX}" in os.fspath(path):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


PRIVATE_DIRECTORY = 0o700
"""The mode of a directory that only its owner can access."""


def make_directory(path: Path, below: Path | None = None, mode: int = 0o777) -> None:
    """Create a directory with its parents, durably: sync each parent of a new directory.

    Args:
        path: The directory; nothing happens if it exists.
        below: An ancestor that must exist, so that a removed directory is not created again.
        mode: The mode of the directory itself, less the umask, if it is created.

    Raises:
        FileNotFoundError: `below` does not exist.
    """
    if path == below or path.is_dir():
        if not path.is_dir():
            raise FileNotFoundError(f"directory {path} does not exist")
        return
    make_directory(path.parent, below)
    path.mkdir(mode, exist_ok=True)
    sync_directory(path.parent)


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error or one of its causes is a full disk or an exceeded disk quota.

    Example:
        >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device")), is_disk_full(OSError(errno.EIO, "broken"))
        (True, False)
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False
