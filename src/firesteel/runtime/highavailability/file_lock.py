"""Locks of the operating system, which are released when their process ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

__all__ = ["FileLock"]


class FileLock:
    """An exclusive lock on a file, acquired without waiting.

    Locks of two objects in one process exclude each other. Child processes do not inherit the lock.

    Args:
        path: The file, created if necessary.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free; return whether it is held now."""
        if self.is_held():
            return True
        self.release()  # The file was replaced since it was locked.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        if self.is_held():
            return True
        self.release()  # The file was replaced between open and lock.
        return False

    def is_held(self) -> bool:
        """Return whether the lock is held and the file is still the one that others would lock."""
        if self._descriptor is None:
            return False
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
