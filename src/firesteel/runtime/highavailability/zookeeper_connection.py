"""A session with a ZooKeeper ensemble, used from a loop that it never blocks."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoAuthError, NoNodeError
from kazoo.security import CREATOR_ALL_ACL, make_acl

from firesteel.runtime.highavailability.errors import HighAvailabilityError
from firesteel.runtime.options import InvalidOptionError, boolean, duration_s, number, required

__all__ = ["QUORUM", "Watch", "ZooKeeperConnection", "ZooKeeperOptions"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

_PREFIX = "high-availability.zookeeper"
QUORUM = f"{_PREFIX}.quorum"
_ACL = f"{_PREFIX}.client.acl"
_AUTHORIZATION = f"{_PREFIX}.client.authorization"
_SCHEME = re.compile(r"""\s*([\w-]+)\s*:\s*(?:'([^']+)'|"([^"]+)"|([^\s'"]+))\s*""")
_OWN_DIGEST = b"firesteel: digest for ZooKeeper, version 1"

# Clusters with other credentials have their nodes beside ours. Nobody else may delete them.
_SHARED_PARENT_ACL = [*CREATOR_ALL_ACL, make_acl("world", "anyone", read=True, create=True)]
_THREADS = 8


@dataclass(frozen=True, slots=True)
class ZooKeeperOptions:
    """Where the ensemble is, and how patiently to deal with it. Flink's names and defaults.

    Attributes:
        quorum: `host:port`, separated by commas.
        path: Below which the cluster's nodes are: `path.root` and the cluster's id.
        session_timeout_s: Without a sign of life for so long the ensemble takes the process for dead.
        connection_timeout_s: How long the first connection may take.
        retry_wait_s: Pause before a command is tried again.
        max_retry_attempts: How often a command is tried again when its connection is lost.
        tolerate_suspended_connections: Whether a leader stays one until its session, not its connection, is lost.
        acl: `open`: everybody may read and write the nodes; `creator`: only who shows the same `authorization`.
        authorization: What the process shows of itself: pairs of scheme and credentials.
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
    def of(cls, configuration: Mapping[str, str], cluster_id: str, secret: bytes) -> ZooKeeperOptions:
        """As `high-availability.zookeeper.*` says.

        Args:
            configuration: The cluster's options.
            cluster_id: Names the cluster's node.
            secret: The cluster's; nodes for their creator need credentials, which come from it if none are set.

        Raises:
            InvalidOptionError: the quorum is missing, or a value can't be read.
        """
        acl = _acl(configuration)
        authorization = _authorization(configuration)
        if acl == "creator" and not authorization:
            authorization = (("digest", f"firesteel:{hmac.digest(secret, _OWN_DIGEST, 'sha256').hex()}"),)
        client, root = f"{_PREFIX}.client", configuration.get(f"{_PREFIX}.path.root", "/flink")
        return cls(
            required(configuration, QUORUM),
            "/" + "/".join(part for part in f"{root}/{cluster_id}".split("/") if part),
            duration_s(configuration, f"{client}.session-timeout", 60),
            duration_s(configuration, f"{client}.connection-timeout", 15),
            duration_s(configuration, f"{client}.retry-wait", 5),
            int(number(configuration, f"{client}.max-retry-attempts", 3)),
            boolean(configuration, f"{client}.tolerate-suspended-connections", False),
            acl,
            authorization,
        )


def _acl(configuration: Mapping[str, str]) -> str:
    acl = configuration.get(_ACL, "open")
    if acl not in ("open", "creator"):
        raise InvalidOptionError(f"option {_ACL!r}: {acl!r} is unknown; allowed: open, creator")
    return acl


def _authorization(configuration: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Read Flink's map, written as one text (`digest:'user:password'`) or as an option per scheme."""
    prefix = f"{_AUTHORIZATION}."
    found = {key.removeprefix(prefix): text for key, text in configuration.items() if key.startswith(prefix)}
    text = configuration.get(_AUTHORIZATION)
    if text is not None:
        match = _SCHEME.fullmatch(text.strip().removeprefix("{").removesuffix("}"))
        if match is None:  # The text may hold a password, so it is not shown.
            raise InvalidOptionError(
                f"option {_AUTHORIZATION!r}: its value can't be read; write for example digest:'user:password'"
            )
        found[match[1]] = match[2] or match[3] or match[4]
    return tuple(sorted(found.items()))


class ZooKeeperConnection:
    """A session with the ensemble. kazoo's calls run in threads of it, and kazoo's callbacks go to the loop.

    Args:
        options: Where, and how patiently.

    Attributes:
        client: For use inside `run`.
        losses: Grows whenever the connection is lost, before anybody is told.
    """

    def __init__(self, options: ZooKeeperOptions) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(_THREADS, "zookeeper")
        self._watches: set[Watch[Any]] = set()
        self._loss_listeners: list[Callable[[], object]] = []
        self._is_closed = False
        self._restricting = threading.Lock()
        self._is_restricted = options.acl == "open"
        self.losses = 0
        retry = {"max_tries": options.max_retry_attempts, "delay": options.retry_wait_s, "backoff": 1}
        self.client: Any = KazooClient(
            options.quorum,
            timeout=options.session_timeout_s,
            command_retry=retry,
            connection_retry={"max_tries": -1, "delay": 0.1, "max_delay": options.retry_wait_s},
            default_acl=CREATOR_ALL_ACL if options.acl == "creator" else None,
            auth_data=list(options.authorization),
        )
        self.client.add_listener(self._state_changed)
        self._connected = self.client.start_async()

    @property
    def retry_wait_s(self) -> float:
        """The pause before something that failed is tried again."""
        return self._options.retry_wait_s

    def path(self, *names: str) -> str:
        """The path of a node of the cluster."""
        return "/".join((self._options.path, *names))

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """What blocking `work` returns; it may use the client.

        Raises:
            HighAvailabilityError: there is no connection, or it was closed.
        """
        if self._is_closed:
            raise HighAvailabilityError(f"the connection to ZooKeeper at {self._options.quorum} was closed")
        return await self._loop.run_in_executor(self._threads, self._run, work, arguments)

    def on_loss(self, listener: Callable[[], object]) -> None:
        """Call `listener` on the loop whenever the connection is lost."""
        self._loss_listeners.append(listener)

    def add_watch(self, watch: Watch[Any]) -> None:
        """Refresh a watch after each loss: ZooKeeper may have forgotten it."""
        self._watches.add(watch)

    def discard_watch(self, watch: Watch[Any]) -> None:
        """Refresh it no longer."""
        self._watches.discard(watch)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the loop, from any thread, unless the connection is closed by then."""
        if not self._is_closed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: None if self._is_closed else callback())

    async def close(self) -> None:
        """End the session: its ephemeral nodes disappear. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            await self._loop.run_in_executor(None, self._close)

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
                f"ZooKeeper at {self._options.quorum} lets this process not read or write {self._options.path}: the "
                f"nodes are somebody else's; look at {_ACL} and {_AUTHORIZATION}, which all processes of the cluster "
                "have in common, as they have its secret, and at high-availability.zookeeper.path.root"
            ) from error
        except KazooException as error:
            raise HighAvailabilityError(f"ZooKeeper at {self._options.quorum} failed: {error!r}") from error
        return result

    def _restrict(self) -> None:
        """Keep others out of the cluster's nodes, also out of those from a time when the ACL was `open`."""
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
        self._connected.set()  # Nobody waits for a connection any more.
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _state_changed(self, state: str) -> None:
        """Called by kazoo, in a thread of its own."""
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
    """Tells what a look at the ensemble finds, now and after each change.

    Args:
        connection: To the ensemble.
        look: Looks, in a thread, and leaves the callback that it is given as a watch.
        tell: Called on the loop with each finding.
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
        """Look again, soon."""
        self._is_due = True
        if self._task is None and not self._is_stopped:
            self._task = asyncio.ensure_future(self._run())

    def lost(self) -> None:
        """The connection is lost: nobody knows what is there now."""
        self._on_loss()

    def stop(self) -> None:
        """Tell nothing any more."""
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
                logger.info("a look at ZooKeeper failed, the next follows when it is connected: %s", error)
            except Exception:
                logger.exception("a look at ZooKeeper failed, the next follows with the next change")
        self._task = None

    def _fired(self, _: object) -> None:
        self._connection.call_soon(self.refresh)
