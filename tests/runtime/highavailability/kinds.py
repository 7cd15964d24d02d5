"""The kinds of high availability, each with a way to make processes that share it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from kazoo.client import KazooClient

from firesteel.common.files.conditional_object import ConditionalObject
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import RemotePath
from firesteel.runtime.highavailability.embedded import PROCESS, EmbeddedHaServices
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.highavailability.object_entries import ObjectEntries
from firesteel.runtime.highavailability.object_lease import NOBODY
from firesteel.runtime.highavailability.object_store import ObjectStoreHaServices
from firesteel.runtime.highavailability.register import Register
from firesteel.runtime.highavailability.zookeeper import ZooKeeperHaServices
from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions
from tests.objects.server import Bucket

GIVE_UP_S = 20
SECRET = b"the secret of the cluster"
CODEC = EntryCodec(SECRET, "cluster")


async def eventually(condition: Callable[[], object], what: str = "") -> None:
    """Return once the condition holds."""
    deadline_s = time.monotonic() + GIVE_UP_S
    while not condition():
        assert time.monotonic() < deadline_s, f"did not happen: {what or condition}"
        await asyncio.sleep(0.005)


class Kind(Protocol):
    """One kind, empty at first."""

    processes: list[HighAvailabilityServices]

    def process(self, delete_on_commit: bool = False) -> HighAvailabilityServices:
        """The services of another process; the test closes none of them."""
        ...

    async def depose(self, process: HighAvailabilityServices) -> None:
        """Let a process, which leads, lose its leadership without knowing yet."""


class Embedded:
    def __init__(self) -> None:
        self.processes: list[HighAvailabilityServices] = []
        self.shared: EmbeddedHaServices | None = None

    def process(self, delete_on_commit: bool = False) -> HighAvailabilityServices:
        self.shared = self.shared or EmbeddedHaServices(delete_on_commit=delete_on_commit)
        self.processes.append(self.shared.for_process())
        return self.processes[-1]

    async def depose(self, process: HighAvailabilityServices) -> None:
        assert self.shared is not None
        component = self.shared.components[PROCESS]
        former = component.contenders.pop(0)
        component.depose()
        component.contenders.append(former)
        component.elect()


class FileSystem:
    def __init__(self, root: Path) -> None:
        self.processes: list[HighAvailabilityServices] = []
        self.root = root

    def process(self, delete_on_commit: bool = False) -> HighAvailabilityServices:
        self.processes.append(FileSystemHaServices(self.root, CODEC, delete_on_commit, interval_s=0.01))
        return self.processes[-1]

    async def depose(self, process: HighAvailabilityServices) -> None:
        (self.root / "leader.lock").unlink()


class ObjectStore:
    def __init__(self, bucket: Bucket, lease_s: float = 1.0) -> None:
        self.processes: list[HighAvailabilityServices] = []
        self.lease_s = lease_s
        root = Files(bucket.options).path(bucket.uri("ha", "cluster"))
        assert isinstance(root, RemotePath)
        self.root = root

    def process(self, delete_on_commit: bool = False) -> HighAvailabilityServices:
        process = ObjectStoreHaServices(self.root, CODEC, delete_on_commit, self.lease_s, interval_s=0.05)
        self.processes.append(process)
        return self.processes[-1]

    async def depose(self, process: HighAvailabilityServices) -> None:
        """Give the lease back in the name of the leader, and take its right to change entries."""
        await asyncio.to_thread(self._depose)

    def entries(self) -> ObjectEntries:
        return ObjectEntries(ConditionalObject(self.root / "entries"), self.root / "values", CODEC)

    def _depose(self) -> None:
        lease = Register(ConditionalObject(self.root / "leader"), CODEC, NOBODY)
        given_back = lease.change(lambda value: value | {"session": None, "epoch": value["epoch"] + 1, "leaders": {}})
        self.entries().take_over("nobody", given_back["epoch"])  # Or another leads already.


class ZooKeeper:
    def __init__(self, address: str, files: Any) -> None:
        self.processes: list[HighAvailabilityServices] = []
        self.options = ZooKeeperOptions(
            address, f"/test-{uuid.uuid4().hex}", session_timeout_s=2, connection_timeout_s=20, retry_wait_s=0.02
        )
        self.files = files

    def process(self, delete_on_commit: bool = False) -> ZooKeeperHaServices:
        process = ZooKeeperHaServices(self.options, self.files, CODEC, delete_on_commit)
        self.processes.append(process)
        return process

    async def depose(self, process: HighAvailabilityServices) -> None:
        """End the process's session with ZooKeeper, as its expiry would: by closing it from a second connection."""
        assert isinstance(process, ZooKeeperHaServices)
        await asyncio.to_thread(self._end_session, process._connection.client.client_id)

    def _end_session(self, client_id: tuple[int, bytes]) -> None:
        second = KazooClient(self.options.quorum, client_id=client_id, timeout=self.options.session_timeout_s)
        second.start()
        second.stop()
        second.close()
