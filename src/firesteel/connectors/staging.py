"""Rows staged until their checkpoint is committed: in memory if they are few, else in a file near the checkpoints."""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory, sync_directory
from firesteel.common.files.file_systems import scheme_of
from firesteel.common.files.local_path import local_path
from firesteel.common.files.run_directory import run_directory
from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.common.trust.frame_seal import RecordSeal, SealBrokenError, sealed_records
from firesteel.functions.connector_base import SinkWriter, WriterInitContext

_Row = tuple[Any, ...]
T_prepared = TypeVar("T_prepared")


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """Rows of one writer, ready for the driver: those in the file `staged`, if it is set, then `rows`.

    Attributes:
        staged: The file, or None.
        rows: Further rows.
        key: Proves that the job has written the file, see `RecordSeal`.
    """

    staged: str | None
    rows: tuple[_Row, ...]
    key: bytes = field(default=b"", repr=False)

    def chunks(self) -> Iterator[Sequence[_Row]]:
        """Yield the rows in lists.

        Raises:
            SealBrokenError: somebody else has written to the file.
        """
        if self.staged is not None:
            with open(self.staged, "rb") as file:
                for record in sealed_records(file, self.key):
                    if not record:
                        break
                    yield pickle.loads(record)
                else:
                    raise SealBrokenError(self.staged)
        yield self.rows

    def __iter__(self) -> Iterator[_Row]:
        for chunk in self.chunks():
            yield from chunk

    def discard(self) -> None:
        """Remove the file and the files of other attempts in its place; remove the directory if it is empty.

        The rows are committed, so no checkpoint can refer to another attempt any more.
        """
        if self.staged is not None:
            path = Path(self.staged)
            for attempt in path.parent.glob(f"{path.stem}.*"):
                attempt.unlink(missing_ok=True)
            with suppress(OSError):
                path.parent.rmdir()


class StagedRows:
    """Buffers the rows of one writer and batch.

    Attributes:
        files: Number of files used so far, which is part of the writer's state.
    """

    def __init__(self, context: WriterInitContext) -> None:
        self._directory = _staging_directory(context)
        # An id contains a slash and may be longer than the name of a file.
        sink = hashlib.md5(context.sink_id.encode(), usedforsecurity=False).hexdigest()[:12]
        self._file_prefix = f"{sink}-{context.subtask_index}-"
        self._attempt = uuid.uuid4().hex[:12]
        self._rows: list[_Row] = []
        self._file: IO[bytes] | None = None
        self._seal = RecordSeal()
        self.files = 0

    def __len__(self) -> int:
        """Return the number of rows in memory."""
        return len(self._rows)

    def add(self, rows: Sequence[_Row]) -> None:
        """Add rows in memory."""
        self._rows += rows

    def stage(self) -> None:
        """Move the rows from memory to the file."""
        if self._file is None:
            make_directory(self._directory, mode=PRIVATE_DIRECTORY)
            path = self._directory / f"{self._file_prefix}{self.files}.{self._attempt}"
            self._file = open(path, "wb")  # noqa: SIM115 - closed when it is prepared
            self._seal = RecordSeal()
            self.files += 1
        self._file.write(self._seal.sealed(pickle.dumps(self._rows, protocol=pickle.HIGHEST_PROTOCOL)))
        self._rows = []

    def finish(self) -> PreparedRows:
        """Return the rows of the batch; the file, if there is one, is durable."""
        rows, self._rows = tuple(self._rows), []
        staged, key = None, b""
        if self._file is not None:
            self._file.write(self._seal.sealed(b""))  # the end
            self._file.flush()
            os.fsync(self._file.fileno())
            sync_directory(self._directory)
            self._file.close()
            staged, key, self._file = self._file.name, self._seal.key, None
        return PreparedRows(staged, rows, key)

    def close(self) -> None:
        """Remove the file of an unfinished batch."""
        if self._file is not None:
            self._file.close()
            os.unlink(self._file.name)
            self._file = None


class StagingWriter(SinkWriter[Any], Generic[T_prepared]):
    """Base of writers that stage rows and number their files.

    Args:
        context: The subtask.
    """

    def __init__(self, context: WriterInitContext) -> None:
        self._staged = StagedRows(context)
        self._prepared: list[T_prepared] = []

    def snapshot_state(self) -> int | None:
        """Return the number of files used so far."""
        return self._staged.files or None

    def begin_after(self, states: Sequence[int]) -> None:
        """Continue after the file numbers of all former writers."""
        self._staged.files = max(states, default=0)

    def restore_state(self, state: int) -> None:
        """Continue with the next file number."""
        self._staged.files = max(self._staged.files, state)

    def prepare_commit(self) -> Sequence[T_prepared]:
        """Return the finished rows."""
        prepared, self._prepared = self._prepared, []
        return prepared

    def close(self) -> None:
        """Remove the file of an unfinished batch."""
        self._staged.close()


def _staging_directory(context: WriterInitContext) -> Path:
    """Return the directory next to local checkpoints, or a private one in the run directory for remote checkpoints.

    Raises:
        UnsafeDirectoryError: the run directory cannot be trusted.
    """
    configured = CHECKPOINTING_DIR.of(context.configuration)
    if configured is None or scheme_of(configured) is not None:
        return run_directory() / f"staging-{context.job_id}"
    return local_path(configured) / context.job_id / "staging"
