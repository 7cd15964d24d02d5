from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.task import state_file
from firesteel.task.state_file import (
    StateFileError,
    publish_state_file,
    read_state_file,
    replace_state_file,
    write_state_file,
)


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "3.full"
    assert write_state_file(path, iter([b"state", b"", b"more"])) == path.stat().st_size
    assert list(read_state_file(path)) == [b"state", b"", b"more"]
    assert [p.name for p in tmp_path.iterdir()] == ["3.full"]


def test_a_name_is_used_once(tmp_path: Path) -> None:
    write_state_file(tmp_path / "3.full", [b"first"])
    with pytest.raises(FileExistsError):
        write_state_file(tmp_path / "3.full", [b"second"])
    assert list(read_state_file(tmp_path / "3.full")) == [b"first"]


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    replace_state_file(tmp_path / "restored", [b"first"])
    replace_state_file(tmp_path / "restored", [b"second"])
    assert list(read_state_file(tmp_path / "restored")) == [b"second"]
    assert [path.name for path in tmp_path.iterdir()] == ["restored"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match=r"state file .*/3\.full is missing"):
        list(read_state_file(tmp_path / "3.full"))


@pytest.mark.parametrize("position", range(10, 60, 7))
def test_each_changed_byte_is_detected(tmp_path: Path, position: int) -> None:
    path = tmp_path / "3.full"
    write_state_file(path, [bytes(range(32)), bytes(range(32))])
    data = bytearray(path.read_bytes())
    data[position] ^= 64
    path.write_bytes(data)
    with pytest.raises(StateFileError, match=r"is damaged|has format version"):
        list(read_state_file(path))


def test_each_truncation_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "3.full"
    size = write_state_file(path, [bytes(range(32)), bytes(range(32))])
    whole = path.read_bytes()
    for length in range(size):
        path.write_bytes(whole[:length])
        with pytest.raises(StateFileError, match=r"is damaged|is not a state file"):
            list(read_state_file(path))


def test_a_file_of_a_newer_format_is_rejected_naming_both_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "3.full"
    with monkeypatch.context() as later:
        later.setattr(state_file, "FORMAT_VERSION", 8)
        write_state_file(path, [b"state"])
    with pytest.raises(StateFileError, match="has format version 8; this version of firesteel reads 5, 6 and 7"):
        list(read_state_file(path))


def test_one_of_several_concurrent_directory_publications_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "chk-1" / "_metadata"
    publish_state_file(path, [b"first"], "1")
    with pytest.raises(FileExistsError):
        publish_state_file(path, [b"second"], "2")
    assert list(read_state_file(path)) == [b"first"]
    assert [found.name for found in tmp_path.iterdir()] == ["chk-1"]


def test_a_directory_is_published_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "chk-1" / "_metadata"
    publish_state_file(path, [b"first"], "1")
    with pytest.raises(FileExistsError):
        publish_state_file(path, [b"second"], "2")
    assert list(read_state_file(path)) == [b"first"]


def test_nothing_is_published_where_a_job_was(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        publish_state_file(tmp_path / "job" / "chk-1" / "_metadata", [b"late"], "1")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_publication_leaves_no_file(tmp_path: Path) -> None:
    def frames() -> Iterator[bytes]:
        yield b"half"
        raise OSError("no space left on device")

    with pytest.raises(StateFileError, match="can't be written: no space"):
        publish_state_file(tmp_path / "chk-1" / "_metadata", frames(), "1")
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_can_read_decisions(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        publish_state_file(tmp_path / "chk-1" / "_metadata", [b"password"], "1")
        replace_state_file(tmp_path / "restored", [b"plan"])
    finally:
        os.umask(before)
    paths = (tmp_path / "chk-1", tmp_path / "chk-1" / "_metadata", tmp_path / "restored")
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o700, 0o600, 0o600]
