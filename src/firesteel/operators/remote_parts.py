"""Part files of file sinks on remote file systems.

On S3 a part file is a multipart upload (Flink: `S3RecoverableFsDataOutputStream`): what is written goes to a local file
first, which is sent as a part of the upload as soon as it has `s3.upload.min.part.size`. The version of a batch has the
parts that were sent and how far the local file goes; at a checkpoint the rest of it is also stored as an object of its
own, for a restart on another host.

A writer that goes on from a version copies that rest, and numbers the parts that it sends apart from those of an
earlier writer that may still be alive: a part of the same number would be replaced.

On other file systems part files are local until they are finished, which they are at each checkpoint.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.common.durability import make_directory
from firesteel.common.file_systems import Files, join
from firesteel.common.memory_size import parse_bytes
from firesteel.common.multipart import MAX_NUMBER, MIN_PART_BYTES, MultipartUploads, UploadPart
from firesteel.datastream.connectors.remote_committer import ForgottenObjects, RemoteLeftovers, StagedPart, UploadedPart
from firesteel.operators.file_format import PartFormat, PartStream, WriterId
from firesteel.operators.local_parts import copy_prefix

MIN_PART_SIZE = "s3.upload.min.part.size"
MAX_CONCURRENT = "s3.upload.max.concurrent.uploads"
NUM_RETAINED = "execution.checkpointing.num-retained"
_CONCURRENT = 4

_GAP = 50
"""A writer that goes on leaves so many numbers free for the parts of an earlier one, and up to as many again."""

_LAST_NUMBER = MAX_NUMBER - 3 * _GAP


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a part file was written, as a version has it.

    Attributes:
        final: Where the file is to be seen.
        upload_id: The multipart upload; None: nothing was sent.
        sent: The parts that were sent.
        tail: The local file with what follows these.
        tail_size: How much of it (bytes).
        stored_tail: An object with the same contents, if a checkpoint followed.
        created_ms: When the part was begun.
        modified_ms: When it was written to.
        replaced: Objects that are not needed once the part is committed.
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
    """The local file of a part, as a file whose position counts from the beginning of the part."""

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
        """Go on in another file, and return the path of the one that is complete."""
        complete, self._offset = self.name, self.tell()
        self._file.close()
        self._file = open(path, "ab")  # noqa: SIM115
        self.name = path
        return complete

    def close(self) -> None:
        self._file.close()


class RemotePart:
    """A part file in progress."""

    def __init__(self, store: RemoteParts, progress: Progress, first_number: int = 1) -> None:
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
        """Whether the upload has hardly any numbers left."""
        return self._number > _LAST_NUMBER

    def _opened(self) -> PartStream:
        if self._stream is None:
            self._stream = self._store.format.open(self._spool)  # type: ignore[arg-type]
        return self._stream

    def write(self, values: list[Any], now: int) -> None:
        """Append elements; send a part of the upload if there is enough for it."""
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
        """Wait until the parts were sent; before a checkpoint, store what follows them."""
        self._sent += [sending.result() for sending in self._sending]
        self._sending.clear()
        self._spool.flush()
        if is_checkpoint and self._stored_size != self.size:
            self._stored_size = self.size
            self._replaced += () if self._stored_tail is None else (self._stored_tail,)
            self._store.forget(self._replaced)
            self._stored_tail = self._store.store(self._final, self._spool.name) if self._spool.size else None

    def finish(self) -> UploadedPart | StagedPart:
        """Send the rest."""
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
        """Send a file, in several parts if it is large."""
        if os.path.getsize(path) <= 2 * self._store.part_bytes:
            self._send(path)
            return
        # The last piece may be smaller than the others.
        with open(path, "rb") as file:
            while data := file.read(self._store.part_bytes):
                piece = self._store.spool_path()
                Path(piece).write_bytes(data)
                self._send(piece)

    def hidden(self) -> Iterator[str]:
        """Yield the uploads and objects that the next checkpoint refers to."""
        yield from (name for name in (self._upload_id, self._stored_tail, *self._replaced) if name is not None)

    def fields(self) -> Progress:
        """Return how far the part was written."""
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


class RemoteParts:
    """Makes part files on a remote file system.

    Args:
        part_format: Of the files.
        writer: Who writes them.
        configuration: Of the job.
        spool_directory: For local files; empty: a temporary one, as nobody goes on from what is written.
    """

    def __init__(
        self, part_format: PartFormat, writer: WriterId, configuration: Mapping[str, str], spool_directory: str
    ) -> None:
        self.format = part_format
        self._writer = writer
        self._remote = Files(configuration).remote_of(writer.base)
        self.uploads = MultipartUploads(self._remote)
        self.has_uploads = MultipartUploads.can_upload(self._remote)
        self.sends_in_progress = self.has_uploads and part_format.is_appendable
        self.finishes_at_checkpoints = not self.has_uploads
        configured = configuration.get(MIN_PART_SIZE)
        self.part_bytes = max(MIN_PART_BYTES, parse_bytes(configured) if configured else 0)
        self._threads = ThreadPoolExecutor(int(configuration.get(MAX_CONCURRENT, _CONCURRENT)))
        self._spool_directory = spool_directory
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0
        self._discarded: list[str] = []
        self._removable: list[str] = []
        self._forgotten: list[str] = []
        self._retained = int(configuration.get(NUM_RETAINED, "1"))
        # Those of earlier writers: what begins later may be of another one that is to live.
        began_before = self.uploads.below(writer.base) if self.has_uploads and writer.began > (1, 0, 1) else []
        self._earlier = tuple((path, upload) for path, upload in began_before if f"-{writer.uid}-" in path)

    def spool_path(self) -> str:
        """Return the path of a local file that nobody has used."""
        if not self._spool_directory:
            self._temporary = tempfile.TemporaryDirectory(prefix="firesteel-parts-")
            self._spool_directory = self._temporary.name
        elif not self._files:
            make_directory(Path(self._spool_directory))
        self._files += 1
        return os.path.join(self._spool_directory, f"{self._writer.uid}-{self._writer.name}-{self._files}")

    def new(self, directory: str, name: str, now: int) -> RemotePart:
        """Begin a part file of a name in a directory."""
        return RemotePart(self, Progress(join(directory, name), None, (), self.spool_path(), 0, None, now, now, ()))

    def send(self, final: str, upload_id: str, number: int, path: str) -> Future[UploadPart]:
        """Send a local file as a part of an upload, in the background."""
        return self._threads.submit(self._send, final, upload_id, number, path)

    def _send(self, final: str, upload_id: str, number: int, path: str) -> UploadPart:
        sent = self.uploads.send(final, upload_id, number, Path(path).read_bytes())
        self.discard(path)
        return sent

    def discard(self, path: str) -> None:
        """Remove a local file once nobody goes back to the version before this batch."""
        if self._temporary is None:
            self._discarded.append(path)
        else:
            Path(path).unlink(missing_ok=True)

    def forget(self, stored: list[str]) -> None:
        """Take from a list of stored tails those that no retained checkpoint needs any more after the next one."""
        while len(stored) >= self._retained:
            self._forgotten.append(stored.pop(0))

    def batch_ended(self) -> list[ForgottenObjects]:
        """Remove the local files that only versions before the last one have; return what a checkpoint removes."""
        removable, self._removable, self._discarded = self._removable, self._discarded, []
        for path in removable:
            Path(path).unlink(missing_ok=True)
        forgotten, self._forgotten = tuple(self._forgotten), []
        return [ForgottenObjects(forgotten)] if forgotten else []

    def store(self, final: str, path: str) -> str:
        """Store the rest of a part as an object, and return its path."""
        self._files += 1
        stored = f"{self._writer.pending_name(final)}.{self._files}"
        self._remote.upload(Path(path), stored)
        return stored

    def stage(self, final: str, path: str) -> StagedPart:
        """Store a complete part under a hidden name."""
        pending = self._writer.pending_name(final)
        self._remote.upload(Path(path), pending)
        self.discard(path)
        return StagedPart(pending, final)

    def go_on_with(self, progress: Progress, is_own: bool, next_name: Callable[[], str]) -> RemotePart:
        """Go on with a part as far as the version says.

        The upload of another job is gone on with, too: nobody can copy what was sent to it.

        Raises:
            OSError: what was written is gone.
        """
        tail = self.spool_path()
        upload_id, sent = progress.upload_id, progress.sent
        is_open = upload_id is None or self.uploads.is_open(progress.final, upload_id)
        committed = self._remote.size(progress.final) if upload_id is None or not is_open else None
        if committed is not None:
            return self._go_on_with_committed(progress, tail)
        if not is_open:
            raise OSError(f"part file {progress.final}: its upload was aborted since the version was taken")
        self._restore_tail(progress, tail)
        number = sent[-1].number + _GAP + random.randrange(_GAP) if sent else 1 + random.randrange(_GAP)
        return RemotePart(self, self._taken(progress, tail, upload_id, sent), number)

    def _taken(self, progress: Progress, tail: str, upload_id: str | None, sent: tuple[UploadPart, ...]) -> Progress:
        before = () if progress.stored_tail is None else (progress.stored_tail,)
        return Progress(
            progress.final,
            upload_id,
            sent,
            tail,
            os.path.getsize(tail),
            None,
            progress.created_ms,
            progress.modified_ms,
            (*progress.replaced, *before),
        )

    def _restore_tail(self, progress: Progress, tail: str) -> None:
        try:
            copy_prefix(progress.tail, tail, progress.tail_size)
        except OSError:
            if progress.stored_tail is None and progress.tail_size:
                raise
            Path(tail).write_bytes(b"" if progress.stored_tail is None else self._remote.read(progress.stored_tail))

    def _go_on_with_committed(self, progress: Progress, tail: str) -> RemotePart:
        """Begin with the part of a file that was shown since the version was taken."""
        size = sum(part.size for part in progress.sent) + progress.tail_size
        if not self.sends_in_progress:
            raise OSError(
                f"part file {progress.final} was shown since the version was taken, and {self.format.name} files "
                "can't be gone on from: start with a newer checkpoint, or with a savepoint"
            )
        if size < MIN_PART_BYTES:
            Path(tail).write_bytes(self._remote.read(progress.final)[:size])
            return RemotePart(self, self._taken(progress, tail, None, ()))
        upload_id = self.uploads.begin(progress.final)
        copied = self.uploads.send_copy(progress.final, upload_id, 1, progress.final, size)
        Path(tail).touch()
        return RemotePart(self, self._taken(progress, tail, upload_id, (copied,)), 2)

    def leftovers(self, needed: frozenset[str], is_end: bool) -> RemoteLeftovers:
        """Return what is to be removed of earlier writers; at the end, of all."""
        writer = self._writer
        began, uploads = (None, None) if is_end else (writer.began, self._earlier)
        return RemoteLeftovers(writer.base, writer.uid, began, needed, uploads)

    def close(self) -> None:
        """End the threads; remove the local files if nobody can go on with them."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._temporary is not None:
            self._temporary.cleanup()
