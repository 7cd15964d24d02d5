"""File systems by scheme: which one has a path, and files of any of them (Flink: `core.fs.FileSystem`).

A path without a scheme, or with `file:`, is local: nothing is imported for it. Others go through fsspec and the library
for the scheme, which is an extra of firesteel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from firesteel.common.file_system_options import fsspec_options
from firesteel.common.local_path import local_path
from firesteel.common.remote_files import RemoteFileSystem
from firesteel.common.remote_path import AnyPath, RemotePath
from firesteel.errors import InvalidProgramError

__all__ = ["DEFAULT_SCHEME", "LOCAL_FILES", "Files", "join", "scheme_of"]

DEFAULT_SCHEME = "fs.default-scheme"

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(?:[^/]+|(?=/))")
_EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "abfs": "azure",
    "abfss": "azure",
    "hdfs": "hdfs",
}
_PROTOCOLS = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}
_BLOCK_BYTES = 4 << 20


def scheme_of(path: str) -> str | None:
    """Return the scheme of a path that is not on the local file system; None if it is local.

    Example:
        >>> scheme_of("s3://bucket/in"), scheme_of("file:///in"), scheme_of("in/a.txt")
        ('s3', None, None)
    """
    found = _URI.match(path)
    scheme = found[1].lower() if found is not None else None
    return None if scheme == "file" else scheme


class Files:
    """Opens files of any file system.

    Args:
        configuration: Has the credentials and end points, by Flink's keys; else each library looks for them in its
            usual places.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._configuration = configuration

    def resolve(self, path: str) -> str:
        """Return a path with its scheme: `fs.default-scheme` is put before absolute paths that have none."""
        default = self._configuration.get(DEFAULT_SCHEME)
        if default is None or not path.startswith("/"):
            return path
        return f"{default.rstrip('/')}{path}"

    def remote(self, path: str) -> RemoteFileSystem | None:
        """Return the file system of a path; None if it is the local one.

        Raises:
            InvalidProgramError: there is no file system for the scheme.
            ModuleNotFoundError: its library is not installed; the text says how to install it.
        """
        scheme = scheme_of(path)
        return None if scheme is None else self._remote(scheme, path)

    def remote_of(self, path: str) -> RemoteFileSystem:
        """Return the file system of a path that is known to be remote."""
        remote = self.remote(path)
        assert remote is not None, path
        return remote

    def _remote(self, scheme: str, path: str) -> RemoteFileSystem:
        protocol = _PROTOCOLS.get(scheme, scheme)
        try:
            library = _library(protocol)
        except ValueError:
            raise InvalidProgramError(
                f"path {path!r}: there is no file system for {scheme}://; allowed: a local path, file:///path, and "
                f"{', '.join(f'{known}://' for known in _EXTRAS)}"
            ) from None
        except ImportError as error:
            install = f"pip install 'firesteel[{_EXTRAS[scheme]}]'" if scheme in _EXTRAS else f"install it: {error}"
            raise ModuleNotFoundError(f"path {path!r} needs a library for {scheme}://: {install}") from None
        return RemoteFileSystem(library(**fsspec_options(protocol, path, self._configuration)))

    def open(self, path: str, block_bytes: int = _BLOCK_BYTES) -> IO[bytes]:
        """Open a file for reading; so many bytes of a remote one are fetched at once.

        Raises:
            OSError: it can't be opened.
        """
        remote = self.remote(path)
        return open(local_path(path), "rb") if remote is None else remote.open(path, block_bytes)

    def path(self, text: str) -> AnyPath:
        """Return a path as a `pathlib.Path`, or as what has the same methods on a remote file system."""
        remote = self.remote(text)
        return local_path(text) if remote is None else RemotePath(remote, text)

    def input(self, path: str) -> str | IO[bytes]:
        """Return what libraries take as input: the path of a local file, an open remote one."""
        return path if scheme_of(path) is None else self.open(path)


LOCAL_FILES = Files({})
"""Files without configuration."""


def _library(protocol: str) -> Any:
    """Return the class of fsspec for a scheme.

    Raises:
        ImportError: fsspec, or the library for the scheme, is not installed.
        ValueError: fsspec knows no such scheme.
    """
    try:
        from fsspec import get_filesystem_class
    except ModuleNotFoundError:
        if protocol in {_PROTOCOLS.get(scheme, scheme) for scheme in _EXTRAS}:
            raise
        raise ValueError(protocol) from None
    return get_filesystem_class(protocol)


def join(path: str | Path, *names: str) -> str:
    """Join a path or URI with names.

    Example:
        >>> join("s3://bucket/jobs/", "chk-7", "_metadata")
        's3://bucket/jobs/chk-7/_metadata'
    """
    return "/".join([str(path).rstrip("/"), *names])
