"""One part file in progress on a remote file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from firesteel.common.files.multipart import MAX_NUMBER, MultipartUploads, UploadPart
from firesteel.connectors.files.remote_committer import StagedPart, UploadedPart
from firesteel.connectors.files.writer_settings import PartFormat, PartStream

NUMBER_GAP = 50
"""Part numbers that a resuming writer leaves free for an earlier writer; it skips up to twice as many."""

_LAST_NUMBER = MAX_NUMBER - 3 * NUMBER_GAP


class PartStore(Protocol):
    """The interface that a part file needs of its factory (`RemoteParts`)."""

    format: PartFormat
    uploads: MultipartUploads
    has_uploads: bool
    sends_in_progress: bool
    part_bytes: int

    def spool_path(self) -> str:
        """Return the path of a new local file."""
        ...

    def send(self, final: str, upload_id: str, number: int, path: str) -> Future[UploadPart]:
        """Send a local file as a part of a multipart upload, in the background."""
        ...

    def store(self, final: str, path: str) -> str:
        """Store the tail of a part as an object, and return its path."""
        ...

    def stage(self, final: str, path: str) -> StagedPart:
        """Store a complete part under a hidden name."""
        ...

    def discard(self, path: str) -> None:
        """Remove a local file once no version before this batch can be restored any more."""

    def forget(self, stored: list[str]) -> None:
        """Remove the tails from a list that no retained checkpoint needs after the next one."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a part file, as recorded in a version.

    Attributes:
        final: The path at which the file becomes visible.
        upload_id: The multipart upload; None if nothing was sent yet.
        sent: The parts that were sent.
        tail: The local file with the data after the sent parts.
        tail_size: Length of the tail in bytes.
        stored_tail: An object with the contents of the tail, if a checkpoint followed.
        created_ms: Creation time of the part in ms.
        modified_ms: Time of the last write in ms.
        replaced: Objects that become obsolete once the part is committed.
    """

    final: str
    upload_id: str | None
    sent: tuple[UploadPart, ...]
    tail: str
    tail_size: int
    stored_tail: str | None
    created_ms: int
    modified_ms: int
    replaced: tuple[str, ...]


class _Spool:
    """The local file of a part, whose positions count from the beginning of the part."""

    def __init__(self, path: str, offset: int) -> None:
        self._offset = offset
        self._file = open(path, "ab")  # noqa: SIM115 - stays open from batch to batch
        self.name = path

    def write(self, data: bytes) -> int:
        return self._file.write(data)

    def tell(self) -> int:
        return self._offset + self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    @property
    def size(self) -> int:
        return self._file.tell()

    def begin_next(self, path: str) -> str:
        """Continue in another file, and return the path of the completed one."""
        complete, self._offset = self.name, self.tell()
        self._file.close()
        self._file = open(path, "ab")  # noqa: SIM115
        self.name = path
        return complete

    def close(self) -> None:
        self._file.close()


class RemotePart:
    """A part file in progress on a remote file system."""

    def __init__(self, store: PartStore, progress: Progress, first_number: int = 1) -> None:
        self._store = store
        self._final = progress.final
        self._upload_id = progress.upload_id
        self._sent = list(progress.sent)
        self._sending: list[Future[UploadPart]] = []
        self._number = first_number
        self._stored_tail: str | None = None
        self._replaced = list(progress.replaced)
        self.created_ms = progress.created_ms
        self.modified_ms = progress.modified_ms
        self.size = sum(part.size for part in progress.sent) + progress.tail_size
        self._spool = _Spool(progress.tail, sum(part.size for part in progress.sent))
        self._stream: PartStream | None = None
        self._stored_size = -1

    @property
    def is_full(self) -> bool:
        """Whether the upload has almost used up its part numbers."""
        return self._number > _LAST_NUMBER

    def _opened(self) -> PartStream:
        if self._stream is None:
            self._stream = self._store.format.open(self._spool)  # type: ignore[arg-type]
        return self._stream

    def write(self, values: list[Any], now: int) -> None:
        """Append elements, and send a part of the upload when enough data is pending."""
        self._opened().write(values)
        self.size = self._spool.tell()
        self.modified_ms = now
        if self._store.sends_in_progress and self._spool.size >= self._store.part_bytes:
            self._spool.flush()
            self._send(self._spool.begin_next(self._store.spool_path()))

    def _send(self, path: str) -> None:
        if self._upload_id is None:
            self._upload_id = self._store.uploads.begin(self._final)
        self._sending.append(self._store.send(self._final, self._upload_id, self._number, path))
        self._number += 1

    def persist(self, is_checkpoint: bool) -> None:
        """Wait until all parts are sent; before a checkpoint, also store the tail."""
        self._sent += [sending.result() for sending in self._sending]
        self._sending.clear()
        self._spool.flush()
        if is_checkpoint and self._stored_size != self.size:
            self._stored_size = self.size
            self._replaced += () if self._stored_tail is None else (self._stored_tail,)
            self._store.forget(self._replaced)
            self._stored_tail = self._store.store(self._final, self._spool.name) if self._spool.size else None

    def finish(self) -> UploadedPart | StagedPart:
        """Send the remaining data and return the committable."""
        shown = self._opened().finish() or self._spool.name
        self._spool.flush()
        if not self._store.has_uploads:
            staged = self._store.stage(self._final, shown)
            self.close()
            return staged
        if self._upload_id is None or os.path.getsize(shown):
            self._send_all(shown)
        self.persist(is_checkpoint=False)
        self._store.discard(self._spool.name)
        self._store.discard(shown)
        self.close()
        assert self._upload_id is not None
        replaced = [*self._replaced, *(() if self._stored_tail is None else (self._stored_tail,))]
        return UploadedPart(self._final, self._upload_id, tuple(self._sent), tuple(replaced))

    def _send_all(self, path: str) -> None:
        """Send a file, as several parts if it is large."""
        if os.path.getsize(path) <= 2 * self._store.part_bytes:
            self._send(path)
            return
        # Only the last part of a multipart upload may be smaller than the minimum size.
        with open(path, "rb") as file:
            while data := file.read(self._store.part_bytes):
                piece = self._store.spool_path()
                Path(piece).write_bytes(data)
                self._send(piece)

    def hidden(self) -> Iterator[str]:
        """Yield the uploads and objects that the next checkpoint refers to."""
        yield from (name for name in (self._upload_id, self._stored_tail, *self._replaced) if name is not None)

    def fields(self) -> Progress:
        """Return the progress of the part."""
        return Progress(
            self._final,
            self._upload_id,
            tuple(self._sent),
            self._spool.name,
            self._spool.size,
            self._stored_tail,
            self.created_ms,
            self.modified_ms,
            tuple(self._replaced),
        )

    def close(self) -> None:
        """Close the local file."""
        self._spool.close()
