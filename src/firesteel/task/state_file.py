"""State files with a format version, a checksum and, where the cluster has a secret, a seal.

A header (magic, format version, CRC-32 and length of the rest) is followed by frames, each after its length, so a file
may hold more than fits into memory. In a sealed file the id of the key and a nonce precede the frames, each frame comes
after its tag, and another tag ends the file. Each name is used once: files are never overwritten, and no metadata
refers to an unfinished file of a killed process.
"""

from __future__ import annotations

import hmac
import io
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from firesteel.common.files.durability import PRIVATE_DIRECTORY, sync_directory, sync_file
from firesteel.common.files.regular_file import open_regular
from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.common.options.state_options import RECOVERY_ALLOW_UNVERIFIED
from firesteel.common.trust.frame_seal import TAG_BYTES, FrameSeal, read_unproven
from firesteel.errors import FiresteelError
from firesteel.task.moved_modules import import_moved_modules
from firesteel.task.state_seal import (
    KEY_ID_BYTES,
    NONCE_BYTES,
    UNSEALED,
    StateSeal,
)

import_moved_modules()  # for the pickles in state of earlier releases

FORMAT_VERSION = 7
"""The format version of new files. Version 1 stored whole maps as values of map states; version 2 named version files
by batch only; version 3 had other canonical keys and whole broadcast states in each version; version 4 contained
committers with passwords and had no regions; version 5 had lists as a whole only; versions
up to 6 were pickles."""

_READ_VERSIONS = (5, 6, FORMAT_VERSION)

SEALED = 0x8000
"""Added to the format version of a sealed file."""

_MAGIC = b"FIRESTEEL\n"
_HEADER = struct.Struct(">10sHIQ")
_LENGTH = struct.Struct(">Q")
_SEAL = struct.Struct(f">{KEY_ID_BYTES}s{NONCE_BYTES}s")
_END = (1 << 64) - 1
"""The length that precedes the last tag of a sealed file, in place of a frame's."""
_BLOCK = 1 << 20
_PRIVATE_FILE = 0o600
_FILE = 0o666


class StateFileError(FiresteelError):
    """A state file can't be used.

    Args:
        path: The file.
        problem: The problem found.
    """

    def __init__(self, path: AnyPath, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"state file {self.path} {self.problem}"


class UnverifiedStateError(StateFileError):
    """A state file was not written with the secret of this cluster, so reading it could run the code of others."""

    def __str__(self) -> str:
        return (
            f"{super().__str__()}: a state file can run code where it is read, so it must be signed with the secret of "
            f"this cluster (FIRESTEEL_RPC_SECRET, security.rpc.secret-file); if you trust everyone who could have "
            f"written it, set {RECOVERY_ALLOW_UNVERIFIED}: true"
        )


def write_state_file(path: Path, frames: Iterable[bytes], mode: int = _FILE, seal: StateSeal = UNSEALED) -> int:
    """Create a file and return its size in bytes.

    Args:
        path: The file.
        frames: Its contents.
        mode: Its permission bits, before the umask is applied.
        seal: Signs the file.

    Raises:
        FileExistsError: a file with that name exists; it is left unchanged.
        StateFileError: the file could not be written, for example because the disk is full; it is removed.
    """
    try:
        # Exclusively: the file of another execution of the same try must not be overwritten.
        file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with file:
            return _write_frames(file, frames, seal)
    except BaseException as error:
        # On a full disk the rest of the file would keep the next try from succeeding; the name could not be used again,
        # either.
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise


def checksum_of(path: AnyPath) -> int:
    """Return the checksum in the header of a file that was just written."""
    with _open(path) as file:
        checksum: int = _HEADER.unpack(file.read(_HEADER.size))[2]
    return checksum


def state_file_bytes(frames: Iterable[bytes], seal: StateSeal = UNSEALED) -> bytes:
    """Return the contents of a state file with the given frames."""
    file = io.BytesIO()
    _write_frames(file, frames, seal)
    return file.getvalue()


def _cannot_write(path: Path, error: OSError) -> StateFileError:
    return StateFileError(path, f"can't be written: {error.strerror or error}")


def _write_frames(file: IO[bytes], frames: Iterable[bytes], seal: StateSeal) -> int:
    # The header needs checksum and length, which are known at the end; frames are not kept in memory until then.
    file.write(bytes(_HEADER.size))
    checksum = length = 0
    for part in _sealed(frames, seal) if seal.key else _plain(frames):
        file.write(part)
        checksum = zlib.crc32(part, checksum)
        length += len(part)
    # A file whose writer was killed begins with zeros, and is not taken for a state file.
    file.seek(0)
    version = FORMAT_VERSION | SEALED if seal.key else FORMAT_VERSION
    file.write(_HEADER.pack(_MAGIC, version, checksum, length))
    return _HEADER.size + length


def _plain(frames: Iterable[bytes]) -> Iterator[bytes]:
    for frame in frames:
        yield _LENGTH.pack(len(frame))
        yield frame


def _sealed(frames: Iterable[bytes], seal: StateSeal) -> Iterator[bytes]:
    tags = seal.new_file()
    yield _SEAL.pack(seal.key_id, tags.nonce)
    for frame in frames:
        yield _LENGTH.pack(len(frame)) + tags.next_tag(frame)
        yield frame
    yield _LENGTH.pack(_END) + tags.end_tag()


def publish_state_file(path: Path, frames: Iterable[bytes], owner: str, seal: StateSeal = UNSEALED) -> None:
    """Atomically create a directory with one durable file in it; of several concurrent processes one succeeds.

    Only this user can read them, because the file may hold committables with passwords. The file is written in a
    private directory, which is then renamed; a rename never replaces a non-empty directory. So the file exists
    completely or not at all, on any file system with atomic renames.

    Args:
        path: The file; its directory is created, and the parent of that must exist.
        frames: The contents of the file.
        owner: A name of this process's attempt that no other attempt uses.
        seal: Signs the file.

    Raises:
        FileExistsError: another process has created the directory.
        FileNotFoundError: the parent directory is gone.
        StateFileError: the file could not be written.
    """
    directory = path.parent
    own = directory.with_name(f".{directory.name}.{owner}")
    # A directory is renamed and not the file: rename replaces a file, also that of another process, without a word.
    own.mkdir(PRIVATE_DIRECTORY)
    try:
        write_state_file(own / path.name, frames, _PRIVATE_FILE, seal)
        # First the contents, then the name in the directory: after a crash of the host a name must not stand for
        # nothing.
        sync_file(own / path.name)
        sync_directory(own)
        try:
            own.rename(directory)
        except OSError as error:
            # The error is ENOTEMPTY or EEXIST, depending on the file system.
            if directory.exists():
                raise FileExistsError(directory) from error
            raise
    except BaseException:
        (own / path.name).unlink(missing_ok=True)
        if own.is_dir():
            own.rmdir()
        raise
    sync_directory(directory.parent)


def publish(path: AnyPath, frames: Iterable[bytes], owner: str, seal: StateSeal = UNSEALED) -> None:
    """Create a file exactly once, as `publish_state_file` does or with the conditional write of an object store.

    Raises:
        FileExistsError: another process has created it.
    """
    if isinstance(path, RemotePath):
        path.create(state_file_bytes(frames, seal))
    else:
        publish_state_file(path, frames, owner, seal)


def read_state_file(path: AnyPath, seal: StateSeal = UNSEALED, meant: int | None = None) -> Iterator[bytes]:
    """Verify the length and checksum of a file, then yield its frames, each one verified.

    Args:
        path: The file.
        seal: Verifies the frames. Without a key it accepts unsigned files only, as it cannot verify others.
        meant: The checksum of the file which is meant; None if it is not known.

    Raises:
        StateFileError: the file is missing or damaged, is not the one that is meant, or another version of firesteel
            wrote it.
        UnverifiedStateError: the file is not signed with this key, and unverified files are not allowed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     size = write_state_file(Path(directory) / "7-1.full", [b"state", b"timers"])
        ...     list(read_state_file(Path(directory) / "7-1.full"))
        [b'state', b'timers']
    """
    is_sealed = check_state_file(path, meant)
    with _open(path) as file:
        file.seek(_HEADER.size)
        if is_sealed:
            yield from _sealed_frames(path, file, seal)
        elif seal.key and not seal.allows_unverified:
            raise UnverifiedStateError(path, "is not signed")
        else:
            while head := file.read(_LENGTH.size):
                yield file.read(_LENGTH.unpack(head)[0])


def _sealed_frames(path: AnyPath, file: IO[bytes], seal: StateSeal) -> Iterator[bytes]:
    """Yield the frames of a sealed file; each tag is verified before its frame is returned."""
    key_id, nonce = _SEAL.unpack(file.read(_SEAL.size))
    key = seal.key_with(key_id)
    is_own = key is not None
    if not is_own and not seal.allows_unverified:
        found = "is signed with the secret of another cluster" if seal.key else "is signed, and no secret is configured"
        raise UnverifiedStateError(path, found)
    tags = FrameSeal(key or b"", nonce)
    while (length := _LENGTH.unpack(file.read(_LENGTH.size))[0]) != _END:
        tag, frame = file.read(TAG_BYTES), read_unproven(file, length)
        # Before the frame is unpickled, which can run code; in constant time, so that a tag cannot be found byte by
        # byte.
        if is_own and not hmac.compare_digest(tag, tags.next_tag(frame)):
            raise UnverifiedStateError(path, "was changed after it was signed")
        yield frame
    # Without the last tag, a file that was cut at a frame would be accepted.
    if is_own and not hmac.compare_digest(file.read(TAG_BYTES), tags.end_tag()):
        raise UnverifiedStateError(path, "was changed after it was signed")


def verify_state_file(path: AnyPath, seal: StateSeal) -> None:
    """Verify a whole file.

    Raises:
        StateFileError: as `read_state_file`.
    """
    for _ in read_state_file(path, seal):
        pass


def _open(path: AnyPath) -> IO[bytes]:
    return path.open("rb") if isinstance(path, RemotePath) else open_regular(path)


def check_state_file(path: AnyPath, meant: int | None = None) -> bool:
    """Verify the length and checksum of a file, and return whether it is sealed; the seal is not verified.

    Args:
        path: The file.
        meant: The checksum of the file which is meant; None if it is not known.

    Raises:
        StateFileError: the file is missing or damaged, is not the one that is meant, or another version of firesteel
            wrote it.
    """
    try:
        with _open(path) as file:
            return _check(path, file, meant)
    except FileNotFoundError:
        raise StateFileError(path, "is missing") from None
    except OSError as error:
        raise StateFileError(path, f"can't be read: {error.strerror or error}") from error


def _check(path: AnyPath, file: IO[bytes], meant: int | None) -> bool:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise StateFileError(path, "is not a state file of firesteel: wrong magic number")
    _, version, checksum, length = _HEADER.unpack(header)
    if version & ~SEALED not in _READ_VERSIONS:
        *others, last = _READ_VERSIONS
        known = f"{', '.join(map(str, others))} and {last}"
        raise StateFileError(path, f"has format version {version & ~SEALED}; this version of firesteel reads {known}")
    found_checksum = found_length = 0
    while block := file.read(_BLOCK):
        found_checksum = zlib.crc32(block, found_checksum)
        found_length += len(block)
    if found_length != length:
        raise StateFileError(path, f"is damaged: {length} bytes were written, {found_length} were found")
    if found_checksum != checksum:
        raise StateFileError(path, f"is damaged: its checksum is {found_checksum:08x}, not {checksum:08x}")
    if meant not in (None, checksum):
        raise StateFileError(path, f"is not the file that the checkpoint means: {checksum:08x} in place of {meant:08x}")
    return bool(version & SEALED)


def replace_state_file(path: Path, frames: Iterable[bytes], seal: StateSeal = UNSEALED) -> None:
    """Atomically replace a file, which only this user can read.

    Raises:
        StateFileError: the file could not be written; the existing file is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    # It is left of a process with the same id that was killed; ids are used again.
    temporary.unlink(missing_ok=True)
    write_state_file(temporary, frames, _PRIVATE_FILE, seal)
    temporary.replace(path)
