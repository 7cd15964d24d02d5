from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.task.version_store import VersionStore


def test_versions_are_read_from_the_last_full_one_on(tmp_path: Path) -> None:
    store = VersionStore(str(tmp_path), 3)
    for batch in range(14):
        store.write(0, batch, {"v": {"batch": batch}})
    assert [v["v"]["batch"] for v in store.read(0, 12)] == [10, 11, 12]
    assert [v["v"]["batch"] for v in store.read(0, 10)] == [10]
    assert store.read(0, -1) == []


def test_versions_that_no_replay_needs_are_removed(tmp_path: Path) -> None:
    store = VersionStore(str(tmp_path), 0)
    (tmp_path / "1" / "0").mkdir(parents=True)
    (tmp_path / "1" / "0" / "3.delta.99.tmp").write_bytes(b"half")
    for batch in range(21):
        store.write(1, batch, {})
    assert sorted(int(path.name.split(".")[0]) for path in (tmp_path / "1" / "0").iterdir()) == list(range(10, 21))
    assert len(store.read(1, 19)) == 10


def test_version_that_is_missing_is_an_error(tmp_path: Path) -> None:
    store = VersionStore(str(tmp_path), 0)
    store.write(0, 0, {})
    with pytest.raises(FileNotFoundError):
        store.read(0, 1)


def test_version_written_again_replaces_the_first(tmp_path: Path) -> None:
    store = VersionStore(str(tmp_path), 0)
    store.write(0, 0, {"v": {"try": 1}})
    store.write(0, 0, {"v": {"try": 2}})
    assert store.read(0, 0) == [{"v": {"try": 2}}]
