"""Batches in a file on the local disk that disappears with its process."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable

import pyarrow as pa

from firesteel.common.options.state_options import ROCKSDB_LOCAL_DIR

_ALIGNED = 64
"""Where Arrow wants its buffers to begin."""


class MappedFile:
    """Batches in Arrow's format. Pages of the file are memory of the process once they are read.

    Args:
        directory: Where the file is; it has no name there, so that nothing is left behind by a process that is killed.
        batches: The batches, which have the same schema.

    Attributes:
        batches: The batches, which are read from the file when they are used.
        sizes: How many bytes each takes.
        pages: The mapped file, or None if it is empty; the batches keep it open.

    Raises:
        OSError: the directory cannot be written to, or the disk is full.
    """

    def __init__(self, directory: str, batches: Iterable[pa.RecordBatch]) -> None:
        self.pages: mmap.mmap | None = None
        places: list[tuple[int, int]] = []
        schema = None
        try:
            with tempfile.TemporaryFile(prefix="firesteel-state-", dir=directory) as file:
                for batch in batches:
                    schema = batch.schema
                    file.write(bytes(-file.tell() % _ALIGNED))
                    data = batch.serialize()
                    places.append((file.tell(), data.size))
                    file.write(data)
                file.flush()
                if schema is not None:
                    self.pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            message = f"{os.strerror(error.errno or 0)}: state on disk needs more room; see {ROCKSDB_LOCAL_DIR}"
            raise OSError(error.errno, message, directory) from None
        whole = pa.py_buffer(self.pages or b"")
        self.sizes = [size for _, size in places]
        self.batches = [pa.ipc.read_record_batch(whole.slice(start, size), schema) for start, size in places]


def leave_memory(pages: mmap.mmap | None) -> None:
    """Let go of the pages that were read; the kernel still has them as long as nobody else needs the memory."""
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)
