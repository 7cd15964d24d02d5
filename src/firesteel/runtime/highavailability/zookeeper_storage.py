"""Entries in ZooKeeper; large values are in files that the entries refer to."""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from collections.abc import Callable
from typing import Any

from kazoo.exceptions import NodeExistsError, NoNodeError, RolledBackError, RuntimeInconsistency

from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.runtime.highavailability.entry_codec import EntryCodec, dump_value, load_value
from firesteel.runtime.highavailability.high_availability_errors import (
    CorruptEntryError,
    StaleLeaderError,
    UntrustedEntryError,
)
from firesteel.runtime.highavailability.storage import Names
from firesteel.runtime.highavailability.zookeeper_connection import Watch, ZooKeeperConnection

__all__ = ["ZooKeeperStorage", "commit_fenced"]

MAX_INLINE_BYTES = 64 * 1024
"""Maximum size of inline values. ZooKeeper keeps everything in memory and rejects more than 1 MiB per node."""

# Prefixes of a node's payload: the pickled value follows, or the digest and name of the file that contains it.
_INLINE, _FILE = b"=", b"@"
_DIGEST_BYTES = hashlib.sha256().digest_size
_TRIES = 5


class ZooKeeperStorage:
    """A view of the entries in ZooKeeper. Flink: `runtime.zookeeper.ZooKeeperStateHandleStore`.

    Each change is a transaction that also checks the leader's latch, an ephemeral node that is gone when the process's
    ZooKeeper session has expired, and replaced after another election. Unlike in Flink, small values are stored in the
    node itself, so that one atomic step writes them; only larger ones need `storageDir`.

    Args:
        connection: The connection to the ensemble.
        files: Shared directory of the large values; it may be on a remote file system.
        codec: Signs the nodes, which contain the digests of large values' files.
        session_id: The leader session; None for any.
        latch_of: Returns the latch of a leader session of this process, None if it is over.
    """

    def __init__(
        self,
        connection: ZooKeeperConnection,
        files: AnyPath,
        codec: EntryCodec,
        session_id: str | None,
        latch_of: Callable[[str], str | None],
    ) -> None:
        self._connection = connection
        self._client = connection.client
        self._files = files
        self._codec = codec
        self._session_id = session_id
        self._latch_of = latch_of
        self._id = uuid.uuid4().hex
        self._held: set[str] = set()
        self._watches: list[Watch[Names]] = []

    async def names(self, folder: str) -> Names:
        """Return the names in a folder, oldest entry first."""
        return await self._connection.run(self._names, folder, None)

    async def read(self, folder: str, name: str) -> Any | None:
        """Return the value of an entry, or None if there is no such entry."""
        return await self._connection.run(self._read, folder, name)

    async def write(self, folder: str, name: str, value: object) -> None:
        """Set the value of an entry."""
        await self._connection.run(self._write, folder, name, value)

    async def move(self, name: str, source: str, target: str) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""
        await self._connection.run(self._move, name, source, target)

    async def delete(self, folder: str, name: str) -> None:
        """Delete an entry; no effect if it does not exist."""
        await self._connection.run(self._delete, folder, name)

    async def hold(self, name: str) -> None:
        """Mark a job as used by this view."""
        self._held.add(name)
        await self._connection.run(self._hold, name)

    async def let_go(self, name: str) -> None:
        """Remove the mark that this view uses a job."""
        self._held.discard(name)
        await self._connection.run(self._let_go, name)

    async def is_held(self, name: str) -> bool:
        """Return whether another live view uses the job."""
        return await self._connection.run(self._is_held, name)

    def watch(self, folder: str, listener: Callable[[Names], object]) -> None:
        """Call `listener` with the names in a folder, asynchronously and then after each change."""
        self._watches.append(Watch(self._connection, lambda fired: self._names(folder, fired), listener))

    async def close(self) -> None:
        """Release all jobs, later if ZooKeeper does not answer, and stop all watches."""
        for watch in self._watches:
            watch.stop()
        held, self._held = list(self._held), set()
        for name in held:
            await self._connection.run_eventually(self._let_go, name)

    # In threads

    def _names(self, folder: str, fired: Callable[[object], None] | None) -> Names:
        path = self._connection.path(folder)
        self._client.ensure_path(path)
        names = self._client.get_children(path, watch=fired)
        # All at once: one round trip and not one per job. Children have no order of their own, but creations are
        # numbered.
        asked = {name: self._client.exists_async(f"{path}/{name}") for name in names}
        found = {name: stat.get() for name, stat in asked.items()}
        return tuple(sorted((name for name in names if found[name]), key=lambda name: int(found[name].czxid)))

    def _read(self, folder: str, name: str) -> Any | None:
        while True:
            node = self._get(folder, name)
            if node is None:
                return None
            payload = self._codec.verify(folder, name, node)
            try:
                data = payload[1:] if payload[:1] == _INLINE else self._read_file(folder, name, payload)
            except OSError as error:
                # A node that has changed names another file, and this one was removed after the change.
                if self._get(folder, name) == node:
                    raise CorruptEntryError(folder, name, error) from error
            else:
                return load_value(folder, name, data)

    def _write(self, folder: str, name: str, value: object) -> None:
        path, node = self._connection.path(folder, name), self._encode(folder, name, value)
        self._client.ensure_path(self._connection.path(folder))
        for _ in range(_TRIES):
            former = self._get(folder, name)
            try:
                if former is None:
                    self._commit(f"writing {folder}/{name}", lambda change: change.create(path, node))
                else:
                    self._commit(f"writing {folder}/{name}", lambda change: change.set_data(path, node))
            except (NodeExistsError, NoNodeError):
                continue  # Another process created or deleted the node in between.
            except StaleLeaderError:
                self._drop_file(folder, name, node)
                raise
            self._drop_file(folder, name, former)
            return
        raise RuntimeError(f"{path} was created and deleted {_TRIES} times while it was being written")

    def _move(self, name: str, source: str, target: str) -> None:
        node = self._get(source, name)
        if node is None:
            return
        self._client.ensure_path(self._connection.path(target))

        def change(transaction: Any) -> None:
            transaction.delete(self._connection.path(source, name))
            transaction.create(self._connection.path(target, name), node)

        with contextlib.suppress(NoNodeError):
            self._commit(f"moving {source}/{name}", change)

    def _delete(self, folder: str, name: str) -> None:
        node = self._get(folder, name)
        if node is not None:
            path = self._connection.path(folder, name)
            with contextlib.suppress(NoNodeError):
                self._commit(f"deleting {folder}/{name}", lambda change: change.delete(path))
            self._drop_file(folder, name, node)
        else:
            # Nothing to delete, but a former leader must learn that it is none.
            self._commit(f"deleting {folder}/{name}", lambda change: None)

    def _hold(self, name: str) -> None:
        with contextlib.suppress(NodeExistsError):
            self._client.create(self._connection.path("holds", f"{name}.{self._id}"), ephemeral=True, makepath=True)

    def _let_go(self, name: str) -> None:
        with contextlib.suppress(NoNodeError):
            self._client.delete(self._connection.path("holds", f"{name}.{self._id}"))

    def _is_held(self, name: str) -> bool:
        self._client.ensure_path(self._connection.path("holds"))
        holds = [hold.rpartition(".") for hold in self._client.get_children(self._connection.path("holds"))]
        return any(job == name and holder != self._id for job, _, holder in holds)

    def _commit(self, what: str, change: Callable[[Any], None]) -> None:
        if self._session_id is None:
            commit_fenced(self._client, None, change)
            return
        latch = self._latch_of(self._session_id)
        if latch is None or not commit_fenced(self._client, latch, change):
            raise StaleLeaderError(what, self._session_id)

    def _get(self, folder: str, name: str) -> bytes | None:
        try:
            data: bytes = self._client.get(self._connection.path(folder, name))[0]
        except NoNodeError:
            return None
        return data

    def _encode(self, folder: str, name: str, value: object) -> bytes:
        data = dump_value(value)
        if len(data) <= MAX_INLINE_BYTES:
            return self._codec.sign(folder, name, _INLINE + data)
        payload = _FILE + hashlib.sha256(data).digest() + uuid.uuid4().hex.encode()
        try:
            _write_durably(self._file(payload), data)
        except OSError:
            with contextlib.suppress(OSError):
                self._file(payload).unlink()  # Remove the file, so that retries do not fill a full disk even more.
            raise
        return self._codec.sign(folder, name, payload)

    def _read_file(self, folder: str, name: str, payload: bytes) -> bytes:
        file = self._file(payload)
        data = file.read_bytes()
        if hashlib.sha256(data).digest() != payload[1 : 1 + _DIGEST_BYTES]:
            raise CorruptEntryError(folder, name, f"the {len(data)} bytes of its file {file} are not those written")
        return data

    def _file(self, payload: bytes) -> AnyPath:
        return self._files / payload[1 + _DIGEST_BYTES :].decode()

    def _drop_file(self, folder: str, name: str, node: bytes | None) -> None:
        """Remove the file of a node, but only if this cluster wrote the node, as others may name any file."""
        if node is None:
            return
        with contextlib.suppress(UntrustedEntryError):
            payload = self._codec.verify(folder, name, node)
            if payload[:1] == _FILE:
                self._file(payload).unlink(missing_ok=True)


def _write_durably(path: AnyPath, data: bytes) -> None:
    if isinstance(path, RemotePath):
        path.create(data)
        return
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def commit_fenced(client: Any, latch: str | None, change: Callable[[Any], None]) -> bool:
    """Apply a change if the latch exists, in one atomic step; return whether it exists. Blocks.

    Raises:
        KazooException: the latch exists, but the change failed.
    """
    transaction = client.transaction()
    if latch is not None:
        transaction.check(latch, -1)
    change(transaction)
    if not transaction.operations:
        return True
    results = transaction.commit()
    if latch is not None and isinstance(results[0], NoNodeError):
        return False
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
            raise result
    return True
