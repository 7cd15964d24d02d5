"""The storage of entries: named values in folders, written by the current leader only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["CLEAN_RESULTS", "DIRTY_RESULTS", "FOLDERS", "JOBS", "REMOVED_JOBS", "RUNNING_JOBS", "HaStorage", "Names"]

JOBS = "jobs"
REMOVED_JOBS = "removed-jobs"
DIRTY_RESULTS = "dirty-results"
CLEAN_RESULTS = "clean-results"
RUNNING_JOBS = "running-jobs"
FOLDERS = (JOBS, REMOVED_JOBS, DIRTY_RESULTS, CLEAN_RESULTS, RUNNING_JOBS)

Names = tuple[str, ...]


class HaStorage(Protocol):
    """One user's view of the entries. Flink: `runtime.persistence.StateHandleStore`.

    Each change is atomic, and durable when the call returns. A view of a leader session changes nothing when that
    session is over: check and change are one atomic step, even if this process is suspended.
    """

    async def names(self, folder: str) -> Names:
        """Return the names in a folder, oldest entry first."""
        ...

    async def read(self, folder: str, name: str) -> Any | None:
        """Return the value of an entry, or None if there is no such entry.

        Raises:
            CorruptEntryError: the entry can't be read.
        """
        ...

    async def write(self, folder: str, name: str, value: object) -> None:
        """Set the value of an entry.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def move(self, name: str, source: str, target: str) -> None:
        """Move an entry from one folder to another; no effect if it does not exist.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def delete(self, folder: str, name: str) -> None:
        """Delete an entry; no effect if it does not exist.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def hold(self, name: str) -> None:
        """Mark job `name` as used by this view, until it lets go, is closed or its process ends."""

    async def let_go(self, name: str) -> None:
        """Remove the mark that this view uses a job."""

    async def is_held(self, name: str) -> bool:
        """Return whether another live view uses the job."""
        ...

    def watch(self, folder: str, listener: Callable[[Names], object]) -> None:
        """Call `listener` on the loop with the names in a folder, asynchronously and at least after each change."""

    async def close(self) -> None:
        """Release all jobs and stop all watches."""
