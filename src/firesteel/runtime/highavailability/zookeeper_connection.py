"""A session with a ZooKeeper ensemble that never blocks the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoAuthError, NoNodeError
from kazoo.security import CREATOR_ALL_ACL, make_acl

from firesteel.common.options.ha_options import (
    ZOOKEEPER_ACL,
    ZOOKEEPER_AUTHORIZATION,
    ZOOKEEPER_CONNECTION_TIMEOUT,
    ZOOKEEPER_MAX_RETRY_ATTEMPTS,
    ZOOKEEPER_PATH_ROOT,
    ZOOKEEPER_QUORUM,
    ZOOKEEPER_RETRY_WAIT,
    ZOOKEEPER_SESSION_TIMEOUT,
    ZOOKEEPER_TOLERATE_SUSPENDED_CONNECTIONS,
)
from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.highavailability.high_availability_errors import HighAvailabilityError
from firesteel.runtime.thread_pools import HIGH_AVAILABILITY

__all__ = ["Watch", "ZooKeeperConnection", "ZooKeeperOptions"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

_SCHEME = re.compile(r"""\s*([\w-]+)\s*:\s*(?:'([^']+)'|"([^"]+)"|([^\s'"]+))\s*""")
_OWN_DIGEST = b"firesteel: digest for ZooKeeper, version 1"

# Clusters with other credentials have sibling nodes, which only they may delete.
_SHARED_PARENT_ACL = [*CREATOR_ALL_ACL, make_acl("world", "anyone", read=True, create=True)]
_THREADS = 8


@dataclass(frozen=True, slots=True)
class ZooKeeperOptions:
    """The connection options of the ensemble, with Flink's names and defaults.

    Attributes:
        quorum: `host:port`, separated by commas.
        path: Parent path of the cluster's nodes: `path.root` and the cluster's id.
        session_timeout_s: Time without heartbeat after which the ensemble ends the session.
        connection_timeout_s: Timeout of the first connection.
        retry_wait_s: Pause before a retry of a command.
        max_retry_attempts: Maximum number of retries of a command after a connection loss.
        tolerate_suspended_connections: Whether a leader keeps its leadership until its session, not only its
        connection, is lost.
        acl: `open`: all clients may read and write the nodes; `creator`: only clients with the same `authorization`.
        authorization: Pairs of scheme and credentials.
    """

    quorum: str
    path: str
    session_timeout_s: float = 60
    connection_timeout_s: float = 15
    retry_wait_s: float = 5
    max_retry_attempts: int = 3
    tolerate_suspended_connections: bool = False
    acl: str = "open"
    authorization: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, configuration: Mapping[str, str], cluster_id: str, secrets: Sequence[bytes]) -> ZooKeeperOptions:
        """Return the options from `high-availability.zookeeper.*`.

        Args:
            configuration: The cluster's options.
            cluster_id: The name of the cluster's node.
            secrets: The cluster's secrets, from which credentials for the ACL `creator` are derived if none are set.

        Raises:
            InvalidOptionError: the quorum is missing, or a value can't be read.
        """
        acl = ZOOKEEPER_ACL.of(configuration)
        authorization = _authorization(configuration)
        if acl == "creator" and not authorization:
            digests = (hmac.digest(secret, _OWN_DIGEST, "sha256").hex() for secret in secrets)
            authorization = tuple(("digest", f"firesteel:{digest}") for digest in digests)
        root = ZOOKEEPER_PATH_ROOT.of(configuration)
        return cls(
            ZOOKEEPER_QUORUM.required(configuration),
            "/" + "/".join(part for part in f"{root}/{cluster_id}".split("/") if part),
            ZOOKEEPER_SESSION_TIMEOUT.of(configuration),
            ZOOKEEPER_CONNECTION_TIMEOUT.of(configuration),
            ZOOKEEPER_RETRY_WAIT.of(configuration),
            ZOOKEEPER_MAX_RETRY_ATTEMPTS.of(configuration),
            ZOOKEEPER_TOLERATE_SUSPENDED_CONNECTIONS.of(configuration),
            acl,
            authorization,
        )


def _authorization(configuration: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return Flink's map, given as a single text (`digest:'user:password'`) or as one option per scheme."""
    prefix = f"{ZOOKEEPER_AUTHORIZATION}."
    found = {key.removeprefix(prefix): text for key, text in configuration.items() if key.startswith(prefix)}
    text = ZOOKEEPER_AUTHORIZATION.of(configuration)
    if text is not None:
        match = _SCHEME.fullmatch(text.strip().removeprefix("{").removesuffix("}"))
        if match is None:  # The text may contain a password, so it is not shown.
            raise InvalidOptionError(
                f"option {ZOOKEEPER_AUTHORIZATION.key!r}: its value is invalid; an example is digest:'user:password'"
            )
        found[match[1]] = match[2] or match[3] or match[4]
    return tuple(sorted(found.items()))


class ZooKeeperConnection:
    """A session with the ensemble; kazoo's calls run in threads, its callbacks on the event loop.

    Args:
        options: The options of the connection.

    Attributes:
        client: The kazoo client, for use inside `run`.
        losses: Number of connection losses; incremented before listeners are notified.
    """

    def __init__(self, options: ZooKeeperOptions) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(_THREADS, "zookeeper")
        self._watches: set[Watch[object]] = set()
        self._loss_listeners: list[Callable[[], object]] = []
        self._is_closed = False
        self._owed: set[asyncio.Future[None]] = set()
        self._restricting = threading.Lock()
        self._is_restricted = options.acl == "open"
        self.losses = 0
        retry = {"max_tries": options.max_retry_attempts, "delay": options.retry_wait_s, "backoff": 1}
        self.client: Any = KazooClient(
            options.quorum,
            timeout=options.session_timeout_s,
            command_retry=retry,
            # For ever, as an ensemble that is away for hours must not end the cluster; commands give up earlier.
            connection_retry={"max_tries": -1, "delay": 0.1, "max_delay": options.retry_wait_s},
            default_acl=CREATOR_ALL_ACL if options.acl == "creator" else None,
            auth_data=list(options.authorization),
        )
        self.client.add_listener(self._state_changed)
        self._connected = self.client.start_async()

    @property
    def retry_wait_s(self) -> float:
        """The pause before a retry in seconds."""
        return self._options.retry_wait_s

    def path(self, *names: str) -> str:
        """Return the path of a node of the cluster."""
        return "/".join((self._options.path, *names))

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run blocking `work`, which may use the client, in a thread and return its result.

        Raises:
            HighAvailabilityError: there is no connection, or it was closed.
        """
        if self._is_closed:
            raise HighAvailabilityError(f"the connection to ZooKeeper at {self._options.quorum} was closed")
        return await self._loop.run_in_executor(self._threads, self._run, work, arguments)

    async def run_eventually(self, work: Callable[..., object], *arguments: object) -> None:
        """Run `work` now, or else once ZooKeeper answers again, without waiting for that.

        For what a leader gives up, which must not keep the process from following the next leader.

        Args:
            work: Runs in a thread, perhaps several times; it concerns ephemeral nodes, so nothing is left to do once
                the connection is closed.
            *arguments: Its arguments.
        """
        if self.client.connected:
            try:
                await self.run(work, *arguments)
                return
            except HighAvailabilityError as error:
                logger.info("%s; it is retried", error)
        owed = asyncio.ensure_future(self._retry(work, arguments))
        self._owed.add(owed)
        owed.add_done_callback(self._owed.discard)

    async def _retry(self, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        while not self._is_closed:
            await asyncio.sleep(self._options.retry_wait_s)
            if self.client.connected:
                with contextlib.suppress(HighAvailabilityError):
                    await self.run(work, *arguments)
                    return

    def on_loss(self, listener: Callable[[], object]) -> None:
        """Call `listener` on the loop whenever the connection is lost."""
        self._loss_listeners.append(listener)

    def add_watch(self, watch: Watch[Any]) -> None:
        """Register a watch that is refreshed after each connection loss."""
        self._watches.add(watch)

    def discard_watch(self, watch: Watch[Any]) -> None:
        """Stop refreshing a watch."""
        self._watches.discard(watch)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the loop, from any thread, unless the connection is closed by then."""
        if not self._is_closed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: None if self._is_closed else callback())

    async def close(self) -> None:
        """End the session: its ephemeral nodes disappear. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            for owed in self._owed:
                owed.cancel()
            await self._loop.run_in_executor(HIGH_AVAILABILITY.executor, self._close)

    def _run(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        if not self._connected.wait(self._options.connection_timeout_s) or self._is_closed:
            raise HighAvailabilityError(
                f"no ZooKeeper answers at {self._options.quorum} within {self._options.connection_timeout_s:g} s; "
                "look at high-availability.zookeeper.quorum, and whether the ensemble runs"
            )
        try:
            with self._restricting:
                if not self._is_restricted:
                    self.client.retry(self._restrict)
                    self._is_restricted = True
            result: T = self.client.retry(work, *arguments)
        except NoAuthError as error:
            raise HighAvailabilityError(
                f"ZooKeeper at {self._options.quorum} denies access to {self._options.path}: its "
                f"nodes belong to another user; check {ZOOKEEPER_ACL} and "
                f"{ZOOKEEPER_AUTHORIZATION}, which all processes of the "
                "cluster must share, like its secret, and high-availability.zookeeper.path.root"
            ) from error
        except KazooException as error:
            raise HighAvailabilityError(f"ZooKeeper at {self._options.quorum} failed: {error!r}") from error
        return result

    def _restrict(self) -> None:
        """Restrict the ACL of the cluster's nodes, including nodes created when the ACL was `open`."""
        parent = self._options.path.rpartition("/")[0]
        if parent:
            self.client.ensure_path(parent, _SHARED_PARENT_ACL)
        self.client.ensure_path(self._options.path)
        self._restrict_tree(self._options.path)

    def _restrict_tree(self, path: str) -> None:
        with contextlib.suppress(NoNodeError):
            self.client.set_acls(path, CREATOR_ALL_ACL)
            for name in self.client.get_children(path):
                self._restrict_tree(f"{path}/{name}")

    def _close(self) -> None:
        self.client.stop()
        self.client.close()
        self._connected.set()  # No caller waits for a connection any more.
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _state_changed(self, state: str) -> None:
        """Handle a state change; kazoo calls this in its own thread."""
        if state == KazooState.CONNECTED:
            self.call_soon(self._refresh)
        elif state == KazooState.LOST or not self._options.tolerate_suspended_connections:
            self.losses += 1
            self.call_soon(self._lost)

    def _refresh(self) -> None:
        for watch in list(self._watches):
            watch.refresh()

    def _lost(self) -> None:
        for listener in self._loss_listeners:
            listener()
        for watch in list(self._watches):
            watch.lost()


class Watch(Generic[T]):
    """A watch that reports the state of the ensemble, initially and after each change.

    Args:
        connection: The connection to the ensemble.
        look: Reads the state in a thread, and registers the given callback as a watch.
        tell: Called on the loop with each result.
        on_loss: Called on the loop when the connection is lost.
    """

    def __init__(
        self,
        connection: ZooKeeperConnection,
        look: Callable[[Callable[[object], None]], T],
        tell: Callable[[T], object],
        on_loss: Callable[[], object] = lambda: None,
    ) -> None:
        self._connection = connection
        self._look = look
        self._tell = tell
        self._on_loss = on_loss
        self._is_due = False
        self._task: asyncio.Future[None] | None = None
        self._is_stopped = False
        connection.add_watch(self)
        self.refresh()

    def refresh(self) -> None:
        """Read the state again, asynchronously."""
        # A change during a read makes it read once more; without the mark the last change could be missed.
        self._is_due = True
        if self._task is None and not self._is_stopped:
            self._task = asyncio.ensure_future(self._run())

    def lost(self) -> None:
        """Handle the loss of the connection, after which the state is unknown."""
        self._on_loss()

    def stop(self) -> None:
        """Stop reporting."""
        self._is_stopped = True
        self._connection.discard_watch(self)

    async def _run(self) -> None:
        while self._is_due and not self._is_stopped:
            self._is_due = False
            try:
                found = await self._connection.run(self._look, self._fired)
                if not self._is_stopped:
                    self._tell(found)
            except HighAvailabilityError as error:
                logger.info("reading from ZooKeeper failed; it is retried once it is connected: %s", error)
            except Exception:
                logger.exception("reading from ZooKeeper failed; it is retried at the next change")
        self._task = None

    def _fired(self, _: object) -> None:
        self._connection.call_soon(self.refresh)
