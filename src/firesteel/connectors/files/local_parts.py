"""Part files on the local file system: written under hidden names and made visible on commit.

A part file in progress is `.<part>.inprogress.<run>-<batch>-<try>-<writer>`. The version of a batch records its length.
A writer that resumes from a version copies the part up to that length into a file of its own, so that an earlier writer
that is still alive can't interfere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from firesteel.common.files.durability import make_directory, sync_directory
from firesteel.connectors.files.committer import FinishedPart, LeftoverParts
from firesteel.connectors.files.writer_settings import PartFormat, PartStream, WriterId

_COPY_BYTES = 1 << 20


@dataclass(slots=True)
class LocalPart:
    """A part file in progress; `replaced` lists the files of earlier attempts."""

    final: str
    pending: str
    created_ms: int
    modified_ms: int
    size: int = 0
    replaced: tuple[str, ...] = ()
    format: PartFormat | None = None
    file: IO[bytes] | None = None
    stream: PartStream | None = None
    synced: int = 0
    is_full: bool = False

    def _open(self) -> tuple[IO[bytes], PartStream]:
        if self.stream is None or self.file is None:
            assert self.format is not None
            self.file = open(self.pending, "ab")  # noqa: SIM115 - stays open from batch to batch
            self.stream = self.format.open(self.file)
        return self.file, self.stream

    def write(self, values: list[Any], now: int) -> None:
        """Append elements."""
        file, stream = self._open()
        stream.write(values)
        self.size = file.tell()
        self.modified_ms = now

    def persist(self, is_checkpoint: bool) -> None:
        """Make the written data survive a crash of the machine."""
        if self.file is None or self.size == self.synced:
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        # Its name must survive the host, too, which is an entry of the directory.
        if not self.synced:
            sync_directory(os.path.dirname(self.pending))
        self.synced = self.size

    def finish(self) -> FinishedPart:
        """Complete the file durably and return it."""
        _, stream = self._open()
        shown = stream.finish()
        self.persist(is_checkpoint=True)
        self.close()
        if shown is None:
            return FinishedPart(self.pending, self.final, self.replaced)
        return FinishedPart(shown, self.final, (*self.replaced, self.pending))

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()
            self.file = self.stream = None

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        yield self.pending

    def fields(self) -> tuple[Any, ...]:
        """Return the arguments for `LocalParts.go_on_with`."""
        return self.final, self.pending, self.created_ms, self.modified_ms, self.size, self.replaced


class LocalParts:
    """A factory of part files on the local file system.

    Args:
        part_format: The format of the files.
        writer: The identity of the writer.
    """

    finishes_at_checkpoints = False

    def __init__(self, part_format: PartFormat, writer: WriterId) -> None:
        self._format = part_format
        self._writer = writer

    def new(self, directory: str, name: str, now: int) -> LocalPart:
        """Create a part file with a name in a directory."""
        make_directory(Path(directory))
        final = os.path.join(directory, name)
        return LocalPart(final, self._writer.pending_name(final), now, now, format=self._format)

    def go_on_with(self, fields: tuple[Any, ...], is_own: bool, next_name: Callable[[], str]) -> LocalPart:
        """Copy the part up to the length in the version into a file of this writer, and return it.

        A part begun by another job gets a name of this job. The original is kept unless this job has claimed the state,
        because the other job may resume it, too.
        """
        part = LocalPart(*fields)
        source = part.pending
        if not os.path.exists(source) and os.path.exists(part.final):
            if not self._format.is_appendable:
                raise OSError(
                    f"part file {part.final} was published after the version was taken, and {self._format.name} files "
                    "can't be continued: start with a newer checkpoint, or with a savepoint"
                )
            source = part.final
        final = part.final if is_own else os.path.join(os.path.dirname(part.final), next_name())
        replaced = (*part.replaced, part.pending) if is_own or self._writer.owns_state else ()
        pending = self._writer.pending_name(final)
        copy_prefix(source, pending, part.size)
        sync_directory(os.path.dirname(pending))
        return LocalPart(
            final, pending, part.created_ms, part.modified_ms, part.size, replaced, self._format, synced=part.size
        )

    def leftovers(self, needed: frozenset[str], is_end: bool) -> LeftoverParts:
        """Return a committable that removes leftovers of earlier writers or, at the end, of all writers."""
        return LeftoverParts(self._writer.base, self._writer.uid, None if is_end else self._writer.began, needed)

    def batch_ended(self) -> list[Any]:
        """Return nothing, as batches leave only part files."""
        return []

    def close(self) -> None:
        """Do nothing, as there is no resource besides the part files."""


def copy_prefix(source: str, target: str, size: int) -> None:
    """Copy the first `size` bytes of a file durably, so that they survive a crash of the machine.

    Raises:
        OSError: the source is missing or shorter.
    """
    left = size
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while left:
            data = reader.read(min(left, _COPY_BYTES))
            if not data:
                raise OSError(f"part file {source} ends after {size - left} bytes, the version was taken at {size}")
            writer.write(data)
            left -= len(data)
        writer.flush()
        os.fsync(writer.fileno())
