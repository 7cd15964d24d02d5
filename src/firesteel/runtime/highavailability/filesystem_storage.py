"""Entries in a fenced directory."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firesteel.runtime.highavailability.fenced_directory import FencedDirectory
from firesteel.runtime.highavailability.file_lock import FileLock
from firesteel.runtime.highavailability.polling import Poller
from firesteel.runtime.highavailability.storage import Names
from firesteel.runtime.thread_pools import HIGH_AVAILABILITY

__all__ = ["FileSystemStorage"]


class FileSystemStorage:
    """A view of the entries in a directory. Flink: `persistence.filesystem.FileSystemStateStorageHelper`.

    Args:
        directory: The directory of the entries.
        session_id: The leader session; None for any.
        interval_s: Polling interval for changes by others in seconds.
    """

    def __init__(self, directory: FencedDirectory, session_id: str | None, interval_s: float) -> None:
        self._directory = directory
        self._session_id = session_id
        self._interval_s = interval_s
        self._id = uuid.uuid4().hex
        self._lock = FileLock(directory.root / "holders" / self._id)
        self._pollers: list[Poller[Names]] = []

    async def names(self, folder: str) -> Names:
        """Return the names in a folder, oldest entry first."""
        return await HIGH_AVAILABILITY.run(self._directory.names, folder, self._session_id)

    async def read(self, folder: str, name: str) -> Any | None:
        """Return the value of an entry, or None if there is no such entry."""
        return await HIGH_AVAILABILITY.run(self._directory.read, folder, name, self._session_id)

    async def write(self, folder: str, name: str, value: object) -> None:
        """Set the value durably."""
        await HIGH_AVAILABILITY.run(self._directory.write, folder, name, value, self._session_id)

    async def move(self, name: str, source: str, target: str) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""
        await HIGH_AVAILABILITY.run(self._directory.move, name, source, target, self._session_id)

    async def delete(self, folder: str, name: str) -> None:
        """Delete an entry; no effect if it does not exist."""
        await HIGH_AVAILABILITY.run(self._directory.delete, folder, name, self._session_id)

    async def hold(self, name: str) -> None:
        """Mark a job as used by this view."""
        await HIGH_AVAILABILITY.run(self._hold, name)

    async def let_go(self, name: str) -> None:
        """Remove the mark that this view uses a job."""
        await HIGH_AVAILABILITY.run(self._hold_of(name).unlink, missing_ok=True)

    async def is_held(self, name: str) -> bool:
        """Return whether another live view uses the job."""
        return await HIGH_AVAILABILITY.run(self._is_held, name)

    def watch(self, folder: str, listener: Callable[[Names], object]) -> None:
        """Call `listener` with the names in a folder, asynchronously and then after each poll."""
        self._pollers.append(Poller(self._interval_s, lambda: self._directory.names(folder, None), listener))

    async def close(self) -> None:
        """Release all jobs and stop all watches."""
        for poller in self._pollers:
            await poller.stop()
        await HIGH_AVAILABILITY.run(self._forget, self._id)
        self._lock.release()

    def _hold_of(self, name: str) -> Path:
        return self._directory.root / "holds" / f"{name}.{self._id}"

    def _hold(self, name: str) -> None:
        self._lock.try_acquire()
        self._hold_of(name).touch()

    def _is_held(self, name: str) -> bool:
        holders = {holder for job, holder in self._holds() if job == name and holder != self._id}
        return any(self._is_alive(holder) for holder in sorted(holders))

    def _holds(self) -> list[tuple[str, str]]:
        """Return (job, view) of each hold."""
        parts = [entry.rpartition(".") for entry in os.listdir(self._directory.root / "holds")]
        return [(job, holder) for job, _, holder in parts]

    def _is_alive(self, holder: str) -> bool:
        """Return whether a view still exists; remove the files of a dead one."""
        lock = FileLock(self._directory.root / "holders" / holder)
        if not lock.try_acquire():
            return True
        self._forget(holder)
        lock.release()
        return False

    def _forget(self, holder: str) -> None:
        for job, of in self._holds():
            if of == holder:
                (self._directory.root / "holds" / f"{job}.{holder}").unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._directory.root / "holders" / holder)
