"""Entries in an object store, which only the current leader can change.

Layout below `high-availability.storageDir/cluster-id`:

    leader              the leadership: a lease (see `object_lease.py`)
    entries             the index: session and epoch of the leader that may change it, and all entries; a small entry
                        is in the index itself, of a larger one its digest and the name of its file
    values/<random>     the value of a larger entry, written once, before the index names it

An object store renames nothing, so the index is one object, replaced by compare and swap: that its session is still
the writer's, and that nobody has changed it meanwhile, is checked by the store in the same step as the write. So a
deposed leader that was suspended between any two instructions changes nothing. A new leader puts its own session into
the index, with a higher epoch, before it reads.

Why: `docs/decisions/0051-high-availability-in-an-object-store.md`.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import uuid
from collections.abc import Callable
from typing import Any

from firesteel.common.files.conditional_object import ConditionalObject
from firesteel.common.files.remote_files import RemoteFileError, RemoteFileNotFoundError
from firesteel.common.files.remote_path import RemotePath
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, StaleLeaderError
from firesteel.runtime.highavailability.register import Register, Value
from firesteel.runtime.highavailability.storage import FOLDERS, REMOVED_JOBS, Names

__all__ = ["ObjectEntries"]

logger = logging.getLogger(__name__)

_INLINE_BYTES = 2048
_EPOCH, _SESSION, _NEXT, _HOLDS = "epoch", "session", "next", "holds"
_NUMBER, _DATA, _FILE, _DIGEST = "number", "data", "file", "digest"


class ObjectEntries:
    """Entries of an index. All methods block and are thread-safe.

    Args:
        index: The object with the index.
        values: The directory of larger values.
        codec: Signs entries and index, and rejects others.
    """

    def __init__(self, index: ConditionalObject, values: RemotePath, codec: EntryCodec) -> None:
        self._values = values
        self._codec = codec
        empty: Value = {_EPOCH: 0, _SESSION: None, _NEXT: 0, _HOLDS: {}} | {folder: {} for folder in FOLDERS}
        self._index = Register(index, codec, empty)

    def epoch(self) -> int:
        """Return the epoch of the session that may change entries, 0 before there is any."""
        return int(self._index.read()[0][_EPOCH])

    def take_over(self, session_id: str, epoch: int) -> bool:
        """Let a session be the one that may change entries; return False if one with a higher epoch is.

        Marks of use belong to former sessions, so they go, with the jobs that were kept for their sake; and so do
        files that no entry names.
        """

        def decide(index: Value) -> Value | None:
            if index[_EPOCH] >= epoch:
                return None
            return index | {_EPOCH: epoch, _SESSION: session_id, _HOLDS: {}, REMOVED_JOBS: {}}

        self._index.change(decide)
        files = [*self._values.iterdir()]  # Before the look at the index, so those of a successor are not among them.
        index, _ = self._index.read()
        if index[_SESSION] != session_id:
            return False
        named = {entry[_FILE] for folder in FOLDERS for entry in index[folder].values()}
        for path in files:
            if path.name not in named:
                _remove(path)
        return True

    def names(self, folder: str, session_id: str | None) -> Names:
        """Return the names in a folder, oldest entry first."""
        entries = self._read_index(session_id, f"listing {folder}")[folder]
        return tuple(sorted(entries, key=lambda name: int(entries[name][_NUMBER])))

    def read(self, folder: str, name: str, session_id: str | None) -> Any | None:
        """Return the value of an entry, or None if there is no such entry.

        Raises:
            CorruptEntryError: the entry can't be read.
        """
        former: Value | None = None
        while True:
            entry = self._read_index(session_id, f"reading {folder}/{name}")[folder].get(name)
            if entry is None:
                return None
            try:
                return self._codec.decode(folder, name, self._data(folder, name, entry))
            except RemoteFileNotFoundError as error:
                if entry == former:
                    raise CorruptEntryError(folder, name, error) from None
                former = entry  # It was replaced in between, unless the next one is the same.

    def _data(self, folder: str, name: str, entry: Value) -> bytes:
        if entry[_FILE] is None:
            return base64.b64decode(entry[_DATA])
        data = self._file(entry).read_bytes()
        if hashlib.sha256(data).hexdigest() != entry[_DIGEST]:
            raise CorruptEntryError(folder, name, f"the {len(data)} bytes of {self._file(entry)} are not those written")
        return data

    def write(self, folder: str, name: str, value: object, session_id: str | None) -> None:
        """Set the value durably."""
        written = self._written(self._codec.encode(folder, name, value))
        former: list[Value] = []

        def decide(index: Value) -> Value:
            former[:] = [index[folder][name]] if name in index[folder] else []
            number = former[0][_NUMBER] if former else index[_NEXT]
            entries = index[folder] | {name: written | {_NUMBER: number}}
            return index | {folder: entries, _NEXT: index[_NEXT] + (not former)}

        # If that fails, the file stays: the index may name it, by a write whose answer was lost.
        self._change(session_id, f"writing {folder}/{name}", decide)
        for entry in former:
            if entry[_FILE] != written[_FILE]:  # Such a write may also have been found as the former entry.
                self._drop(entry)

    def _written(self, data: bytes) -> Value:
        """Return the entry for a value, whose file is written if it is large."""
        if len(data) <= _INLINE_BYTES:
            return {_DATA: base64.b64encode(data).decode(), _FILE: None, _DIGEST: None}
        entry = {_DATA: None, _FILE: uuid.uuid4().hex, _DIGEST: hashlib.sha256(data).hexdigest()}
        self._file(entry).create(data)
        return entry

    def move(self, name: str, source: str, target: str, session_id: str | None) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""

        def decide(index: Value) -> Value | None:
            if name not in index[source]:
                return None
            moved = index[target] | {name: index[source][name]}
            return index | {source: _without(index[source], name), target: moved}

        self._change(session_id, f"moving {source}/{name}", decide)

    def delete(self, folder: str, name: str, session_id: str | None) -> None:
        """Delete an entry; no effect if it does not exist."""
        former: list[Value] = []

        def decide(index: Value) -> Value | None:
            former[:] = [index[folder][name]] if name in index[folder] else []
            return index | {folder: _without(index[folder], name)} if former else None

        self._change(session_id, f"deleting {folder}/{name}", decide)
        for entry in former:
            self._drop(entry)

    # Marks of use

    def hold(self, view: str, name: str) -> None:
        """Mark a job as used by a view of this process."""
        self._mark(lambda holds: holds | {name: sorted({*holds.get(name, ()), view})})

    def let_go(self, view: str, name: str) -> None:
        """Remove that mark."""
        self._mark(lambda holds: _unmarked(holds, view, name))

    def is_held(self, view: str, name: str) -> bool:
        """Return whether another view uses a job; views of former leaders do not count."""
        return any(holder != view for holder in self._index.read()[0][_HOLDS].get(name, ()))

    def forget(self, view: str) -> None:
        """Remove all marks of a view, which is closed."""

        def without(holds: Value) -> Value:
            for name in holds:
                holds = _unmarked(holds, view, name)
            return holds

        self._mark(without)

    def _mark(self, change: Callable[[Value], Value]) -> None:
        def decide(index: Value) -> Value | None:
            holds = change(index[_HOLDS])
            return None if holds == index[_HOLDS] else index | {_HOLDS: holds}

        self._index.change(decide)

    # The index

    def _read_index(self, session_id: str | None, what: str) -> Value:
        index, _ = self._index.read()
        _check(index, session_id, what)
        return index

    def _change(self, session_id: str | None, what: str, decide: Callable[[Value], Value | None]) -> None:
        def checked(index: Value) -> Value | None:
            _check(index, session_id, what)
            return decide(index)

        self._index.change(checked)

    def _file(self, entry: Value) -> RemotePath:
        return self._values / str(entry[_FILE])

    def _drop(self, entry: Value) -> None:
        """Remove the file of an entry that no index names."""
        if entry[_FILE] is not None:
            _remove(self._file(entry))


def _remove(file: RemotePath) -> None:
    """Remove a file; if that fails, the next leader does."""
    try:
        file.unlink()
    except RemoteFileError as error:
        logger.warning("a file that is not needed any more is left to the next leader: %s", error)


def _check(index: Value, session_id: str | None, what: str) -> None:
    if session_id is not None and index[_SESSION] != session_id:
        raise StaleLeaderError(what, session_id)


def _without(entries: Value, name: str) -> Value:
    return {other: entry for other, entry in entries.items() if other != name}


def _unmarked(holds: Value, view: str, name: str) -> Value:
    left = [holder for holder in holds.get(name, ()) if holder != view]
    return holds | {name: left} if left else _without(holds, name)
