"""An ordered map of bytes in a file on the local disk that disappears with its process (LMDB).

Flink's counterpart is RocksDB. Nothing is restored from the file, so it has no journal and need not reach the disk.

Why: `docs/decisions/0052-state-on-disk-in-lmdb.md`.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import lmdb

from firesteel.common.options.state_options import ROCKSDB_LOCAL_DIR

LONGEST_KEY = 511
"""Number of bytes that LMDB allows in a key."""

_FIRST_SIZE = 1 << 20
_LARGEST_GROWTH = 256 << 20
_WRITTEN_AT_ONCE = 1 << 19
"""Bytes of a transaction: the file cannot be unmapped while it lasts, and the kernel maps 64 KB for each random key."""

_OVERHEAD = 1024
"""What an entry adds to the bytes of a transaction beside its value: a part of the page that it is on."""

_REMOVED_AT_ONCE = 512
_LOOKED_UP = 512
"""Single look-ups after which the file may have to be unmapped."""

_READ_AT_ONCE = 8 << 20
"""Bytes of values after which `between` returns what it has."""

_RESERVES = hasattr(os, "posix_fallocate")
"""Whether space can be reserved; macOS cannot, and writes pages by calls, which fail where there is no space."""

_STATM = Path("/proc/self/statm")

Pair = tuple[bytes, bytes]


class EmbeddedStore:
    """The file and its map; it is used by one thread.

    Args:
        directory: Where the file is; it has no name there, so that nothing is left behind by a process that is killed.
        mapped: How many bytes of the file may count as memory of the process. The kernel caches the others as well, but
            takes them back when memory is short.

    Raises:
        OSError: the directory cannot be written to, or the disk is full.
    """

    def __init__(self, directory: str, mapped: int) -> None:
        self._directory, self._mapped = directory, mapped
        self._file, path = tempfile.mkstemp(prefix="firesteel-state-", dir=directory)
        # A slot outlives the tasks that it runs: the space of a task that has failed must not wait for its process.
        self._free = weakref.finalize(self, os.close, self._file)
        self._path = f"/proc/self/fd/{self._file}" if os.path.exists("/proc/self/fd") else path
        self._size = self._looked_up = 0
        try:
            self._environment = self._opened(_FIRST_SIZE)
        finally:
            os.unlink(path)
        self._reserve(_FIRST_SIZE)
        self._others = mapped_bytes()

    def _opened(self, size: int) -> lmdb.Environment:
        return lmdb.open(
            self._path,
            map_size=size,
            subdir=False,
            lock=False,
            sync=False,
            metasync=False,
            writemap=_RESERVES,
            map_async=_RESERVES,
            readahead=False,
            meminit=False,
        )

    def _reserve(self, size: int) -> None:
        """Take space on the disk: writing to a page without any through the mapping would end the process."""
        try:
            if _RESERVES:
                os.posix_fallocate(self._file, self._size, size - self._size)
        except OSError as error:
            message = (
                f"{os.strerror(error.errno or 0)}: state on disk takes {self._size >> 20} MB and needs more; see "
                f"{ROCKSDB_LOCAL_DIR}"
            )
            raise OSError(error.errno, message, self._directory) from None
        self._size = size

    def _grow(self) -> None:
        self._reserve(self._size + min(self._size // 2, _LARGEST_GROWTH))
        self._environment.set_mapsize(self._size)

    # --- reading -----------------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        self._looked_up += 1
        if self._looked_up == _LOOKED_UP:
            self.limit_memory()
        with self._environment.begin() as transaction:
            return transaction.get(key)

    def get_several(self, keys: list[bytes]) -> list[Pair]:
        """Return the keys that are there with their values; sorted keys are read fastest."""
        with self._environment.begin() as transaction, transaction.cursor() as cursor:
            found: list[Pair] = cursor.getmulti(keys)
        self.limit_memory()
        return found

    def between(self, first: bytes, end: bytes, most: int) -> list[Pair]:
        """Return at most some of the keys from `first` to before `end`, in their order, with their values.

        It returns fewer if the values are large, but not none.
        """
        found: list[Pair] = []
        size = 0
        with self._environment.begin() as transaction, transaction.cursor() as cursor:
            if cursor.set_range(first):
                for pair in islice(cursor.iternext(), most):
                    if pair[0] >= end:
                        break
                    found.append(pair)
                    size += len(pair[1])
                    if size >= _READ_AT_ONCE:
                        break
        self.limit_memory()
        return found

    # --- writing -----------------------------------------------------------------------------------------------------

    def put_all(self, pairs: Iterable[Pair]) -> None:
        """Set the values of keys; sorted keys are written fastest."""
        for part in _of_bounded_size(pairs):
            self._change(partial(_put, part))

    def remove_all(self, keys: Iterable[bytes]) -> None:
        """Remove keys, some of which may be absent."""
        rest = iter(keys)
        while part := list(islice(rest, _REMOVED_AT_ONCE)):
            self._change(partial(_remove, part))

    def _change(self, change: Callable[[lmdb.Transaction], None]) -> None:
        """Change keys in one transaction, again in a larger file if there was no room."""
        while True:
            try:
                with self._environment.begin(write=True) as transaction:
                    change(transaction)
                break
            except lmdb.MapFullError:
                self._grow()
        self.limit_memory()

    def remove_between(self, first: bytes, end: bytes) -> None:
        """Remove the keys from `first` to before `end`."""
        while found := self.between(first, end, _REMOVED_AT_ONCE):
            self.remove_all(key for key, _ in found)

    # --- memory ------------------------------------------------------------------------------------------------------

    def limit_memory(self) -> None:
        """Unmap the file if more of it than allowed counts as memory of the process."""
        self._looked_up = 0
        if mapped_bytes() - self._others > self._mapped and self._path.startswith("/proc"):
            self._environment.close()
            self._environment = self._opened(self._size)
            self._others = mapped_bytes()

    def close(self) -> None:
        """Free the file."""
        self._environment.close()
        self._free()


def _put(pairs: list[Pair], transaction: lmdb.Transaction) -> None:
    with transaction.cursor() as cursor:
        cursor.putmulti(pairs)


def _remove(keys: list[bytes], transaction: lmdb.Transaction) -> None:
    for key in keys:
        transaction.delete(key)


def mapped_bytes() -> int:
    """Return how many bytes of files count as memory of this process, among them its libraries; 0 if not known."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[2]) * os.sysconf("SC_PAGE_SIZE")


def _of_bounded_size(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    part: list[Pair] = []
    size = 0
    for pair in pairs:
        part.append(pair)
        size += len(pair[1]) + _OVERHEAD
        if size >= _WRITTEN_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part
