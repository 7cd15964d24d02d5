"""High availability between the processes of one machine, based on a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firesteel.runtime.highavailability.directory_holds import DirectoryHolds
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.fenced_directory import LEADERS, FencedDirectory
from firesteel.runtime.highavailability.fenced_services import FencedHaServices
from firesteel.runtime.highavailability.file_lock import FileLock
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, StaleLeaderError
from firesteel.runtime.highavailability.shared_election import Published

__all__ = ["FileSystemHaServices"]

POLL_INTERVAL_S = 0.1


class _Lock:
    """The leadership as a lock file.

    A suspended process keeps its lock, so it stays the leader until it ends. An administrator may delete `leader.lock`:
    another process then leads, and writes of the suspended one are rejected.
    """

    def __init__(self, directory: FencedDirectory) -> None:
        self._directory = directory
        self._lock = FileLock(directory.root / "leader.lock")

    def acquire(self) -> str | None:
        """Take over if the lock is free."""
        return self._directory.take_over() if self._lock.try_acquire() else None

    def keeps(self, session_id: str) -> bool:
        """Return whether the lock is held and nobody has taken over."""
        return self._lock.is_held() and self._directory.is_present(session_id)

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component, None for no leader."""
        if address is None:
            self._directory.delete(LEADERS, component, session_id)
        else:
            self._directory.write(LEADERS, component, (address, session_id), session_id)

    def leaders(self, components: tuple[str, ...]) -> dict[str, Published]:
        """Return the leaders of some components, ignoring those published by former leaders."""
        session_id = self._directory.session_id()
        found: dict[str, Published] = {}
        for component in components:
            try:
                leader: Any = self._directory.read(LEADERS, component, session_id)
            except StaleLeaderError:
                return {}  # Leadership changed while reading; the next poll returns the result.
            except CorruptEntryError:
                leader = None
            found[component] = leader if leader is not None and leader[1] == session_id else (None, None)
        return found

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()


class FileSystemHaServices(FencedHaServices):
    """High availability between the processes of one machine, each with its own object.

    Survives `kill -9` at any instruction. Flink has none of this kind for elections; its stores are
    `highavailability.nonha.FileSystemJobResultStore` and `jobmanager.DefaultExecutionPlanStore`.

    Args:
        root: The cluster's directory on a local disk.
        codec: Signs the entries.
        delete_on_commit: Whether results are deleted once their jobs are cleaned up.
        interval_s: Polling interval for changes by other processes in seconds.
    """

    def __init__(
        self, root: Path, codec: EntryCodec, delete_on_commit: bool = True, interval_s: float = POLL_INTERVAL_S
    ) -> None:
        directory = FencedDirectory(root, codec)
        super().__init__(_Lock(directory), directory, DirectoryHolds(root), delete_on_commit, interval_s)
