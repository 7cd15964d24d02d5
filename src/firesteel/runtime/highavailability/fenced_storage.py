"""Views of fenced entries."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Protocol

from firesteel.runtime.highavailability.polling import Poller
from firesteel.runtime.highavailability.storage import Names
from firesteel.runtime.thread_pools import HIGH_AVAILABILITY

__all__ = ["FencedEntries", "FencedStorage", "Holds"]


class FencedEntries(Protocol):
    """Entries that only the current leader changes. All methods block and are thread-safe.

    With a session, each method raises a `StaleLeaderError` once that session is over; None stands for any session.
    """

    def names(self, folder: str, session_id: str | None) -> Names:
        """Return the names in a folder, oldest entry first."""
        ...

    def read(self, folder: str, name: str, session_id: str | None) -> Any | None:
        """Return the value of an entry, or None if there is no such entry."""
        ...

    def write(self, folder: str, name: str, value: object, session_id: str | None) -> None:
        """Set the value durably."""

    def move(self, name: str, source: str, target: str, session_id: str | None) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""

    def delete(self, folder: str, name: str, session_id: str | None) -> None:
        """Delete an entry; no effect if it does not exist."""


class Holds(Protocol):
    """Marks of jobs that are in use. All methods block and are thread-safe."""

    def hold(self, view: str, name: str) -> None:
        """Mark a job as used by a view of this process."""

    def let_go(self, view: str, name: str) -> None:
        """Remove that mark."""

    def is_held(self, view: str, name: str) -> bool:
        """Return whether another live view uses a job."""
        ...

    def forget(self, view: str) -> None:
        """Remove all marks of a view, which is closed."""


class FencedStorage:
    """A view of fenced entries. Flink: `persistence.filesystem.FileSystemStateStorageHelper`.

    Args:
        entries: The entries.
        holds: Where this view marks the jobs that it uses.
        session_id: The leader session; None for any.
        interval_s: Polling interval for changes by others in seconds.
    """

    def __init__(self, entries: FencedEntries, holds: Holds, session_id: str | None, interval_s: float) -> None:
        self._entries = entries
        self._holds = holds
        self._session_id = session_id
        self._interval_s = interval_s
        self._id = uuid.uuid4().hex
        self._pollers: list[Poller[Names]] = []

    async def names(self, folder: str) -> Names:
        """Return the names in a folder, oldest entry first."""
        return await HIGH_AVAILABILITY.run(self._entries.names, folder, self._session_id)

    async def read(self, folder: str, name: str) -> Any | None:
        """Return the value of an entry, or None if there is no such entry."""
        return await HIGH_AVAILABILITY.run(self._entries.read, folder, name, self._session_id)

    async def write(self, folder: str, name: str, value: object) -> None:
        """Set the value durably."""
        await HIGH_AVAILABILITY.run(self._entries.write, folder, name, value, self._session_id)

    async def move(self, name: str, source: str, target: str) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""
        await HIGH_AVAILABILITY.run(self._entries.move, name, source, target, self._session_id)

    async def delete(self, folder: str, name: str) -> None:
        """Delete an entry; no effect if it does not exist."""
        await HIGH_AVAILABILITY.run(self._entries.delete, folder, name, self._session_id)

    async def hold(self, name: str) -> None:
        """Mark a job as used by this view."""
        await HIGH_AVAILABILITY.run(self._holds.hold, self._id, name)

    async def let_go(self, name: str) -> None:
        """Remove the mark that this view uses a job."""
        await HIGH_AVAILABILITY.run(self._holds.let_go, self._id, name)

    async def is_held(self, name: str) -> bool:
        """Return whether another live view uses the job."""
        return await HIGH_AVAILABILITY.run(self._holds.is_held, self._id, name)

    def watch(self, folder: str, listener: Callable[[Names], object]) -> None:
        """Call `listener` with the names in a folder, asynchronously and then after each poll."""
        self._pollers.append(Poller(self._interval_s, lambda: self._entries.names(folder, None), listener))

    async def close(self) -> None:
        """Release all jobs and stop all watches."""
        for poller in self._pollers:
            await poller.stop()
        await HIGH_AVAILABILITY.run(self._holds.forget, self._id)
