"""Temporary files of pickled chunks.

They are unlinked on creation, so they disappear with the process however it ends.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from firesteel.common.files.temporary_directories import made_directory
from firesteel.common.trust.pickling import pickled
from firesteel.common.values.bounded_results import DiskReserveError

__all__ = ["RESERVED_BYTES", "SpillFile"]

RESERVED_BYTES = 256 << 20
"""Free space of a disk that spilling leaves, so that the host can continue to work; at most 5 % of small disks."""


class SpillFile:
    """A temporary file of chunks, each addressed by the position that `write` returned."""

    def __init__(self, directory: str | None) -> None:
        descriptor, path = tempfile.mkstemp(prefix="firesteel-", dir=made_directory(directory))
        os.unlink(path)
        self._directory = os.path.dirname(path)
        self._descriptor = descriptor
        self._end = 0
        self.close: Callable[[], Any] = weakref.finalize(self, os.close, descriptor)
        """Close the file and free its space; also called when the object is garbage collected."""

    def write(self, chunk: object) -> tuple[int, int]:
        """Append a chunk and return its position.

        Raises:
            DiskReserveError: the disk would become full.
        """
        data = memoryview(pickled(chunk))
        self._check_reserve(len(data))
        place = (self._end, len(data))
        # pwrite may write less than it is given.
        while data:
            written = os.pwrite(self._descriptor, data, self._end)
            self._end += written
            data = data[written:]
        return place

    def _check_reserve(self, size: int) -> None:
        disk = os.fstatvfs(self._descriptor)
        free, reserve = disk.f_bavail * disk.f_frsize, min(RESERVED_BYTES, disk.f_blocks * disk.f_frsize // 20)
        if free - size < reserve:
            raise DiskReserveError(self._directory, self._end, free, reserve)

    def read(self, place: tuple[int, int]) -> Any:
        """Return the chunk at a position."""
        return pickle.loads(os.pread(self._descriptor, place[1], place[0]))
