"""Where the stores keep their entries: named values in folders, written by the present leader only."""

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

    Each change is atomic and durable once it is answered. A view that belongs to a leader session changes nothing
    when that session is over: check and change are one step, whatever happens in between to this process.
    """

    async def names(self, folder: str) -> Names:
        """The names in a folder, oldest entry first."""
        ...

    async def read(self, folder: str, name: str) -> Any | None:
        """The value, or None if there is no such entry.

        Raises:
            CorruptEntryError: it can't be read back.
        """
        ...

    async def write(self, folder: str, name: str, value: Any) -> None:
        """Set the value.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def move(self, name: str, source: str, target: str) -> None:
        """Move an entry from one folder to another; no effect if it is not there.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def delete(self, folder: str, name: str) -> None:
        """Delete an entry; no effect if it is not there.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def hold(self, name: str) -> None:
        """Tell the others that this view uses the job `name`, until it lets go, is closed or its process dies."""

    async def let_go(self, name: str) -> None:
        """This view uses the job no longer."""

    async def is_held(self, name: str) -> bool:
        """Whether another living view uses the job."""
        ...

    def watch(self, folder: str, listener: Callable[[Names], object]) -> None:
        """Call `listener` on the loop with the names in a folder, soon, and again at least after each change."""

    async def close(self) -> None:
        """Let go of everything and watch nothing any more."""
