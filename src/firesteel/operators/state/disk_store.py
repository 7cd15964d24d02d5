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
from collections.abc import Iterable, Iterator, MutableMapping, Set
from itertools import chain, islice
from operator import itemgetter
from typing import Any, TypeVar

from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.common.keys.canonical_keys import ObjectKey
from firesteel.common.options.state_options import ROCKSDB_LOCAL_DIR
from firesteel.operators.exchange.buffers import pickled
from firesteel.operators.state.cache_memory import CacheShare, approximate_size, memory_of_process
from firesteel.operators.state.disk_list import CHUNK_ELEMENTS, DiskList, ListChunks
from firesteel.operators.state.entries import Entry, Stored

_FEWEST_ENTRIES = 2
"""Number of entries that are kept however large they are: functions change values in place."""

_NEW_ENTRIES = 64
"""Number of new entries after which a small table looks how much memory its entries take."""

_SAMPLED = 8
"""Number of the oldest and of the latest entries whose size is looked at."""

_ENTRY_BYTES = 100
"""What an entry takes in the dictionary and the set of changes, beside its key and value."""

_PAGE_CACHE_KIB = 4096
_DROPPED_PART = 8
_BATCH = 900
"""Rows of a query; SQLite before 3.32 allows 999 variables."""
_LENGTH = struct.Struct(">I")
_D = TypeVar("_D", bound="DiskDict")
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
        self._chunks = ListChunks(self._database)
        self._memory = memory_of_process(configuration)
        self._made: list[DiskDict] = []

    def table(self) -> DiskDict:
        """Return a new dictionary."""
        return self._make(DiskDict)

    def table_of_pairs(self) -> DiskDictOfPairs:
        """Return a new dictionary whose entries are pairs."""
        return self._make(DiskDictOfPairs)

    def _make(self, kind: type[_D]) -> _D:
        made = kind(self._database, f"state{len(self._made)}", self._chunks, CacheShare(self._memory))
        self._made.append(made)
        return made

    def end_version(self) -> None:
        """Delete what removed lists have left on disk, and drop entries that have grown beyond the memory."""
        self._chunks.forget_removed()
        for table in self._made:
            table.review()


class DiskDict(MutableMapping[Entry, Stored]):
    """A dictionary most of whose entries are on disk.

    Entries stay in memory from when they are read or written until there is no more room; then the first ones go, in
    the order of their arrival. To change a value in place, call `get`, change the value, and call `touched`, with no
    other `get` in between.

    Attributes:
        chunks: The chunks of its long lists.
    """

    def __init__(self, database: sqlite3.Connection, name: str, chunks: ListChunks, share: CacheShare) -> None:
        self.chunks = chunks
        self._execute, self._execute_many = database.execute, database.executemany
        # `e` is the pickled entry if it cannot be rebuilt from the bytes in `k`.
        self._execute(f"CREATE TABLE {name} (k BLOB PRIMARY KEY, v BLOB NOT NULL, e BLOB) WITHOUT ROWID")
        self._read = f"SELECT v FROM {name} WHERE k = ?"
        self._read_several = f"SELECT k, v FROM {name} WHERE k IN "
        self._write = f"INSERT OR REPLACE INTO {name} VALUES (?, ?, ?)"
        self._remove = f"DELETE FROM {name} WHERE k = ?"
        self._read_between = f"SELECT k, v, e FROM {name} WHERE k > ? AND k < ? ORDER BY k LIMIT {_BATCH}"
        self._count = f"SELECT count(*) FROM {name}"
        self._share = share
        self._review_at = self._allowed = 0
        self._absent: set[object] = set()
        self._has_rows = False
        self._cached: dict[object, object] = {}
        self._unwritten: set[object] = set()

    def get(self, entry: object, default: object = None) -> Stored:
        """Return the value of an entry, or the default."""
        value = self._cached.get(entry)
        if value is not None:
            return value
        if not self._has_rows or entry in self._absent:
            return default
        row = self._execute(self._read, (self._encode(entry)[0],)).fetchone()
        return default if row is None else self._keep(entry, row[0])

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read entries that are going to be asked for, in the order in which they are on disk, as far as there is room.

        Reading them one by one takes half as long again.
        """
        if not self._has_rows:
            return
        # Half of the room: more would push out what was read first before it is used.
        asked = islice(set(entries).difference(self._cached), self._allowed // 2)
        missing = {self._encode(entry)[0]: entry for entry in asked}
        keys = sorted(missing)
        for begin in range(0, len(keys), _BATCH):
            part = keys[begin : begin + _BATCH]
            for key, value in self._execute(self._read_several + f"({','.join('?' * len(part))})", part).fetchall():
                self._keep(missing.pop(key), value)
        # What is known not to be there is not asked for again; new keys are frequent, and each would cost a query.
        self._absent = set(missing.values())

    def _keep(self, entry: object, data: bytes) -> Stored:
        if len(self._cached) >= self._review_at:
            self.review()
        value = self._cached[entry] = self._loaded(data)
        return value

    def _loaded(self, data: bytes) -> Stored:
        value = pickle.loads(data)
        if value.__class__ is DiskList:
            self.chunks.keep(value)
        return value

    def review(self) -> None:
        """Look how much memory the entries take, and drop the first ones if it is too much."""
        cached = self._cached
        sampled = [*islice(cached.items(), _SAMPLED), *islice(reversed(cached.items()), _SAMPLED)]
        sizes = map(approximate_size, chain.from_iterable(sampled))
        size = _ENTRY_BYTES + sum(sizes) // max(len(sampled), 1)
        self._allowed = allowed = max(self._share.allowed() // size, _FEWEST_ENTRIES)
        if len(cached) >= allowed:
            # Some more than needed, so that not each new entry makes a write of its own.
            self._drop(list(islice(cached, len(cached) - allowed + allowed // _DROPPED_PART + 1)))
        self._share.used = size * len(cached)
        self._review_at = min(allowed, len(cached) + max(len(cached) // _DROPPED_PART, _NEW_ENTRIES))

    def _drop(self, entries: list[object]) -> None:
        self._write_all(self._unwritten.intersection(entries))
        for entry in entries:
            del self._cached[entry]

    def _encode(self, entry: object) -> tuple[bytes, bytes | None]:
        return _encode(entry)

    def _decode(self, data: bytes) -> object:
        return _decode(data)

    def touched(self, entry: object) -> None:
        """Note that the value of an entry was changed in place, or that the entry was removed."""
        if entry in self._cached:
            self._unwritten.add(entry)

    def grew(self, entry: object) -> None:
        """Note that a list was appended to; a long one is kept in chunks from then on."""
        stored = self._cached[entry]
        if stored.__class__ is list and len(stored) > CHUNK_ELEMENTS:
            self._cached[entry] = self.chunks.long_list(stored)
        self._unwritten.add(entry)

    def write(self) -> None:
        """Write the entries that are in memory only to the database."""
        self._write_all(self._unwritten)

    def _write_all(self, entries: Set[object]) -> None:
        if entries:
            # In the order of the keys, so that neighbours share pages of the tree.
            keys = sorted(((*self._encode(entry), entry) for entry in entries), key=itemgetter(0))
            # Without a transaction SQLite would make one of each row.
            self._execute("BEGIN")
            self._execute_many(self._write, ((key, pickled(self._cached[e]), whole) for key, whole, e in keys))
            self._execute("COMMIT")
            self._absent -= entries
            self._unwritten -= entries
            self._has_rows = True

    def __getitem__(self, entry: object) -> object:
        value = self.get(entry)
        if value is None:
            raise KeyError(entry)
        return value

    def __setitem__(self, entry: object, value: object) -> None:
        before = self._cached.get(entry)
        if before is None:
            if len(self._cached) >= self._review_at:
                self.review()
        elif before.__class__ is DiskList and before is not value:
            self.chunks.remove(before)
        self._cached[entry] = value
        self._unwritten.add(entry)
        if value.__class__ is DiskList:
            self.chunks.keep(value)

    def __delitem__(self, entry: object) -> None:
        """Remove an entry; a long list must have been read just before it is removed or replaced, to go as a whole."""
        self.chunks.remove(self._cached.pop(entry, None))
        self._unwritten.discard(entry)
        if self._has_rows:
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
            yield entry, self._loaded(value)

    @staticmethod
    def _begin(first: object) -> bytes:
        data = _encode(first)[0]
        return _LENGTH.pack(len(data)) + data

    def _encode(self, entry: Entry) -> tuple[bytes, bytes | None]:
        first, second = entry
        (first_data, first_whole), (second_data, second_whole) = _encode(first), _encode(second)
        whole = None if first_whole is None and second_whole is None else pickled(entry)
        # With the length first, no part is the beginning of another one, so a range holds the entries of one first
        # part.
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
