"""Files that hold state: what is in them is whole, of a known format, and as it was written.

A header (magic, format version, CRC-32 and length of the rest) is followed by frames, each after its length, so a file
may hold more than fits into memory. A name is used once: nobody overwrites a file, and a file that a killed process
left unfinished is referred to by nobody.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from firesteel.common.durability import PRIVATE_DIRECTORY, sync_directory, sync_file
from firesteel.common.remote_path import AnyPath, RemotePath
from firesteel.errors import FiresteelError

FORMAT_VERSION = 5
"""Files of other versions are refused. Version 1 had whole maps as values of map states, version 2 metadata that named
version files by their batches alone, version 3 other forms of keys and whole broadcast states in each version, version
4 the committers of sinks with their passwords, and metadata without regions."""

_MAGIC = b"FIRESTEEL\n"
_HEADER = struct.Struct(">10sHIQ")
_LENGTH = struct.Struct(">Q")
_BLOCK = 1 << 20
_PRIVATE_FILE = 0o600
_FILE = 0o666


class StateFileError(FiresteelError):
    """A file of state can't be used.

    Args:
        path: The file.
        problem: What was found.
    """

    def __init__(self, path: AnyPath, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"state file {self.path} {self.problem}"


def write_state_file(path: Path, frames: Iterable[bytes], mode: int = _FILE) -> int:
    """Create a file and return its size in bytes.

    Args:
        path: The file.
        frames: Its contents.
        mode: Its mode, less the umask.

    Raises:
        FileExistsError: there is a file of that name; it is left as it is.
        StateFileError: the file could not be written: the disk may be full. Nothing is left of it.
    """
    try:
        file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with file:
            return _write_frames(file, frames)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise


def state_file_bytes(frames: Iterable[bytes]) -> bytes:
    """Return the contents of a file with those frames."""
    file = io.BytesIO()
    _write_frames(file, frames)
    return file.getvalue()


def _cannot_write(path: Path, error: OSError) -> StateFileError:
    return StateFileError(path, f"can't be written: {error.strerror or error}")


def _write_frames(file: IO[bytes], frames: Iterable[bytes]) -> int:
    file.write(bytes(_HEADER.size))
    checksum = length = 0
    for frame in frames:
        for part in (_LENGTH.pack(len(frame)), frame):
            file.write(part)
            checksum = zlib.crc32(part, checksum)
            length += len(part)
    file.seek(0)
    file.write(_HEADER.pack(_MAGIC, FORMAT_VERSION, checksum, length))
    return _HEADER.size + length


def publish_state_file(path: Path, frames: Iterable[bytes], owner: str) -> None:
    """Create a directory with one durable file in it, both at once: of several processes that try, one succeeds.

    Only this user can read them: the file may hold what sinks want to have committed, with the password of a database.

    The file is written in a directory of the owner's own, which then gets its name: a rename replaces no directory that
    has something in it. So the file is there completely or not at all, on any file system with atomic renames.

    Args:
        path: The file; its directory is the one that is created, below one that exists.
        frames: The contents of the file.
        owner: Names this process's attempt: no other attempt uses the same name.

    Raises:
        FileExistsError: another process has created the directory.
        FileNotFoundError: the directory around it is gone.
        StateFileError: the file could not be written.
    """
    directory = path.parent
    own = directory.with_name(f".{directory.name}.{owner}")
    own.mkdir(PRIVATE_DIRECTORY)
    try:
        write_state_file(own / path.name, frames, _PRIVATE_FILE)
        sync_file(own / path.name)
        sync_directory(own)
        try:
            own.rename(directory)
        except OSError as error:
            if directory.exists():
                raise FileExistsError(directory) from error
            raise
    except BaseException:
        (own / path.name).unlink(missing_ok=True)
        if own.is_dir():
            own.rmdir()
        raise
    sync_directory(directory.parent)


def publish(path: AnyPath, frames: Iterable[bytes], owner: str) -> None:
    """Create a file that exists once: as `publish_state_file`, or with the conditional write of an object store.

    Raises:
        FileExistsError: another process has created it.
    """
    if isinstance(path, RemotePath):
        path.create(state_file_bytes(frames))
    else:
        publish_state_file(path, frames, owner)


def read_state_file(path: AnyPath) -> Iterator[bytes]:
    """Yield the frames of a file after checking that all of them are as they were written.

    Raises:
        StateFileError: the file is missing or damaged, or another version of firesteel wrote it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     size = write_state_file(Path(directory) / "7-1.full", [b"state", b"timers"])
        ...     list(read_state_file(Path(directory) / "7-1.full"))
        [b'state', b'timers']
    """
    check_state_file(path)
    with path.open("rb") as file:
        file.seek(_HEADER.size)
        while head := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(head)[0])


def check_state_file(path: AnyPath) -> None:
    """Check that a file is as it was written.

    Raises:
        StateFileError: the file is missing or damaged, or another version of firesteel wrote it.
    """
    try:
        with path.open("rb") as file:
            _check(path, file)
    except FileNotFoundError:
        raise StateFileError(path, "is missing") from None
    except OSError as error:
        raise StateFileError(path, f"can't be read: {error.strerror or error}") from error


def _check(path: AnyPath, file: IO[bytes]) -> None:
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


def replace_state_file(path: Path, frames: Iterable[bytes]) -> None:
    """Write a file, which only this user can read, in the place of the one of that name, at once.

    Raises:
        StateFileError: the file could not be written; the one of that name is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    write_state_file(temporary, frames, _PRIVATE_FILE)
    temporary.replace(path)
