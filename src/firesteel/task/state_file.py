"""Files that hold state: what is in them is whole, of a known format, and as it was written.

A header (magic, format version, CRC-32 and length of the rest), then the content. A file appears under its name only
when it is complete.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from firesteel.errors import FiresteelError

FORMAT_VERSION = 1
"""Of what is written; files of later versions are refused."""

_MAGIC = b"FIRESTEEL\n"
_HEADER = struct.Struct(">10sHIQ")


class StateFileError(FiresteelError):
    """A file of state can't be used.

    Args:
        path: The file.
        problem: What was found.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"state file {self.path} {self.problem}"


def write_state_file(path: Path, content: bytes) -> int:
    """Write a file, replacing one of that name; gives its size in bytes."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    header = _HEADER.pack(_MAGIC, FORMAT_VERSION, zlib.crc32(content), len(content))
    try:
        with temporary.open("wb") as file:
            file.write(header)
            file.write(content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return len(header) + len(content)


def read_state_file(path: Path) -> bytes:
    """The content of a file.

    Raises:
        StateFileError: it is missing or damaged, or a later version of firesteel wrote it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     size = write_state_file(Path(directory) / "7.full", b"state")
        ...     read_state_file(Path(directory) / "7.full")
        b'state'
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise StateFileError(path, "is missing") from None
    except OSError as error:
        raise StateFileError(path, f"can't be read: {error.strerror}") from error
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise StateFileError(path, "is no state file of firesteel: it does not begin like one")
    _, version, checksum, length = _HEADER.unpack_from(data)
    if version > FORMAT_VERSION:
        raise StateFileError(path, f"has format version {version}, this firesteel reads up to {FORMAT_VERSION}")
    content = data[_HEADER.size :]
    if len(content) != length:
        raise StateFileError(path, f"is damaged: {length} bytes were written, {len(content)} are there")
    if zlib.crc32(content) != checksum:
        raise StateFileError(path, f"is damaged: its checksum is {zlib.crc32(content):08x}, not {checksum:08x}")
    return content
