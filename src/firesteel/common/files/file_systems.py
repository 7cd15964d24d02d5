"""File systems by scheme, and access to files of any of them (Flink: `core.fs.FileSystem`).

A path without a scheme, or with `file:`, is local and needs no imports. Other schemes use fsspec and a library for the
scheme, which is an extra of firesteel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from firesteel.common.files.file_system_options import fsspec_options
from firesteel.common.files.local_path import local_path
from firesteel.common.files.remote_files import RemoteFileSystem
from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.common.options.file_options import FS_DEFAULT_SCHEME
from firesteel.errors import InvalidProgramError

__all__ = ["LOCAL_FILES", "Files", "join", "scheme_of"]


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
    """Return the scheme of a remote path, or None for a local one.

    Example:
        >>> scheme_of("s3://bucket/in"), scheme_of("file:///in"), scheme_of("in/a.txt")
        ('s3', None, None)
    """
    found = _URI.match(path)
    scheme = found[1].lower() if found is not None else None
    return None if scheme == "file" else scheme


class Files:
    """Access to files of any file system.

    Args:
        configuration: Contains credentials and endpoints under Flink's keys. Without them each library uses its own
            defaults.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._configuration = configuration

    def resolve(self, path: str) -> str:
        """Return a path with its scheme: `fs.default-scheme` is prepended to absolute paths without one."""
        default = FS_DEFAULT_SCHEME.of(self._configuration)
        if default is None or not path.startswith("/"):
            return path
        return f"{default.rstrip('/')}{path}"

    def remote(self, path: str) -> RemoteFileSystem | None:
        """Return the file system of a remote path, or None for a local one.

        Raises:
            InvalidProgramError: the scheme is not supported.
            ModuleNotFoundError: the library is not installed; the message says how to install it.
        """
        scheme = scheme_of(path)
        return None if scheme is None else self._remote(scheme, path)

    def remote_of(self, path: str) -> RemoteFileSystem:
        """Return the file system of a path that must be remote."""
        remote = self.remote(path)
        assert remote is not None, path
        return remote

    def _remote(self, scheme: str, path: str) -> RemoteFileSystem:
        protocol = _PROTOCOLS.get(scheme, scheme)
        try:
            library = _library(protocol)
        except ValueError:
            raise InvalidProgramError(
                f"path {path!r}: no file system for {scheme}://; allowed: a local path, file:///path, and "
                f"{', '.join(f'{known}://' for known in _EXTRAS)}"
            ) from None
        except ImportError as error:
            install = f"pip install 'firesteel[{_EXTRAS[scheme]}]'" if scheme in _EXTRAS else f"install it: {error}"
            raise ModuleNotFoundError(f"path {path!r} needs a library for {scheme}://: {install}") from None
        return RemoteFileSystem(library(**fsspec_options(protocol, path, self._configuration)))

    def open(self, path: str, block_bytes: int = _BLOCK_BYTES) -> IO[bytes]:
        """Open a file for reading.

        Args:
            path: Local path or URI.
            block_bytes: Number of bytes of a remote file to fetch at once.

        Raises:
            OSError: the file cannot be opened.
        """
        remote = self.remote(path)
        return open(local_path(path), "rb") if remote is None else remote.open(path, block_bytes)

    def path(self, text: str) -> AnyPath:
        """Return a `pathlib.Path`, or an object with the same methods for a remote path."""
        remote = self.remote(text)
        return local_path(text) if remote is None else RemotePath(remote, text)

    def input(self, path: str) -> str | IO[bytes]:
        """Return a file in the form that libraries accept: a path if it is local, otherwise an open file."""
        return path if scheme_of(path) is None else self.open(path)


LOCAL_FILES = Files({})
"""Access to files without a configuration."""


def _library(protocol: str) -> Any:
    """Return fsspec's class for a protocol.

    Raises:
        ImportError: fsspec or the library of the protocol is not installed.
        ValueError: fsspec does not support the protocol.
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
