from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.task.state_file import StateFileError
from firesteel.task.version_store import MAX_DELTAS, Frame, VersionStore, version_files


def write(store: VersionStore, batch: int, size: int = 0, stage: int = 0) -> int:
    """Write a version that tells its batch and has `size` bytes of state."""
    return store.write(stage, batch, lambda full: iter([("v", "o", b"x" * size), ("v", None, {"batch": batch})]))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def batches(frames: Iterator[Frame]) -> list[int]:
    return [state["batch"] for _, operator_id, state in frames if operator_id is None]


def test_a_version_is_a_full_file_and_the_deltas_behind_it(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, 3)
    assert [write(store, batch, size=1000 if batch in (0, 4) else 1) for batch in range(7)] == [0, 0, 0, 0, 0, 5, 5]
    assert batches(store.read(0, 3)) == [0, 1, 2, 3]
    assert batches(store.read(0, 6)) == [5, 6]
    assert [p.name for p in version_files(tmp_path, 0, 3, 5, 6)] == ["5.full", "6.delta"]


def test_a_full_version_follows_when_the_deltas_are_as_large_as_the_last_one(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, 0)
    bases = [write(store, batch, size=10_000) for batch in range(7)]
    assert bases == [0, 0, 2, 2, 4, 4, 6]


def test_a_full_version_follows_after_many_small_deltas(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, 0)
    bases = [write(store, batch, size=10_000_000 if batch == 0 else 0) for batch in range(MAX_DELTAS + 2)]
    assert bases == [0] * (MAX_DELTAS + 1) + [MAX_DELTAS + 1]


def test_version_that_is_missing_is_an_error_with_its_name(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, 0)
    for batch in range(3):
        write(store, batch, size=1000 if batch == 0 else 0)
    with pytest.raises(StateFileError, match=r"0/0/3\.delta is missing"):
        list(store.read(0, 3))
    (tmp_path / "0" / "0" / "1.delta").unlink()
    with pytest.raises(StateFileError, match=r"0/0/1\.delta is missing"):
        list(store.read(0, 2))


def test_version_written_again_replaces_the_first_whatever_kind_it_was(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, 0)
    for batch in range(3):
        write(store, batch, size=1000 if batch == 0 else 0)
    again = VersionStore(tmp_path, 0)
    assert batches(again.read(0, 1)) == [0, 1]
    write(again, 2)
    assert names(tmp_path / "0" / "0") == ["0.full", "1.delta", "2.delta"]
    # A slot that knows nothing of what was written before can't write a delta.
    write(VersionStore(tmp_path, 0), 2)
    assert names(tmp_path / "0" / "0") == ["0.full", "1.delta", "2.full"]
    assert batches(VersionStore(tmp_path, 0).read(0, 2)) == [2]


def test_a_store_that_read_a_version_goes_on_with_deltas(tmp_path: Path) -> None:
    write(VersionStore(tmp_path, 0), 0, size=1000)
    store = VersionStore(tmp_path, 0)
    assert batches(store.read(0, 0)) == [0]
    assert write(store, 1) == 0


def test_nothing_is_left_of_a_version_that_could_not_be_written(tmp_path: Path) -> None:
    def fail(full: bool) -> Iterator[Frame]:
        yield "v", "o", b"half"
        raise OSError("no space left on device")

    with pytest.raises(StateFileError, match=r"0\.full can.t be written: no space"):
        VersionStore(tmp_path, 0).write(0, 0, fail)
    assert names(tmp_path / "0" / "0") == []


def test_what_a_killed_process_was_writing_is_removed_by_the_next(tmp_path: Path) -> None:
    directory = tmp_path / "0" / "0"
    directory.mkdir(parents=True)
    for batch in (0, 1):
        (directory / f".{batch}.full.123.tmp").write_bytes(b"half")
        store = VersionStore(tmp_path, 0)
        list(store.read(0, batch - 1) if batch else ())
        store.write(0, batch, lambda full: iter([("v", None, {})]))
    assert names(directory) == ["0.full", "1.delta"]


def test_a_full_version_is_written_when_it_is_asked_for(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, 0)
    write(store, 0, size=1000)
    assert store.write(0, 1, lambda full: iter([("v", None, {})]), in_full=True) == 1
    assert (tmp_path / "0" / "0" / "1.full").exists()
