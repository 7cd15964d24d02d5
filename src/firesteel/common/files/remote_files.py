"""Remote file systems on top of fsspec: paths are URIs, and errors say what failed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from firesteel.errors import FiresteelError

__all__ = ["RemoteFileError", "RemoteFileNotFoundError", "RemoteFileSystem", "saying"]

_CREDENTIALS = (
    "credentials are read from the configuration (for S3: s3.access-key and s3.secret-key), or from the library's "
    "defaults, such as environment variables"
)


class RemoteFileError(FiresteelError, OSError):
    """A file system rejected an operation or did not respond.

    Args:
        action: The operation: "read", "list", ...
        path: The file.
        problem: What went wrong.
    """

    def __init__(self, action: str, path: str, problem: str) -> None:
        super().__init__(action, path, problem)
        self.action = action
        self.path = path
        self.problem = problem

    def __reduce__(self) -> Any:
        return type(self), (self.action, self.path, self.problem)

    def __str__(self) -> str:
        return f"cannot {self.action} {self.path}: {self.problem}"


class RemoteFileNotFoundError(RemoteFileError, FileNotFoundError):
    """The file or the bucket does not exist."""


@contextmanager
def saying(action: str, path: str) -> Iterator[None]:
    """Convert the errors of all libraries to a `RemoteFileError`, which names the operation."""
    try:
        yield
    except (RemoteFileError, FileExistsError):
        raise
    except FileNotFoundError as error:
        raise RemoteFileNotFoundError(action, path, _message(error, "it does not exist")) from error
    except PermissionError as error:
        problem = f"access was denied ({_message(error, 'without a reason')}); {_CREDENTIALS}"
        raise RemoteFileError(action, path, problem) from error
    except Exception as error:
        hint = f"; {_CREDENTIALS}" if "redentials" in type(error).__name__ else ""
        raise RemoteFileError(action, path, f"{_message(error, type(error).__name__)}{hint}") from error


def _message(error: BaseException, otherwise: str) -> str:
    text = str(error).rstrip(".")
    # Some libraries use the path as the whole message.
    return text if " " in text else otherwise


class RemoteFileSystem:
    """Reads and writes files by their URIs.

    Args:
        fs: A file system of fsspec.
    """

    def __init__(self, fs: Any) -> None:
        self.fs = fs

    def open(self, path: str, block_bytes: int) -> IO[bytes]:
        """Open a file for reading, which is fetched in ranges of `block_bytes`.

        Raises:
            RemoteFileError: the file cannot be read.
        """
        with saying("read", path):
            file: IO[bytes] = self.fs.open(path, "rb", block_size=block_bytes)
            return file

    def files_below(self, path: str) -> list[tuple[str, int]]:
        """Return URI and size of a file or of all files below a directory, ordered by name.

        Raises:
            RemoteFileError: the directory cannot be listed.
        """
        with saying("list", path):
            found = self.fs.find(path, detail=True)
            root, stripped = path.rstrip("/"), self.fs._strip_protocol(path).rstrip("/")
        return [
            (root + name[len(stripped) :], info["size"])
            for name, info in sorted(found.items())
            if info["type"] == "file" and not name.endswith("/")
        ]

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None if it does not exist."""
        try:
            with saying("look up", path):
                info = self.fs.info(path)
        except RemoteFileNotFoundError:
            return None
        return int(info["size"]) if info["type"] == "file" else None

    def read(self, path: str) -> bytes:
        """Return the contents of a file."""
        with saying("read", path):
            return bytes(self.fs.cat_file(path))

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file, replacing an existing one."""
        with saying("write", path):
            self.fs.pipe_file(path, data)

    def create(self, path: str, data: bytes) -> None:
        """Write a file unless it exists: if several processes try, one succeeds.

        Raises:
            FileExistsError: the file exists with other contents. (The contents are equal if a response was lost.)
            RemoteFileError: the file cannot be written.
        """
        try:
            with saying("write", path):
                self.fs.pipe_file(path, data, mode="create")
        except FileExistsError:
            if self.read(path) != data:
                raise FileExistsError(path) from None

    def upload(self, source: Path, path: str) -> None:
        """Upload a local file, replacing an existing one."""
        with saying("write", path):
            self.fs.put_file(str(source), path)

    def download(self, path: str, target: Path) -> None:
        """Download a file to a local path."""
        with saying("read", path):
            self.fs.get_file(path, str(target))

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files, ignoring those that do not exist."""
        if not paths:
            return
        with saying("remove", paths[0]):
            try:
                self.fs.rm(list(paths))
            except FileNotFoundError:
                self._remove_one_by_one(paths)

    def _remove_one_by_one(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                self.fs.rm_file(path)
            except FileNotFoundError:
                continue

    def rename(self, source: str, target: str) -> None:
        """Rename a file, replacing an existing one; object stores copy it."""
        with saying("rename", source):
            self.fs.mv(source, target)

    def copy_from(self, other: RemoteFileSystem, source: str, target: str) -> None:
        """Copy a file, on the server if both paths belong to the same store."""
        with saying("copy", source):
            if other.fs is self.fs:
                self.fs.cp_file(source, target)
            else:
                self.fs.pipe_file(target, other.fs.cat_file(source))
