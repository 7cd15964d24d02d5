"""Remote paths with those parts of `pathlib.Path`'s interface that checkpoint directories need."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from firesteel.common.files.durability import make_directory, sync_directory, sync_file
from firesteel.common.files.remote_files import RemoteFileNotFoundError, RemoteFileSystem, saying

__all__ = ["AnyPath", "RemotePath", "remove_tree", "size_of", "write_durably"]


class RemotePath:
    """A file or directory on a remote file system.

    Object stores have no directories: a directory exists as long as there are objects below it.

    Args:
        remote: The file system.
        uri: The path, with its scheme.
    """

    def __init__(self, remote: RemoteFileSystem, uri: str) -> None:
        self.remote = remote
        self._uri = uri.rstrip("/")

    def __str__(self) -> str:
        return self._uri

    def __repr__(self) -> str:
        return f"RemotePath({self._uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other._uri == self._uri

    def __hash__(self) -> int:
        return hash(self._uri)

    def __truediv__(self, name: str | Path) -> RemotePath:
        return RemotePath(self.remote, f"{self._uri}/{name}")

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self._uri.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The parent directory."""
        return RemotePath(self.remote, self._uri.rpartition("/")[0])

    def exists(self) -> bool:
        """Return whether the file exists, or the directory contains files."""
        return self.size() is not None or any(True for _ in self.iterdir())

    def size(self) -> int | None:
        """Return the size of the file in bytes, or None if it does not exist."""
        return self.remote.size(self._uri)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Fetch the whole file and open it for reading.

        Raises:
            ValueError: another mode was asked for; `write_bytes` writes.
        """
        if mode != "rb":
            raise ValueError(f"remote file {self} cannot be opened with mode {mode!r}; allowed: 'rb'")
        return io.BytesIO(self.read_bytes())

    def read_bytes(self) -> bytes:
        """Return the contents of the file."""
        return self.remote.read(self._uri)

    def write_bytes(self, data: bytes) -> None:
        """Write the file, replacing an existing one."""
        self.remote.write(self._uri, data)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file; a missing file is ignored regardless of `missing_ok`, because stores do not report it."""
        self.remote.remove([self._uri])

    def create(self, data: bytes) -> None:
        """Write the file unless it exists.

        Raises:
            FileExistsError: the file exists with other contents.
        """
        self.remote.create(self._uri, data)

    def iterdir(self) -> Iterator[RemotePath]:
        """Yield the entries of the directory; none if it does not exist."""
        try:
            with saying("list", self._uri):
                names = self.remote.fs.ls(self._uri, detail=False)
        except RemoteFileNotFoundError:
            return
        for name in names:
            last = name.rstrip("/").rpartition("/")[2]
            if last != self.name or not self.size():
                yield self / last

    def files(self) -> dict[str, int]:
        """Return the sizes of all files below the directory, by relative path."""
        try:
            found = self.remote.files_below(self._uri)
        except RemoteFileNotFoundError:
            return {}
        return {path[len(self._uri) + 1 :]: size for path, size in found}


AnyPath = Path | RemotePath
"""A path on the local file system or on another one."""


def size_of(path: AnyPath) -> int | None:
    """Return the size of a file in bytes, or None if it does not exist."""
    if isinstance(path, RemotePath):
        return path.size()
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def write_durably(path: AnyPath, data: bytes) -> None:
    """Write a new file, with the directories that it needs, so that it outlives a crash of the machine."""
    if isinstance(path, Path):
        make_directory(path.parent)
        path.write_bytes(data)
        sync_file(path)
        sync_directory(path.parent)
    else:
        path.write_bytes(data)


def remove_tree(path: AnyPath) -> None:
    """Remove a directory and its contents, as far as possible."""
    if isinstance(path, RemotePath):
        path.remote.remove([f"{path}/{name}" for name in path.files()])
    else:
        shutil.rmtree(path, ignore_errors=True)
