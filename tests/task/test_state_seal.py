"""State files of a cluster with a secret: only its own processes can write what its processes read."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from firesteel.common.options.state_options import RECOVERY_ALLOW_UNVERIFIED
from firesteel.task.state_file import (
    StateFileError,
    UnverifiedStateError,
    read_state_file,
    verify_state_file,
    write_state_file,
)
from firesteel.task.state_seal import UNSEALED, StateSeal

OWN, OTHER = StateSeal(b"k" * 32), StateSeal(b"o" * 32)
FRAMES = [b"first", b"", b"x" * 100, b"last"]
_HEADER = struct.Struct(">10sHIQ")


def sealed(path: Path, seal: StateSeal = OWN, frames: list[bytes] = FRAMES) -> Path:
    path.parent.mkdir(exist_ok=True)
    write_state_file(path, frames, seal=seal)
    return path


def with_valid_checksum(path: Path, body: bytes) -> None:
    """Replace what follows the header as somebody does who does not know the secret."""
    import zlib

    magic, version, _, _ = _HEADER.unpack_from(path.read_bytes())
    path.write_bytes(_HEADER.pack(magic, version, zlib.crc32(body), len(body)) + body)


def test_a_sealed_file_is_read_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "1.full"
    assert write_state_file(path, FRAMES, seal=OWN) == path.stat().st_size
    assert list(read_state_file(path, OWN)) == FRAMES


def test_the_key_is_not_shown() -> None:
    assert "kkk" not in repr(OWN)


@pytest.mark.parametrize(
    ("written", "read", "reason"),
    [
        (UNSEALED, OWN, "is not signed"),
        (OTHER, OWN, "is signed with the secret of another cluster"),
        (OWN, UNSEALED, "is signed, and no secret is configured"),
    ],
)
def test_files_of_others_are_refused_unless_allowed(
    tmp_path: Path, written: StateSeal, read: StateSeal, reason: str
) -> None:
    path = sealed(tmp_path / "1.full", written)
    with pytest.raises(UnverifiedStateError, match=f"{reason}.*{RECOVERY_ALLOW_UNVERIFIED.key}: true"):
        next(read_state_file(path, read))
    assert list(read_state_file(path, read.allowing({RECOVERY_ALLOW_UNVERIFIED.key: "true"}))) == FRAMES
    with pytest.raises(UnverifiedStateError):
        verify_state_file(path, read.allowing({RECOVERY_ALLOW_UNVERIFIED.key: "false"}))


def test_no_byte_of_a_sealed_file_can_be_changed(tmp_path: Path) -> None:
    path = sealed(tmp_path / "1.full")
    body = path.read_bytes()[_HEADER.size :]
    for position in range(len(body)):
        changed = bytearray(body)
        changed[position] ^= 1
        with_valid_checksum(path, bytes(changed))
        got = []
        with pytest.raises((StateFileError, struct.error)):
            got += list(read_state_file(path, OWN))
        assert got == []


def test_frames_cannot_be_left_out_repeated_or_moved_to_another_file(tmp_path: Path) -> None:
    def records(path: Path) -> list[bytes]:
        data, at, found = path.read_bytes()[_HEADER.size :], 24, []
        while at < len(data):
            (length,) = struct.unpack_from(">Q", data, at)
            size = 40 + (0 if length == (1 << 64) - 1 else length)
            found.append(data[at : at + size])
            at += size
        return [data[:24], *found]

    path, other = sealed(tmp_path / "1.full"), sealed(tmp_path / "2.full")
    begin, *parts, end = records(path)
    for wrong in (
        [*parts[:-1]],  # the end comes too early
        [*parts[1:]],
        [parts[1], parts[0], *parts[2:]],
        [*parts, parts[-1]],
        [*records(other)[1:2], *parts[1:]],
    ):
        with_valid_checksum(path, b"".join([begin, *wrong, end]))
        with pytest.raises(UnverifiedStateError, match="was changed after it was signed"):
            verify_state_file(path, OWN)


def test_a_file_changed_while_it_is_read_yields_no_changed_frame(tmp_path: Path) -> None:
    path = sealed(tmp_path / "1.full", frames=[b"a" * 100_000, b"b" * 100_000])
    reading = read_state_file(path, OWN)
    assert next(reading) == b"a" * 100_000
    data = path.read_bytes()
    path.write_bytes(data[:-200] + b"!" * 100 + data[-100:])
    with pytest.raises(UnverifiedStateError):
        next(reading)


def test_a_signature_cannot_be_stripped(tmp_path: Path) -> None:
    path = sealed(tmp_path / "1.full")
    data = bytearray(path.read_bytes())
    data[10] &= 0x7F  # the version without the flag
    path.write_bytes(bytes(data))
    with pytest.raises(UnverifiedStateError, match="is not signed"):
        verify_state_file(path, OWN)
