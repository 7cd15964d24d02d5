"""Part files of file sinks on remote file systems.

On S3 a part file is a multipart upload (Flink: `S3RecoverableFsDataOutputStream`). Data goes to a local file first,
which is sent as a part of the upload as soon as it reaches `s3.upload.min.part.size`. The version of a batch records
the sent parts and the length of the local file. At a checkpoint the local tail is also stored as an object, for a
restart on another host.

A writer that resumes from a version copies the tail, and uses part numbers that an earlier writer, which may still be
alive, does not use: a part with the same number would be replaced.

On other file systems part files are local until they are finished, at the latest at each checkpoint.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from firesteel.common.files.durability import make_directory
from firesteel.common.files.file_systems import Files, join
from firesteel.common.files.multipart import MIN_PART_BYTES, MultipartUploads, UploadPart
from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.common.options.checkpointing_options import CHECKPOINTING_MAX_CONCURRENT, CHECKPOINTING_NUM_RETAINED
from firesteel.common.options.file_options import S3_UPLOAD_MAX_CONCURRENT, S3_UPLOAD_MIN_PART_SIZE
from firesteel.connectors.files.local_parts import copy_prefix
from firesteel.connectors.files.remote_committer import ForgottenObjects, RemoteLeftovers, StagedPart
from firesteel.connectors.files.remote_part import NUMBER_GAP, Progress, RemotePart
from firesteel.connectors.files.writer_settings import PartFormat, WriterId


class RemoteParts:
    """A factory of part files on a remote file system.

    Args:
        part_format: The format of the files.
        writer: The identity of the writer.
        configuration: The configuration of the job.
        spool_directory: Directory for local files. If empty, a temporary one is used, as nothing will be resumed.
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
        self.part_bytes = max(MIN_PART_BYTES, S3_UPLOAD_MIN_PART_SIZE.of(configuration))
        self._threads = ThreadPoolExecutor(S3_UPLOAD_MAX_CONCURRENT.of(configuration))
        self._spool_directory = spool_directory
        self._local = temporary_directory(configuration)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0
        self._discarded: list[str] = []
        self._removable: list[str] = []
        self._forgotten: list[str] = []
        # Between two retained checkpoints there may be some that were pending at once and subsumed.
        apart = CHECKPOINTING_MAX_CONCURRENT.of(configuration)
        self._retained = (CHECKPOINTING_NUM_RETAINED.of(configuration) - 1) * apart + 1
        # Uploads of earlier writers only: later uploads may belong to a writer that is still needed.
        began_before = self.uploads.below(writer.base) if self.has_uploads and writer.began > (1, 0, 1) else []
        self._earlier = tuple((path, upload) for path, upload in began_before if f"-{writer.uid}-" in path)

    def spool_path(self) -> str:
        """Return the path of a new local file."""
        if not self._spool_directory:
            self._temporary = tempfile.TemporaryDirectory(prefix="firesteel-parts-", dir=made_directory(self._local))
            self._spool_directory = self._temporary.name
        elif not self._files:
            make_directory(Path(self._spool_directory))
        self._files += 1
        return os.path.join(self._spool_directory, f"{self._writer.uid}-{self._writer.name}-{self._files}")

    def new(self, directory: str, name: str, now: int) -> RemotePart:
        """Create a part file with a name in a directory."""
        return RemotePart(self, Progress(join(directory, name), None, (), self.spool_path(), 0, None, now, now, ()))

    def send(self, final: str, upload_id: str, number: int, path: str) -> Future[UploadPart]:
        """Send a local file as a part of a multipart upload, in the background."""
        return self._threads.submit(self._send, final, upload_id, number, path)

    def _send(self, final: str, upload_id: str, number: int, path: str) -> UploadPart:
        sent = self.uploads.send(final, upload_id, number, Path(path).read_bytes())
        self.discard(path)
        return sent

    def discard(self, path: str) -> None:
        """Remove a local file once no version before this batch can be restored any more."""
        if self._temporary is None:
            self._discarded.append(path)
        else:
            Path(path).unlink(missing_ok=True)

    def forget(self, stored: list[str]) -> None:
        """Remove the tails from a list that no retained checkpoint needs after the next one."""
        while len(stored) >= self._retained:
            self._forgotten.append(stored.pop(0))

    def batch_ended(self) -> list[ForgottenObjects]:
        """Remove local files of versions before the last one; return the removals for the next checkpoint."""
        removable, self._removable, self._discarded = self._removable, self._discarded, []
        for path in removable:
            Path(path).unlink(missing_ok=True)
        forgotten, self._forgotten = tuple(self._forgotten), []
        return [ForgottenObjects(forgotten)] if forgotten else []

    def store(self, final: str, path: str) -> str:
        """Store the tail of a part as an object, and return its path."""
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
        """Resume a part from the progress recorded in a version.

        Uploads of other jobs are resumed, too, as sent parts can't be copied.

        Raises:
            OSError: the written data is missing.
        """
        tail = self.spool_path()
        upload_id, sent = progress.upload_id, progress.sent
        is_open = upload_id is None or self.uploads.is_open(progress.final, upload_id)
        committed = self._remote.size(progress.final) if upload_id is None or not is_open else None
        if committed is not None:
            return self._go_on_with_committed(progress, tail)
        if not is_open:
            raise OSError(f"part file {progress.final}: its upload was aborted after the version was taken")
        self._restore_tail(progress, tail)
        # By chance, as two attempts that go on from one version must not send different parts under one number.
        number = (
            sent[-1].number + NUMBER_GAP + random.randrange(NUMBER_GAP) if sent else 1 + random.randrange(NUMBER_GAP)
        )
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
        """Begin a new part with the contents of a file that was committed after the version was taken."""
        size = sum(part.size for part in progress.sent) + progress.tail_size
        if not self.sends_in_progress:
            raise OSError(
                f"part file {progress.final} was published after the version was taken, and {self.format.name} files "
                "can't be continued: start with a newer checkpoint, or with a savepoint"
            )
        if size < MIN_PART_BYTES:
            Path(tail).write_bytes(self._remote.read(progress.final)[:size])
            return RemotePart(self, self._taken(progress, tail, None, ()))
        upload_id = self.uploads.begin(progress.final)
        copied = self.uploads.send_copy(progress.final, upload_id, 1, progress.final, size)
        Path(tail).touch()
        return RemotePart(self, self._taken(progress, tail, upload_id, (copied,)), 2)

    def leftovers(self, needed: frozenset[str], is_end: bool) -> RemoteLeftovers:
        """Return a committable that removes leftovers of earlier writers or, at the end, of all writers."""
        writer = self._writer
        began, uploads = (None, None) if is_end else (writer.began, self._earlier)
        return RemoteLeftovers(writer.base, writer.uid, began, needed, uploads)

    def close(self) -> None:
        """Stop the threads; remove the local files if they can't be resumed from."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._temporary is not None:
            self._temporary.cleanup()
