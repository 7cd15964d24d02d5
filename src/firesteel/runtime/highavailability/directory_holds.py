"""Marks of jobs that are in use, as files in a directory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from firesteel.runtime.highavailability.file_lock import FileLock

__all__ = ["DirectoryHolds"]


class DirectoryHolds:
    """Marks that end with their process: a file for each view, locked by its process, and one for each mark.

    Args:
        root: The cluster's directory, with the directories `holders` and `holds`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._locks: dict[str, FileLock] = {}

    def hold(self, view: str, name: str) -> None:
        """Mark a job as used by a view of this process."""
        # The lock before the mark: a mark without a lock looks like that of a dead view, and is removed.
        self._locks.setdefault(view, self._lock(view)).try_acquire()
        self._mark(view, name).touch()

    def let_go(self, view: str, name: str) -> None:
        """Remove that mark."""
        self._mark(view, name).unlink(missing_ok=True)

    def is_held(self, view: str, name: str) -> bool:
        """Return whether another live view uses a job."""
        others = {holder for job, holder in self._marks() if job == name and holder != view}
        return any(self._is_alive(other) for other in sorted(others))

    def forget(self, view: str) -> None:
        """Remove all marks of a view, which is closed."""
        for job, of in self._marks():
            if of == view:
                self._mark(view, job).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._lock(view).path)
        if (lock := self._locks.pop(view, None)) is not None:
            lock.release()

    def _lock(self, view: str) -> FileLock:
        return FileLock(self._root / "holders" / view)

    def _mark(self, view: str, name: str) -> Path:
        return self._root / "holds" / f"{name}.{view}"

    def _marks(self) -> list[tuple[str, str]]:
        """Return (job, view) of each mark."""
        parts = [entry.rpartition(".") for entry in os.listdir(self._root / "holds")]
        return [(job, holder) for job, _, holder in parts]

    def _is_alive(self, view: str) -> bool:
        """Return whether a view still exists; remove the files of a dead one."""
        lock = self._lock(view)
        if not lock.try_acquire():
            return True
        self.forget(view)
        lock.release()
        return False
