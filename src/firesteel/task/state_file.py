"""Files that hold state: what is in them is whole, of a known format, and as it was written.

A header (magic, format version, CRC-32 and length of the rest), then frames, each with its length before it: so a file
may hold more than fits into memory. A file appears under its name only when it is complete.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from firesteel.errors import FiresteelError

FORMAT_VERSION = 2
"""Of what is written; files of other versions are refused. Version 1 had whole maps as values of map states."""

_MAGIC = b"FIRESTEEL\n"
_HEADER = struct.Struct(">10sHIQ")
_LENGTH = struct.Struct(">Q")
_BLOCK = 1 << 20


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


def write_state_file(path: Path, frames: Iterable[bytes], is_new: bool = False) -> int:
    """Write a file, replacing one of that name unless it has to be new; gives its size in bytes.

    Raises:
        FileExistsError: it has to be new, and there is one: of two processes that try, one succeeds.
        StateFileError: it could not be written: the disk may be full. What had that name is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(bytes(_HEADER.size))
            checksum = length = 0
            for frame in frames:
                for part in (_LENGTH.pack(len(frame)), frame):
                    file.write(part)
                    checksum = zlib.crc32(part, checksum)
                    length += len(part)
            file.seek(0)
            file.write(_HEADER.pack(_MAGIC, FORMAT_VERSION, checksum, length))
        if is_new:
            _take_name(temporary, path)
        else:
            temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise
        if isinstance(error, OSError):
            raise StateFileError(path, f"can't be written: {error.strerror or error}") from error
        raise
    return _HEADER.size + length


def _take_name(temporary: Path, path: Path) -> None:
    """Give a file its name, if nobody has taken it: with the content at once, where the file system has links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        path.touch(exist_ok=False)
        temporary.replace(path)
    else:
        temporary.unlink()  # and no rename: of two links to one file it leaves both


def remove_unfinished(directory: Path) -> None:
    """Remove what processes were writing there when they were killed."""
    for path in directory.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def read_state_file(path: Path) -> Iterator[bytes]:
    """The frames of a file, all of which were found to be as they were written.

    Raises:
        StateFileError: it is missing or damaged, or another version of firesteel wrote it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     size = write_state_file(Path(directory) / "7.full", [b"state", b"timers"])
        ...     list(read_state_file(Path(directory) / "7.full"))
        [b'state', b'timers']
    """
    check_state_file(path)
    with path.open("rb") as file:
        file.seek(_HEADER.size)
        while head := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(head)[0])


def check_state_file(path: Path) -> None:
    """See that a file is as it was written.

    Raises:
        StateFileError: it is missing or damaged, or another version of firesteel wrote it.
    """
    try:
        with path.open("rb") as file:
            _check(path, file)
    except FileNotFoundError:
        raise StateFileError(path, "is missing") from None
    except OSError as error:
        raise StateFileError(path, f"can't be read: {error.strerror}") from error


def _check(path: Path, file: IO[bytes]) -> None:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise StateFileError(path, "is no state file of firesteel: it does not begin like one")
    _, version, checksum, length = _HEADER.unpack(header)
    if version != FORMAT_VERSION:
        raise StateFileError(path, f"has format version {version}, this firesteel reads {FORMAT_VERSION}")
    found_checksum = found_length = 0
    while block := file.read(_BLOCK):
        found_checksum = zlib.crc32(block, found_checksum)
        found_length += len(block)
    if found_length != length:
        raise StateFileError(path, f"is damaged: {length} bytes were written, {found_length} are there")
    if found_checksum != checksum:
        raise StateFileError(path, f"is damaged: its checksum is {found_checksum:08x}, not {checksum:08x}")
