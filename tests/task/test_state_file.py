from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.task import state_file
from firesteel.task.state_file import StateFileError, read_state_file, write_state_file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "3.full"
    assert write_state_file(path, [b"state"]) == path.stat().st_size
    write_state_file(path, iter([b"other", b"", b"more"]))
    assert list(read_state_file(path)) == [b"other", b"", b"more"]
    assert [p.name for p in tmp_path.iterdir()] == ["3.full"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match=r"state file .*/3\.full is missing"):
        list(read_state_file(tmp_path / "3.full"))


@pytest.mark.parametrize("position", range(10, 60, 7))
def test_each_changed_byte_is_found(tmp_path: Path, position: int) -> None:
    path = tmp_path / "3.full"
    write_state_file(path, [bytes(range(32)), bytes(range(32))])
    data = bytearray(path.read_bytes())
    data[position] ^= 64
    path.write_bytes(data)
    with pytest.raises(StateFileError, match=r"is damaged|has format version"):
        list(read_state_file(path))


def test_each_cut_is_found(tmp_path: Path) -> None:
    path = tmp_path / "3.full"
    size = write_state_file(path, [bytes(range(32)), bytes(range(32))])
    whole = path.read_bytes()
    for length in range(size):
        path.write_bytes(whole[:length])
        with pytest.raises(StateFileError, match=r"is damaged|is no state file"):
            list(read_state_file(path))


def test_a_file_of_a_later_format_is_refused_with_both_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "3.full"
    with monkeypatch.context() as later:
        later.setattr(state_file, "FORMAT_VERSION", 7)
        write_state_file(path, [b"state"])
    with pytest.raises(StateFileError, match="has format version 7, this firesteel reads 2"):
        list(read_state_file(path))


def test_a_file_that_has_to_be_new_is_written_once_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_state_file(tmp_path / "_metadata", [b"first"], is_new=True)
    with pytest.raises(FileExistsError):
        write_state_file(tmp_path / "_metadata", [b"second"], is_new=True)
    assert list(read_state_file(tmp_path / "_metadata")) == [b"first"]
    assert [path.name for path in tmp_path.iterdir()] == ["_metadata"]
