"""An object that is replaced only if it is still the one that was read: what an object store has instead of a lock.

S3: `PutObject` with `If-Match` and `If-None-Match` (since November 2024).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from firesteel.common.files.remote_files import RemoteFileError, RemoteFileNotFoundError, saying
from firesteel.common.files.remote_path import RemotePath

__all__ = ["ConditionalObject", "Tagged", "check_conditional_writes"]

_CONFLICT, _PRECONDITION_FAILED = 409, 412
_TIMEOUT_S = 60.0
_FIRST, _SECOND = b"a probe", b"a probe that was replaced"
T = TypeVar("T")


class Tagged(NamedTuple):
    """The content of an object, and the tag of this version."""

    data: bytes
    tag: str


class ConditionalObject:
    """One object of a store. All methods block and are thread-safe.

    Args:
        path: Its path, in a store with conditional writes (`check_conditional_writes`).
        timeout_s: Time after which a request is given up, with its repetitions, in seconds.
    """

    def __init__(self, path: RemotePath, timeout_s: float = _TIMEOUT_S) -> None:
        self.path = path
        self._timeout_s = timeout_s
        self._fs: Any = path.remote.fs
        self._bucket, self._key = str(path).partition("://")[2].split("/", 1)

    def read(self) -> Tagged | None:
        """Return the object, or None if there is none.

        Raises:
            RemoteFileError: the store does not answer, or refuses.
        """
        try:
            with saying("read", str(self.path)):
                return self._run(self._read)
        except RemoteFileNotFoundError:
            return None

    async def _read(self) -> Tagged:
        answer = await self._ask("get_object")
        async with answer["Body"] as body:
            return Tagged(await body.read(), answer["ETag"])

    def replace(self, data: bytes, tag: str | None) -> str | None:
        """Write the object if it still has this tag, or, with None, if there is none.

        After a lost answer the write may be repeated and find itself, so a caller whose data is unique should read the
        object before it believes that another process was faster.

        Returns:
            The new tag; None if the object has another one.

        Raises:
            RemoteFileError: the store does not answer, or refuses; the object may have been written.
        """
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        try:
            with saying("write", str(self.path)):
                answer = self._run(lambda: self._ask("put_object", Body=data, **condition))
        # This is what s3fs makes of 412.
        except FileExistsError:
            return None
        except RemoteFileNotFoundError:
            if tag is None:
                raise  # The bucket is missing.
            return None
        except RemoteFileError as error:
            # S3 answers 409 if another conditional write is under way at the same time.
            if _status(error) in (_CONFLICT, _PRECONDITION_FAILED):
                return None
            raise
        return str(answer["ETag"])

    def _ask(self, request: str, **arguments: object) -> Coroutine[None, None, dict[str, Any]]:
        # Private, as only this way a request has a time limit, and an answer both content and tag.
        answer: Coroutine[None, None, dict[str, Any]]
        answer = self._fs._call_s3(request, Bucket=self._bucket, Key=self._key, **arguments)  # noqa: SLF001
        return answer

    def _run(self, ask: Callable[[], Coroutine[None, None, T]]) -> T:
        from fsspec.asyn import sync  # late import: it is needed for object stores only

        answer: T = sync(self._fs.loop, ask, timeout=self._timeout_s)
        return answer


def _status(error: BaseException | None) -> int | None:
    """Return the HTTP status that an error stems from."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return int(response["ResponseMetadata"]["HTTPStatusCode"])
        error = error.__cause__
    return None


def check_conditional_writes(directory: RemotePath) -> None:
    """Check, by writing an object below a directory, that the store refuses writes whose condition does not hold.

    Stores that do not know the conditions ignore them and write.

    Raises:
        RemoteFileError: the store has no conditional writes, does not answer, or refuses.
    """
    if not hasattr(directory.remote.fs, "call_s3"):
        raise RemoteFileError("use", str(directory), "conditional writes are known of S3 and stores with its API only")
    path = directory / f"probe-{secrets.token_hex(8)}"
    probe = ConditionalObject(path)
    try:
        path.write_bytes(_FIRST)
        found = probe.read()
        # What was written counts, not the answers: one may be lost, and the library asks again.
        probe.replace(b"although it exists", None)
        probe.replace(b"although it is another one", '"0"')
        unchanged = probe.read()
        probe.replace(_SECOND, None if found is None else found.tag)
        changed = probe.read()
    finally:
        path.unlink()
    if (unchanged and unchanged.data, changed and changed.data) != (_FIRST, _SECOND):
        raise RemoteFileError(
            "use",
            str(directory),
            "the store ignores the conditions of writes (If-Match, If-None-Match), which high availability needs",
        )
