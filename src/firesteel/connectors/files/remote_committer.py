"""Committables of file sinks on remote file systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from firesteel.common.files.file_systems import Files
from firesteel.common.files.multipart import MultipartUploads, UploadPart
from firesteel.common.files.remote_files import RemoteFileNotFoundError, RemoteFileSystem
from firesteel.connectors.files.pending_files import Began, began_of

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """A completely uploaded part file (Flink: `S3Committer`).

    Attributes:
        final: Its final path.
        upload_id: Id of the multipart upload.
        parts: The parts of the upload that make up the file.
        replaced: Objects that are removed when it is committed.
    """

    final: str
    upload_id: str
    parts: tuple[UploadPart, ...]
    replaced: tuple[str, ...] = ()

    def commit(self, remote: RemoteFileSystem) -> None:
        """Complete the upload; does nothing if that was done before."""
        MultipartUploads(remote).complete(self.final, self.upload_id, self.parts)
        remote.remove(self.replaced)

    def check(self, remote: RemoteFileSystem) -> None:
        """Check that the upload can be completed.

        Raises:
            RemoteFileError: it cannot.
        """
        MultipartUploads(remote).check(self.final, self.upload_id, self.parts)

    def hidden(self) -> Iterator[str]:
        """Yield the uploads and objects that the next checkpoint refers to."""
        yield from (self.upload_id, *self.replaced)


@dataclass(frozen=True, slots=True)
class StagedPart:
    """A complete part file under a hidden name, on a file system without multipart uploads.

    Attributes:
        pending: Its hidden path.
        final: Its final path.
    """

    pending: str
    final: str

    def commit(self, remote: RemoteFileSystem) -> None:
        """Rename the file; does nothing if that was done before."""
        try:
            remote.rename(self.pending, self.final)
        except RemoteFileNotFoundError:
            self.check(remote)

    def check(self, remote: RemoteFileSystem) -> None:
        """Check that the file exists.

        Raises:
            RemoteFileNotFoundError: it does not.
        """
        if remote.size(self.pending) is None and remote.size(self.final) is None:
            raise RemoteFileNotFoundError("commit", self.final, f"part file {self.pending} not found")

    def hidden(self) -> Iterator[str]:
        """Yield the objects that the next checkpoint refers to."""
        yield self.pending


@dataclass(frozen=True, slots=True)
class ForgottenObjects:
    """Objects that are obsolete once the next checkpoint is completed."""

    paths: tuple[str, ...]

    def commit(self, remote: RemoteFileSystem) -> None:
        """Remove the objects."""
        remote.remove(self.paths)

    def check(self, remote: RemoteFileSystem) -> None:
        """Do nothing: there is nothing to check."""

    @property
    def final(self) -> str:
        """A path on their file system."""
        return self.paths[0]


@dataclass(frozen=True, slots=True)
class RemoteLeftovers:
    """Uploads and hidden objects of writers that were killed, failed or superseded, like `LeftoverParts`.

    Attributes:
        base: The directory that contains them.
        uid: Id of the writer, which is part of the names of its files.
        before: Remove objects of writers created before this one; None removes the objects of all writers.
        needed: Uploads and objects to keep.
        uploads: Path and id of the uploads to abort, which were open when their writer was created; None aborts all
            uploads of the writer.
    """

    base: str
    uid: str
    before: Began | None
    needed: frozenset[str]
    uploads: tuple[tuple[str, str], ...] | None

    def remove(self, remote: RemoteFileSystem, objects: Sequence[str]) -> None:
        """Remove the leftovers among the objects below `base`, and abort uploads."""
        remote.remove([path for path in objects if self._covers(path)])
        if not MultipartUploads.can_upload(remote):
            return
        uploads = MultipartUploads(remote)
        found = uploads.below(self.base) if self.uploads is None else self.uploads
        for path, upload_id in found:
            if f"-{self.uid}-" in path and upload_id not in self.needed:
                uploads.abort(path, upload_id)

    def _covers(self, path: str) -> bool:
        began = began_of(path.rpartition("/")[2], self.uid)
        return began is not None and path not in self.needed and (self.before is None or began < self.before)


RemoteCommittable = UploadedPart | StagedPart | ForgottenObjects | RemoteLeftovers


def check_remote(committables: Sequence[RemoteCommittable], configuration: Mapping[str, str]) -> None:
    """Check that all part files can be committed.

    Raises:
        RemoteFileError: a part file cannot be committed.
    """
    files = Files(configuration)
    parts = [one for one in committables if not isinstance(one, RemoteLeftovers)]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(lambda part: part.check(files.remote_of(part.final)), parts))


def commit_remote(committables: Sequence[RemoteCommittable], configuration: Mapping[str, str]) -> None:
    """Commit all part files, then remove leftovers; each directory is listed once for all writers."""
    files = Files(configuration)
    parts = [one for one in committables if not isinstance(one, RemoteLeftovers)]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(lambda part: part.commit(files.remote_of(part.final)), parts))
    objects: dict[str, list[str]] = {}
    for one in committables:
        if isinstance(one, RemoteLeftovers):
            remote = files.remote_of(one.base)
            if one.base not in objects:
                found = (path for path, _ in remote.files_below(one.base))
                objects[one.base] = [path for path in found if ".inprogress." in path]
            one.remove(remote, objects[one.base])
