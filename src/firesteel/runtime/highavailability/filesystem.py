"""High availability between the processes of one machine, based on a directory."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.fenced_directory import LEADERS, FencedDirectory
from firesteel.runtime.highavailability.file_lock import FileLock
from firesteel.runtime.highavailability.filesystem_storage import FileSystemStorage
from firesteel.runtime.highavailability.high_availability import HaStores, LeaderElection, LeaderRetrieval
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, StaleLeaderError
from firesteel.runtime.highavailability.job_graph_store import SharedJobGraphStore
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.polling import LeaderPoller, PolledLeaderRetrieval, Poller
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry
from firesteel.runtime.highavailability.shared_election import ElectionListener, Published, SharedLeaderElection

__all__ = ["FileSystemHaServices", "FileSystemLeaderElectionDriver"]

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class _Finding:
    """The result of polling the election: this process's session if it leads, and the published leaders."""

    session_id: str | None
    leaders: dict[str, Published]


class FileSystemLeaderElectionDriver:
    """An election driver where the process with the lock file leads; changes are polled.

    A suspended process keeps its lock, so it stays the leader until it ends. An administrator may delete `leader.lock`:
    another process then leads, and writes of the suspended one are rejected.

    Args:
        directory: The directory of the election.
        interval_s: Polling interval for the lock in seconds.
    """

    def __init__(self, directory: FencedDirectory, interval_s: float = POLL_INTERVAL_S) -> None:
        self._directory = directory
        self._interval_s = interval_s
        self._lock = FileLock(directory.root / "leader.lock")
        self._thread = ThreadPoolExecutor(1, "leader-election")
        self._session_id: str | None = None
        self._published: set[str] = set()
        self._due: dict[str, str | None] = {}
        self._poller: Poller[_Finding] | None = None
        self._listener: ElectionListener | None = None
        self._told: str | None = None

    def start(self, listener: ElectionListener) -> None:
        """Join the election."""
        self._listener = listener
        self._poller = Poller(self._interval_s, lambda: self._thread.submit(self._look).result(), self._tell)

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component."""
        work = self._thread.submit(self._publish_or_note, component, session_id, address)
        work.add_done_callback(lambda done: _log_error(done, component))

    async def close(self) -> None:
        """Leave the election; published addresses disappear."""
        if self._poller is not None:
            await self._poller.stop()
            self._poller = None
        self._told = None
        await asyncio.wrap_future(self._thread.submit(self._leave))

    def _tell(self, finding: _Finding) -> None:
        if self._listener is None:
            return
        if finding.session_id == self._told:
            for component, leader in finding.leaders.items():
                self._listener.information_changed(component, leader)
            return
        former, self._told = self._told, finding.session_id
        if former is not None:
            self._listener.revoked()
        if finding.session_id is not None:
            self._listener.granted(finding.session_id)

    # Run in the thread, which serializes all actions on this process's leadership.

    def _look(self) -> _Finding:
        if self._session_id is None:
            if self._lock.try_acquire():
                self._session_id = self._directory.take_over()
        elif not (self._lock.is_held() and self._directory.is_present(self._session_id)):
            self._give_up()
        for component, address in list(self._due.items()):
            if self._session_id is not None:
                self._publish_or_note(component, self._session_id, address)
        return _Finding(self._session_id, read_leaders(self._directory, tuple(self._published)))

    def _publish_or_note(self, component: str, session_id: str, address: str | None) -> None:
        """Publish an address; if the disk rejects it, the next poll retries."""
        if session_id != self._session_id:
            return
        try:
            self._publish(component, session_id, address)
        except StaleLeaderError:
            raise
        except Exception as error:
            if component not in self._due:
                logger.warning("the leader of %s could not be published; it is retried: %s", component, error)
            self._due[component] = address
        else:
            self._due.pop(component, None)

    def _publish(self, component: str, session_id: str, address: str | None) -> None:
        if address is None:
            self._published.discard(component)
            self._directory.delete(LEADERS, component, session_id)
        else:
            self._directory.write(LEADERS, component, (address, session_id), session_id)
            self._published.add(component)

    def _leave(self) -> None:
        try:
            for component in self._published:
                if self._session_id is not None:
                    self._directory.delete(LEADERS, component, self._session_id)
        except StaleLeaderError:
            logger.info("another process is already the leader")
        except OSError as error:
            logger.warning("the address of a former leader could not be removed: %s", error)
        self._give_up()

    def _give_up(self) -> None:
        self._published.clear()
        self._due.clear()
        self._session_id = None
        self._lock.release()


class FileSystemHaServices:
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
        self._directory = FencedDirectory(root, codec)
        self._delete_on_commit = delete_on_commit
        self._interval_s = interval_s
        self._election = SharedLeaderElection(FileSystemLeaderElectionDriver(self._directory, interval_s))
        self._poller = LeaderPoller(interval_s, lambda components: read_leaders(self._directory, components))

    def stores(self, session_id: str | None) -> HaStores:
        """Return a new view of the stores for a leader session."""
        storage = FileSystemStorage(self._directory, session_id, self._interval_s)
        return HaStores(
            SharedJobGraphStore(storage), JobResultStore(storage, self._delete_on_commit), RunningJobsRegistry(storage)
        )

    def leader_election(self, component: str) -> LeaderElection:
        """Return a new contender's handle to the election of `component`."""
        return self._election.component(component)

    def leader_retrieval(self, component: str) -> LeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        return PolledLeaderRetrieval(self._poller, component)

    async def close(self) -> None:
        """Leave the election and stop polling."""
        await self._election.close()
        await self._poller.close()


def read_leaders(directory: FencedDirectory, components: tuple[str, ...]) -> dict[str, Published]:
    """Return the leaders of some components, ignoring those published by former leaders. Blocks."""
    session_id = directory.session_id()
    found: dict[str, Published] = {}
    for component in components:
        try:
            leader: Any = directory.read(LEADERS, component, session_id)
        except StaleLeaderError:
            return {}  # Leadership changed while reading; the next poll returns the result.
        except CorruptEntryError:
            leader = None
        found[component] = leader if leader is not None and leader[1] == session_id else (None, None)
    return found


def _log_error(done: Future[None], component: str) -> None:
    if done.exception() is not None:
        logger.info("the leader of %s could not be published: %s", component, done.exception())
