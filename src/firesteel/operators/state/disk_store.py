"""Keyed state larger than memory: tables in a temporary database on local disk, with a cache of recent entries.

The database is a private, unnamed SQLite file that disappears with its process. It need not survive failures, as state
is restored from versions. Flink's counterpart is RocksDB; `state.backend.type: rocksdb` selects this store.

Why: `docs/decisions/0013-state-on-disk-in-sqlite.md`.
"""

from __future__ import annotations

import io
import marshal
import os
import pickle
import re
import sqlite3
import struct
from collections.abc import Iterator, MutableMapping
from typing import Any

from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.common.keys.canonical_keys import ObjectKey
from firesteel.common.options.state_options import ROCKSDB_LOCAL_DIR
from firesteel.operators.exchange.buffers import pickled
from firesteel.operators.state.disk_list import CHUNK_ELEMENTS, DiskList, ListChunks
from firesteel.operators.state.entries import Entry, Stored

CACHED_ENTRIES = 20_000
"""Maximum number of entries in each of the two generations of a table's cache."""

_PAGE_CACHE_KIB = 4096
_BATCH = 1000
_LENGTH = struct.Struct(">I")
_PLAIN = frozenset({int, str, bytes, float, bool, type(None)})


def local_directory(directories: str) -> str:
    """Return the directory for the state of this process; SQLite would silently use another one if it is unusable.

    Args:
        directories: Directories separated by commas or colons, as in Flink; missing ones are created.

    Raises:
        OSError: none of them can be created and written to.
    """
    usable = [path for path in re.split("[,:]", directories) if path and _is_usable(path)]
    if not usable:
        raise OSError(f"No local storage directories available. {ROCKSDB_LOCAL_DIR} is {directories!r}")
    return usable[os.getpid() % len(usable)]


def _is_usable(path: str) -> bool:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK | os.X_OK)


class DiskStore:
    """The database of one operator; `table` creates a dictionary in it."""

    def __init__(self, configuration: dict[str, str]) -> None:
        configured = ROCKSDB_LOCAL_DIR.of(configuration)
        # SQLite reads this variable whenever it creates a temporary file.
        os.environ["SQLITE_TMPDIR"] = (
            local_directory(configured) if configured else made_directory(temporary_directory(configuration))
        )
        self._database = sqlite3.connect("", isolation_level=None)
        # Nothing is restored from the file, so it needs neither a journal nor to reach the disk.
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_PAGE_CACHE_KIB}"):
            self._database.execute(f"PRAGMA {setting}")
        self._tables = 0
        self._chunks = ListChunks(self._database)

    def table(self) -> DiskDict:
        """Return a new dictionary."""
        return DiskDict(self._database, self._next_name(), self._chunks)

    def table_of_pairs(self) -> DiskDictOfPairs:
        """Return a new dictionary whose entries are pairs."""
        return DiskDictOfPairs(self._database, self._next_name(), self._chunks)

    def forget_removed(self) -> None:
        """Delete what removed lists have left on disk; called with each version."""
        self._chunks.forget_removed()

    def _next_name(self) -> str:
        self._tables += 1
        return f"state{self._tables}"


class DiskDict(MutableMapping[Entry, Stored]):
    """A dictionary most of whose entries are on disk.

    The cache has two generations: recently used entries are in the young one, which becomes the old one when it is
    full. To change a value in place, call `get`, change the value, and call `touched`, with no other `get` in between.

    Attributes:
        chunks: The chunks of its long lists.
    """

    def __init__(self, database: sqlite3.Connection, name: str, chunks: ListChunks) -> None:
        self.chunks = chunks
        self._execute, self._execute_many = database.execute, database.executemany
        # `e` is the pickled entry if it cannot be rebuilt from the bytes in `k`.
        self._execute(f"CREATE TABLE {name} (k BLOB PRIMARY KEY, v BLOB NOT NULL, e BLOB) WITHOUT ROWID")
        self._read = f"SELECT v FROM {name} WHERE k = ?"
        self._write = f"INSERT OR REPLACE INTO {name} VALUES (?, ?, ?)"
        self._remove = f"DELETE FROM {name} WHERE k = ?"
        self._read_between = f"SELECT k, v, e FROM {name} WHERE k > ? AND k < ? ORDER BY k LIMIT {_BATCH}"
        self._count = f"SELECT count(*) FROM {name}"
        self._young: dict[object, object] = {}
        self._old: dict[object, object] = {}
        self._unwritten: set[object] = set()

    def get(self, entry: object, default: object = None) -> Stored:
        """Return the value of an entry, or the default."""
        value = self._young.get(entry)
        if value is not None:
            return value
        value = self._old.get(entry)
        if value is None:
            row = self._execute(self._read, (self._encode(entry)[0],)).fetchone()
            if row is None:
                return default
            value = self._loaded(row[0])
        self._keep(entry, value)
        return value

    def _loaded(self, data: bytes) -> Stored:
        value = pickle.loads(data)
        if value.__class__ is DiskList:
            self.chunks.keep(value)
        return value

    def _keep(self, entry: object, value: object) -> None:
        # Changed entries must be on disk before their generation may be dropped.
        if len(self._young) >= CACHED_ENTRIES:
            self.write()
            self._old, self._young = self._young, {}
        self._young[entry] = value

    def _encode(self, entry: object) -> tuple[bytes, bytes | None]:
        return _encode(entry)

    def _decode(self, data: bytes) -> object:
        return _decode(data)

    def touched(self, entry: object) -> None:
        """Note that the value of an entry was changed in place, or that the entry was removed."""
        if entry in self._young:
            self._unwritten.add(entry)

    def grew(self, entry: object) -> None:
        """Note that a list was appended to; a long one is kept in chunks from then on."""
        stored = self._young[entry]
        if stored.__class__ is list and len(stored) > CHUNK_ELEMENTS:
            self._young[entry] = self.chunks.long_list(stored)
        self._unwritten.add(entry)

    def write(self) -> None:
        """Write the entries that are in memory only to the database."""
        if self._unwritten:
            young, old = self._young, self._old
            values = ((entry, young.get(entry, old.get(entry))) for entry in self._unwritten)
            self._execute("BEGIN")
            # In the order of the keys, so that neighbours share pages of the tree.
            self._execute_many(self._write, sorted(self._row(entry, value) for entry, value in values))
            self._execute("COMMIT")
            self._unwritten.clear()

    def _row(self, entry: object, value: object) -> tuple[bytes, bytes, bytes | None]:
        key, whole = self._encode(entry)
        return key, pickled(value), whole

    def __getitem__(self, entry: object) -> object:
        value = self.get(entry)
        if value is None:
            raise KeyError(entry)
        return value

    def __setitem__(self, entry: object, value: object) -> None:
        before = self._young.get(entry)
        if before.__class__ is DiskList and before is not value:
            self.chunks.remove(before)
        self._keep(entry, value)
        self._unwritten.add(entry)
        if value.__class__ is DiskList:
            self.chunks.keep(value)

    def __delitem__(self, entry: object) -> None:
        """Remove an entry; a long list must have been read just before it is removed or replaced, to go as a whole."""
        found = self._young.pop(entry, None), self._old.pop(entry, None)
        self.chunks.remove(found[0] if found[0] is not None else found[1])
        self._unwritten.discard(entry)
        self._execute(self._remove, (self._encode(entry)[0],))

    def __contains__(self, entry: object) -> bool:
        return self.get(entry) is not None

    def __iter__(self) -> Iterator[Entry]:
        for entry, _ in self._stored():
            yield entry

    def items(self) -> Any:
        """Yield (entry, value) pairs in arbitrary order; entries may be changed during iteration."""
        for entry, value in self._stored():
            yield entry, self._loaded(value)

    def _stored(self, first: bytes = b"", end: bytes = b"\xff") -> Iterator[tuple[Entry, bytes]]:
        """Yield all entries and their pickled values, or those with bytes after `first` and before `end`."""
        self.write()
        # A query per thousand entries and not a cursor, as the caller may change the table in between.
        while rows := self._execute(self._read_between, (first, end)).fetchall():
            first = rows[-1][0]
            for key, value, whole in rows:
                yield self._decode(key) if whole is None else pickle.loads(whole), value

    def __len__(self) -> int:
        self.write()
        return int(self._execute(self._count).fetchone()[0])

    def __bool__(self) -> bool:
        return any(True for _ in self)


class DiskDictOfPairs(DiskDict):
    """A dictionary whose entries are pairs; pairs with the same first part are stored next to each other."""

    def items_of(self, first: object) -> Iterator[tuple[Entry, Stored]]:
        """Yield the entries with a given first part and their values; they may be changed during iteration."""
        begin = self._begin(first)
        for entry, value in self._stored(begin, begin + b"\xff"):
            yield entry, pickle.loads(value)

    @staticmethod
    def _begin(first: object) -> bytes:
        data = _encode(first)[0]
        return _LENGTH.pack(len(data)) + data

    def _encode(self, entry: Entry) -> tuple[bytes, bytes | None]:
        first, second = entry
        (first_data, first_whole), (second_data, second_whole) = _encode(first), _encode(second)
        whole = None if first_whole is None and second_whole is None else pickled(entry)
        return _LENGTH.pack(len(first_data)) + first_data + second_data, whole

    def _decode(self, data: bytes) -> object:
        end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        return _decode(data[_LENGTH.size : end]), _decode(data[end:])


class _EntryPickler(pickle.Pickler):
    """A pickler for entries that writes only the canonical form of an `ObjectKey`, which equal keys share."""

    has_objects = False

    def reducer_override(self, value: object) -> Any:
        if value.__class__ is not ObjectKey:
            return NotImplemented
        self.has_objects = True
        return ObjectKey, ((value[0], None),)


def _encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """Return the bytes of an entry, equal for equal entries, and the pickled entry if the bytes can't be decoded."""
    # Version 2 of marshal has no references, so that the bytes do not depend on object identity.
    if entry.__class__ in _PLAIN or (entry.__class__ is tuple and _PLAIN.issuperset(map(type, entry))):
        return marshal.dumps(entry, 2), None
    buffer = io.BytesIO()
    pickler = _EntryPickler(buffer, 5)
    pickler.fast = True  # without memo, the bytes do not depend on object identity
    pickler.dump(entry)
    return buffer.getvalue(), pickled(entry) if pickler.has_objects else None


def _decode(data: bytes) -> object:
    return pickle.loads(data) if data.startswith(b"\x80") else marshal.loads(data)
