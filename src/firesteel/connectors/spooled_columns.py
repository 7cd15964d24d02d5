"""Column batches that a sink holds back from one checkpoint to the next."""

from __future__ import annotations

import io
import os
import pickle
import uuid
from contextlib import suppress
from pathlib import Path
from typing import IO

from firesteel.columns.batch import ColumnBatch
from firesteel.common.files.durability import make_directory
from firesteel.common.trust.frame_seal import RecordSeal, sealed_records

Place = tuple[str, int, bytes]
"""The path of a file, its length in bytes, and the key that proves that the job has written it."""


class SpooledColumns:
    """A buffer of column batches, which are in a local file between two batches of the job.

    The file is part of the writer's state until the next checkpoint. A restored writer begins a new file, because the
    former writer may still append to the old one.

    Args:
        directory: The directory of the file; empty if no state will be restored, so that rows stay in memory.

    Attributes:
        size_bytes: The approximate size that all rows have in memory.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._rows: list[ColumnBatch] = []
        self._file: IO[bytes] | None = None
        self._seal = RecordSeal()
        self._taken: list[str] = []
        self._removable: list[str] = []
        self.size_bytes = 0

    def add(self, batch: ColumnBatch) -> None:
        """Add rows in memory."""
        if not batch.length:
            return
        self._rows.append(batch)
        self.size_bytes += batch.nbytes

    def take(self) -> list[ColumnBatch]:
        """Return all rows in the order in which they were added, and keep none."""
        found: list[ColumnBatch] = []
        if self._file is not None:
            self._file.seek(0)
            found += _batches(self._file, self._seal.key)
            self._taken.append(self._file.name)
            self._file.close()
        found += self._rows
        self._rows, self._file, self.size_bytes = [], None, 0
        return found

    def persist(self) -> None:
        """Move the rows in memory to the file, to which the state refers; called at the end of a batch of the job."""
        if self._directory and self._rows:
            if self._file is None:
                make_directory(Path(self._directory))
                path = os.path.join(self._directory, f"columns-{uuid.uuid4().hex}")
                self._file = open(path, "w+b")  # noqa: SIM115 - stays open from batch to batch
                self._seal = RecordSeal()
            self._file.write(self._seal.sealed(pickle.dumps(self._rows, pickle.HIGHEST_PROTOCOL)))
            # Not forced to the disk: what a checkpoint needs has become data files before it.
            self._file.flush()
            self._rows = []
        # A file that was taken in this batch is needed again if this batch fails.
        removable, self._removable, self._taken = self._removable, self._taken, []
        for path in removable:
            with suppress(OSError):
                os.unlink(path)

    def snapshot(self) -> Place | None:
        """Return the file with all rows, None if there are none; called after `persist`."""
        return None if self._file is None else (self._file.name, self._file.tell(), self._seal.key)

    def restore(self, place: Place) -> None:
        """Add the rows of a snapshot.

        Raises:
            OSError: the file is missing or too short.
            SealBrokenError: somebody else has written to the file.
        """
        path, size, key = place
        with open(path, "rb") as file:
            data = file.read(size)
        if len(data) < size:
            raise OSError(f"file {path} of a sink has {len(data)} bytes, but the state refers to {size}")
        for batch in _batches(io.BytesIO(data), key):
            self.add(batch)
        self._taken.append(path)

    def close(self) -> None:
        """Close the file, to which the last state may refer."""
        if self._file is not None:
            self._file.close()


def _batches(file: IO[bytes], key: bytes) -> list[ColumnBatch]:
    return [batch for record in sealed_records(file, key) for batch in pickle.loads(record)]
