"""Multipart uploads to S3: parts are sent as they are written, and the object appears when the upload is completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from firesteel.common.files.remote_files import RemoteFileError, RemoteFileNotFoundError, RemoteFileSystem, saying

__all__ = ["MAX_NUMBER", "MIN_PART_BYTES", "MultipartUploads", "UploadPart"]

MIN_PART_BYTES = 5 << 20
"""Minimum size of all parts but the last."""

MAX_NUMBER = 10_000
"""The highest number of a part. Parts are ordered by number; gaps are allowed."""

_MOST_PARTS_LISTED = 1000


class UploadPart(NamedTuple):
    """An uploaded part: number, ETag and size in bytes."""

    number: int
    etag: str
    size: int


class MultipartUploads:
    """The operations of multipart uploads.

    Args:
        remote: A file system with multipart uploads (see `can_upload`).
    """

    def __init__(self, remote: RemoteFileSystem) -> None:
        self._remote = remote

    @staticmethod
    def can_upload(remote: RemoteFileSystem) -> bool:
        """Return whether a file system supports multipart uploads."""
        return hasattr(remote.fs, "call_s3")

    def _call(self, action: str, method: str, path: str, **arguments: Any) -> Any:
        bucket, key, _ = self._remote.fs.split_path(path)
        with saying(action, path):
            return self._remote.fs.call_s3(method, Bucket=bucket, Key=key, **arguments)

    def begin(self, path: str) -> str:
        """Begin an upload and return its id; the object does not exist yet."""
        return str(self._call("write", "create_multipart_upload", path)["UploadId"])

    def send(self, path: str, upload_id: str, number: int, data: bytes) -> UploadPart:
        """Upload a part, replacing a part with the same number."""
        sent = self._call("write", "upload_part", path, UploadId=upload_id, PartNumber=number, Body=data)
        return UploadPart(number, sent["ETag"], len(data))

    def send_copy(self, path: str, upload_id: str, number: int, source: str, size: int) -> UploadPart:
        """Copy the first `size` bytes of another object into a part, on the server."""
        bucket, key, _ = self._remote.fs.split_path(source)
        sent = self._call(
            "copy",
            "upload_part_copy",
            path,
            UploadId=upload_id,
            PartNumber=number,
            CopySource={"Bucket": bucket, "Key": key},
            CopySourceRange=f"bytes=0-{size - 1}",
        )
        return UploadPart(number, sent["CopyPartResult"]["ETag"], size)

    def check(self, path: str, upload_id: str, parts: Sequence[UploadPart]) -> None:
        """Check that an upload can be completed or was completed.

        Raises:
            RemoteFileNotFoundError: neither the upload nor the object exists.
            RemoteFileError: a part is not the one that was uploaded.
        """
        try:
            found = self._parts(path, upload_id)
        except RemoteFileNotFoundError:
            self._check_completed(path, parts)
            return
        for part in parts:
            if found.get(part.number) != part.etag:
                problem = f"part {part.number} of upload {upload_id} is {found.get(part.number)}, uploaded {part.etag}"
                raise RemoteFileError("complete", path, problem)

    def is_open(self, path: str, upload_id: str) -> bool:
        """Return whether an upload was neither completed nor aborted."""
        try:
            self._call("look up", "list_parts", path, UploadId=upload_id, MaxParts=1)
        except RemoteFileNotFoundError:
            return False
        return True

    def _parts(self, path: str, upload_id: str) -> dict[int, str]:
        parts: dict[int, str] = {}
        marker = 0
        while True:
            arguments = {"UploadId": upload_id, "MaxParts": _MOST_PARTS_LISTED, "PartNumberMarker": marker}
            listed = self._call("look up", "list_parts", path, **arguments)
            parts |= {part["PartNumber"]: part["ETag"] for part in listed.get("Parts", ())}
            if not listed.get("IsTruncated"):
                return parts
            marker = int(listed["NextPartNumberMarker"])

    def complete(self, path: str, upload_id: str, parts: Sequence[UploadPart]) -> None:
        """Complete an upload, which makes the object appear; does nothing if that was done before.

        Raises:
            RemoteFileNotFoundError: the upload does not exist, and there is no object of its size.
        """
        listed = [{"PartNumber": part.number, "ETag": part.etag} for part in parts]
        try:
            arguments = {"UploadId": upload_id, "MultipartUpload": {"Parts": listed}}
            self._call("complete", "complete_multipart_upload", path, **arguments)
        except RemoteFileNotFoundError:
            self._check_completed(path, parts)

    def _check_completed(self, path: str, parts: Sequence[UploadPart]) -> None:
        # The size has to do: nothing in an object names the upload that made it.
        expected, found = sum(part.size for part in parts), self._remote.size(path)
        if found != expected:
            there = "there is no object" if found is None else f"the object has {found} bytes"
            problem = f"its upload of {expected} bytes was removed before it was completed, and {there}"
            raise RemoteFileNotFoundError("complete", path, problem)

    def abort(self, path: str, upload_id: str) -> None:
        """Abort an upload and remove its parts; does nothing if it does not exist."""
        try:
            self._call("abort", "abort_multipart_upload", path, UploadId=upload_id)
        except RemoteFileNotFoundError:
            return

    def below(self, path: str) -> list[tuple[str, str]]:
        """Return path and id of all open uploads below a directory."""
        bucket, prefix, _ = self._remote.fs.split_path(path)
        scheme, found = path.partition("://")[0], []
        markers: dict[str, str] = {}
        while True:
            # With the slash, as other directories' names may begin like this one.
            arguments = {"Bucket": bucket, "Prefix": f"{prefix.rstrip('/')}/" if prefix else "", **markers}
            with saying("list", path):
                listed = self._remote.fs.call_s3("list_multipart_uploads", **arguments)
            found += [
                (f"{scheme}://{bucket}/{upload['Key']}", upload["UploadId"]) for upload in listed.get("Uploads", ())
            ]
            if not listed.get("IsTruncated"):
                return found
            markers = {
                "KeyMarker": listed["NextKeyMarker"],
                "UploadIdMarker": listed["NextUploadIdMarker"],
            }
