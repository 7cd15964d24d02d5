"""Keyed state larger than memory: tables in a file on local disk, with a cache of recent entries.

It need not survive failures, as state is restored from versions. Flink's counterpart is RocksDB;
`state.backend.type: rocksdb` selects this store.

Why: `docs/decisions/0052-state-on-disk-in-lmdb.md`.
"""

from __future__ import annotations

import os
import re
from typing import TypeVar

from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.common.options.state_options import ROCKSDB_LOCAL_DIR, ROCKSDB_TIMERS
from firesteel.operators.state.cache_memory import CacheShare, SpillShare, memory_of_process
from firesteel.operators.state.disk_dict import TABLE, DiskDict
from firesteel.operators.state.disk_list import ListChunks
from firesteel.operators.state.disk_pairs import MapsDict, WindowsDict
from firesteel.operators.state.embedded_store import EmbeddedStore
from firesteel.operators.state.mapping_on_disk import MappingOnDisk
from firesteel.operators.state.timers_on_disk import TimersOnDisk

_MAPPED_PART = 4
"""The part of the memory for entries that pages of the file may take of it."""

_LEAST_MAPPED = 1 << 20
"""Bytes of the file that may be mapped however little memory there is: the file must be mapped again for less."""

_CHUNKS = (1 << 32) - 1
"""The number of the chunks of lists."""

_M = TypeVar("_M", bound=MappingOnDisk)


def local_directory(directories: str) -> str:
    """Return the directory for the state of this process.

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
    """The state of one operator; `table` creates a dictionary in it."""

    def __init__(self, configuration: dict[str, str]) -> None:
        configured = ROCKSDB_LOCAL_DIR.of(configuration)
        found = local_directory(configured) if configured else made_directory(temporary_directory(configuration))
        self._directory, self._memory = found, memory_of_process(configuration)
        mapped = max(self._memory.limit // _MAPPED_PART, _LEAST_MAPPED)
        self._store = EmbeddedStore(found, mapped)
        self._mapped = CacheShare(self._memory)
        self._mapped.used = mapped
        self._has_timers = ROCKSDB_TIMERS.of(configuration) == "ROCKSDB"
        self._chunks = ListChunks(self._store, TABLE.pack(_CHUNKS))
        self._made: list[MappingOnDisk] = []

    def table(self) -> DiskDict:
        """Return a new dictionary."""
        return self._keep(DiskDict(self._store, self._prefix(), self._chunks, CacheShare(self._memory)))

    def maps(self) -> MapsDict:
        """Return a new dictionary whose entries are `(entry, map key)`."""
        return self._keep(MapsDict(self._store, self._prefix(), self._chunks, CacheShare(self._memory)))

    def windows(self) -> WindowsDict:
        """Return a new dictionary whose entries are `(window, key)`."""
        return self._keep(WindowsDict(self._store, self._prefix(), self._chunks, CacheShare(self._memory)))

    def timers(self) -> TimersOnDisk | None:
        """Return the timers of the operator, or None if they are to be in memory."""
        if not self._has_timers:
            return None
        return self._keep(TimersOnDisk(self._store, self._prefix(), CacheShare(self._memory)))

    def spill(self) -> SpillShare:
        """Return a new share of the memory for entries that are columns."""
        return SpillShare(self._memory, self._directory)

    def _prefix(self) -> bytes:
        return TABLE.pack(len(self._made))

    def _keep(self, made: _M) -> _M:
        self._made.append(made)
        return made

    def end_version(self) -> None:
        """Delete what removed lists have left on disk, and drop entries that have grown beyond the memory."""
        self._chunks.forget_removed()
        for table in self._made:
            table.review()
        self._store.limit_memory()
