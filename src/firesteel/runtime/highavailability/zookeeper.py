"""High availability between processes on any machines, based on a ZooKeeper ensemble.

Nodes below `high-availability.zookeeper.path.root/high-availability.cluster-id`:

    election/          the latch of each process that contends: ephemeral, the lowest number leads
    leaders/<id>       the leader of a component: ephemeral, signed JSON
    jobs/ dirty-results/ clean-results/ running-jobs/ removed-jobs/     entries of the stores
    holds/<job>.<view> the users of a job: ephemeral

Large values are files below `high-availability.storageDir`, which all processes must share. Data of leaders is signed
with the cluster's secret. With `high-availability.zookeeper.client.acl: creator` only the cluster can read and write
the nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kazoo.exceptions import CancelledError, NodeExistsError, NoNodeError
from kazoo.recipe.lock import Lock

from firesteel.common.files.remote_path import AnyPath
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.high_availability import HaStores, LeaderElection, LeaderListener
from firesteel.runtime.highavailability.high_availability_errors import UntrustedEntryError
from firesteel.runtime.highavailability.job_graph_store import SharedJobGraphStore
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry
from firesteel.runtime.highavailability.shared_election import ElectionListener, Published, SharedLeaderElection
from firesteel.runtime.highavailability.trusted_storage import check_storage
from firesteel.runtime.highavailability.zookeeper_connection import Watch, ZooKeeperConnection, ZooKeeperOptions
from firesteel.runtime.highavailability.zookeeper_storage import ZooKeeperStorage, commit_fenced

__all__ = ["ZooKeeperHaServices", "ZooKeeperLeaderElectionDriver", "ZooKeeperLeaderRetrieval"]

logger = logging.getLogger(__name__)

_LEADERS = "leaders"
_PUBLISH_TRIES = 5


class ZooKeeperLeaderElectionDriver:
    """An election driver where the lowest latch leads, until its connection is lost.

    Flink: `leaderelection.ZooKeeperLeaderElectionDriver`, which uses Curator's LeaderLatch; this one uses kazoo's Lock.

    Args:
        connection: The connection to the ensemble.
        codec: Signs the leaders' addresses.
    """

    def __init__(self, connection: ZooKeeperConnection, codec: EntryCodec) -> None:
        self._connection = connection
        self._codec = codec
        # One thread, so that addresses are published in the order of the calls, and none after the latch is dropped.
        self._publishing = ThreadPoolExecutor(1, "leader-election")
        self._listener: ElectionListener | None = None
        self._watches: dict[str, Watch[Published]] = {}
        self._components: set[str] = set()
        self._lock: Any = None
        self._task: asyncio.Future[None] | None = None
        self._leave = asyncio.Event()
        self._closing = asyncio.Event()
        self._wanted: dict[str, tuple[str | None, str]] = {}
        self._session: tuple[str, str] | None = None
        connection.on_loss(self._leave.set)

    def latch_of(self, session_id: str) -> str | None:
        """Return the latch of a leader session, or None if the session is over."""
        session = self._session
        return session[1] if session is not None and session[0] == session_id else None

    def start(self, listener: ElectionListener) -> None:
        """Join the election."""
        self._listener = listener
        self._closing.clear()
        self._task = asyncio.ensure_future(self._contend(listener))

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component."""
        watch = self._watches.pop(component, None)
        if watch is not None:
            watch.stop()
        self._components.add(component)
        self._wanted[component] = (address, session_id)
        self._start_publishing(component, (address, session_id))

    async def close(self) -> None:
        """Leave the election; published addresses disappear."""
        self._closing.set()
        self._leave.set()
        if self._lock is not None:
            self._lock.cancel()
        if self._task is not None:
            await self._task
            self._task = None

    async def _contend(self, listener: ElectionListener) -> None:
        while not self._closing.is_set():
            # Noted before: a connection that was lost while the lock was taken may have taken the latch with it.
            losses = self._connection.losses
            # Use one lock for all retries of a round, as a request whose response was lost may have created the latch.
            self._lock = lock = Lock(self._connection.client, self._connection.path("election"))
            try:
                latch = await self._connection.run(self._acquire, lock)
            except Exception as error:
                logger.warning("this process can't take part in the election; it retries: %s", error)
                await self._pause()
            else:
                if latch is not None and not self._closing.is_set() and losses == self._connection.losses:
                    await self._lead(listener, latch)
            await self._let_go(lock)

    async def _lead(self, listener: ElectionListener, latch: str) -> None:
        self._leave.clear()
        session_id = uuid.uuid4().hex
        self._session = (session_id, latch)
        client = self._connection.client
        watch = Watch(
            self._connection,
            lambda fired: client.exists(latch, watch=fired) is not None,
            lambda is_there: None if is_there else self._leave.set(),
        )
        listener.granted(session_id)
        await self._leave.wait()
        watch.stop()
        self._session = None
        listener.revoked()

    async def _let_go(self, lock: Lock) -> None:
        """Remove the latch and all published addresses, with retries.

        After a short connection loss the session and its latch survive, and the process would wait for its own former
        latch if it contended before that is removed. A process that leaves drops both with its session.
        """
        for watch in self._watches.values():
            watch.stop()
        components = tuple(self._components)
        self._watches.clear()
        self._components.clear()
        self._wanted.clear()
        while True:
            try:
                await self._connection.run(lambda: self._publishing.submit(self._drop, lock, components).result())
            except Exception as error:
                if self._closing.is_set():
                    logger.info("the latch could not be deleted, it ends with the session: %s", error)
                    return
                logger.warning("the former latch could not be deleted; it is retried: %s", error)
                await self._pause()
            else:
                return

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), self._connection.retry_wait_s)

    def _start_publishing(self, component: str, wanted: tuple[str | None, str]) -> None:
        # A later call may have published something else meanwhile.
        if self._wanted.get(component) == wanted:
            address, session_id = wanted
            publishing = asyncio.get_running_loop().run_in_executor(
                self._publishing, self._publish, component, session_id, address
            )
            publishing.add_done_callback(lambda done: self._published(component, wanted, done))

    def _published(self, component: str, wanted: tuple[str | None, str], done: asyncio.Future[bool]) -> None:
        if self._wanted.get(component) != wanted or done.cancelled():
            return
        address, session_id = wanted
        if (error := done.exception()) is not None:
            logger.warning("the leader of %s could not be published; it is retried: %s", component, error)
            # Without a latch there is nothing to publish, and `_let_go` clears the pending addresses.
            pause_s = self._connection.retry_wait_s
            asyncio.get_running_loop().call_later(pause_s, self._start_publishing, component, wanted)
        elif address is None:
            del self._wanted[component]
            if done.result():
                self._components.discard(component)
        elif self._session is not None and self._session[0] == session_id and component not in self._watches:
            self._watches[component] = Watch(
                self._connection,
                lambda fired: _look(self._connection, self._codec, component, fired),
                lambda published: self._seen(component, published),
            )

    def _seen(self, component: str, published: Published) -> None:
        if self._listener is not None and self._session is not None:
            self._listener.information_changed(component, published)

    # In threads

    def _acquire(self, lock: Lock) -> str | None:
        """Return the latch once it has the lowest number, or None if the process leaves."""
        if self._closing.is_set():
            return None
        try:
            lock.acquire()
        except CancelledError:
            return None
        return self._connection.path("election", lock.node)

    def _drop(self, lock: Lock, components: tuple[str, ...]) -> None:
        for component in components:
            with contextlib.suppress(NoNodeError):
                self._drop_own(self._connection.path(_LEADERS, component))
        # Do not use `Lock.release`, which leaves a latch whose creation was not acknowledged.
        client, election = self._connection.client, self._connection.path("election")
        with contextlib.suppress(NoNodeError):
            for name in client.get_children(election):
                if name.startswith(lock.prefix):
                    client.delete(f"{election}/{name}")

    def _drop_own(self, path: str) -> None:
        client = self._connection.client
        _, stat = client.get(path)
        # By its version, so that the node of a leader that has come in between is left alone.
        if stat.owner_session_id == client.client_id[0]:
            client.delete(path, version=stat.version)

    def _leader_node(self, component: str, session_id: str, address: str) -> bytes:
        text = json.dumps({"address": address, "session": session_id})
        return self._codec.sign(_LEADERS, component, text.encode())

    def _publish(self, component: str, session_id: str, address: str | None) -> bool:
        """Set or delete a leader's node if the latch exists at that moment; return whether it does."""
        client, path = self._connection.client, self._connection.path(_LEADERS, component)
        node = None if address is None else self._leader_node(component, session_id, address)
        client.retry(client.ensure_path, self._connection.path(_LEADERS))
        for _ in range(_PUBLISH_TRIES):
            latch, is_there = self.latch_of(session_id), client.retry(client.exists, path) is not None
            if latch is None:
                return False

            def change(transaction: Any, is_there: bool = is_there) -> None:
                # Replaced and not set: the node is ephemeral and must belong to this session, or it goes with that of
                # its creator.
                if is_there:
                    transaction.delete(path)
                if node is not None:
                    transaction.create(path, node, ephemeral=True)

            with contextlib.suppress(NoNodeError, NodeExistsError):  # Another leader changed it.
                return bool(client.retry(commit_fenced, client, latch, change))
        return False


class ZooKeeperLeaderRetrieval:
    """A leader retrieval for one component. Flink: `leaderretrieval.ZooKeeperLeaderRetrievalDriver`.

    Without a connection there is no known leader.
    """

    def __init__(self, connection: ZooKeeperConnection, codec: EntryCodec, component: str) -> None:
        self._connection = connection
        self._codec = codec
        self._component = component
        self._listener: LeaderListener | None = None
        self._watch: Watch[Published] | None = None
        self._told: Published = (None, None)

    def start(self, listener: LeaderListener) -> None:
        """Notify the listener of the current leader, asynchronously, and of every later one."""
        self._listener = listener
        self._watch = Watch(
            self._connection,
            lambda fired: _look(self._connection, self._codec, self._component, fired),
            self._tell,
            lambda: self._tell((None, None)),
        )

    def stop(self) -> None:
        """Stop notifying the listener."""
        self._listener = None
        if self._watch is not None:
            self._watch.stop()

    def _tell(self, leader: Published) -> None:
        if self._listener is not None and leader != self._told:
            self._told = leader
            self._listener.notify_leader(*leader)


class ZooKeeperHaServices:
    """High availability based on a ZooKeeper ensemble; each process has its own object.

    Flink: `runtime.leaderelection.ZooKeeperLeaderElectionHaServices`.

    Args:
        options: The options of the connection.
        files: Shared directory for values too large for ZooKeeper, created if necessary.
        codec: Signs the entries.
        delete_on_commit: Whether results are deleted once their jobs are cleaned up.
    """

    def __init__(
        self, options: ZooKeeperOptions, files: AnyPath, codec: EntryCodec, delete_on_commit: bool = True
    ) -> None:
        if isinstance(files, Path):
            files.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_storage(files)
        self._files = files
        self._codec = codec
        self._delete_on_commit = delete_on_commit
        self._connection = ZooKeeperConnection(options)
        self._driver = ZooKeeperLeaderElectionDriver(self._connection, codec)
        self._election = SharedLeaderElection(self._driver)

    def stores(self, session_id: str | None) -> HaStores:
        """Return a new view of the stores for a leader session."""
        storage = ZooKeeperStorage(self._connection, self._files, self._codec, session_id, self._driver.latch_of)
        return HaStores(
            SharedJobGraphStore(storage), JobResultStore(storage, self._delete_on_commit), RunningJobsRegistry(storage)
        )

    def leader_election(self, component: str) -> LeaderElection:
        """Return a new contender's handle to the election of `component`."""
        return self._election.component(component)

    def leader_retrieval(self, component: str) -> ZooKeeperLeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        return ZooKeeperLeaderRetrieval(self._connection, self._codec, component)

    async def close(self) -> None:
        """Leave the election and end the session."""
        await self._election.close()
        await self._connection.close()


def _look(
    connection: ZooKeeperConnection, codec: EntryCodec, component: str, fired: Callable[[object], None]
) -> Published:
    """Return the leader of a component and leave a watch. Blocks."""
    client, path = connection.client, connection.path(_LEADERS, component)
    while True:
        try:
            found = json.loads(codec.verify(_LEADERS, component, client.get(path, watch=fired)[0]))
            return str(found["address"]), str(found["session"])
        except NoNodeError:
            # A watch on a node that is not there is left by `exists` alone; between both calls it may have been
            # created.
            if client.exists(path, watch=fired) is None:
                return None, None
        except UntrustedEntryError as error:
            logger.warning("the leader of %s could not be determined: %s", component, error)
            return None, None
