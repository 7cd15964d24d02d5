from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.common.encoding import encoded_entries
from firesteel.common.encoding.program_values import program_entries
from firesteel.operators.state.state_table import DELETED
from firesteel.task.state_file import StateFileError
from firesteel.task.state_transfer import copy_chain
from firesteel.task.version_chains import FAN_IN, MAX_FILES, Frame
from firesteel.task.version_store import VersionStore, claim_run, read_frames
from firesteel.task.versions import BatchTry, Chain, TryIsOverError, VersionFile


class Slot:
    """Writes one version after the other, like a slot that always gets its last version."""

    def __init__(self, directory: Path, slot: int = 0) -> None:
        self.directory = directory
        self.run = claim_run(directory)
        self.store = VersionStore(directory, slot)
        self.chain: Chain = ()
        self.batch = -1

    def write(self, entries: dict[str, object] | int, in_full: bool = False, number: int = 1) -> Chain:
        """Write a version with these entries, or with one value of a given size in bytes."""
        self.batch += 1
        changed = {"x": b"x" * entries} if isinstance(entries, int) else entries

        def frames(full: bool) -> Iterator[Frame]:
            if changed:
                yield "v", "o", encoded_entries("table", changed)
            yield "v", None, {"batch": self.batch}

        at = BatchTry(self.run, self.batch, number)
        self.chain = self.store.write(0, at, self.chain, frames, in_full)
        return self.chain

    @property
    def names(self) -> list[str]:
        return [file.path.rpartition("/")[2] for file in self.chain]


def batches(frames: Iterator[Frame]) -> list[int]:
    return [state["batch"] for _, operator_id, state in frames if operator_id is None]


def state_of(directory: Path, chain: Chain) -> dict[str, object]:
    found: dict[str, object] = {}
    for _, operator_id, state in read_frames(directory, chain):
        if operator_id is not None:
            found.update(program_entries(state)[1])
    return {key: value for key, value in found.items() if value is not DELETED}


def test_a_version_is_a_full_file_and_the_deltas_after_it(tmp_path: Path) -> None:
    slot = Slot(tmp_path, 3)
    for batch in range(7):
        slot.write(1000 if batch in (0, 4) else 1)
    assert slot.names == ["5-1.full", "6-1.delta"]
    assert slot.chain[0].path == "versions-1/0/3/5-1.full"
    assert batches(slot.store.read(slot.chain)) == [5, 6]


def test_a_full_version_follows_when_the_deltas_are_as_large_as_the_last_one(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    assert [len(slot.write(10_000)) for _ in range(7)] == [1, 2, 1, 2, 1, 2, 1]


def test_a_full_version_is_written_on_request(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.write(1000)
    slot.write({}, in_full=True)
    assert slot.names == ["1-1.full"]


def test_small_deltas_are_merged_so_that_a_chain_stays_short(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.write({"base": b"x" * 10_000_000})
    expected: dict[str, object] = {"base": b"x" * 10_000_000}
    longest = 0
    for number in range(1500):
        changed: dict[str, object] = {f"key-{number % 97}": number, f"key-{number % 89 + 5}": DELETED}
        slot.write(changed)
        expected |= changed
        longest = max(longest, len(slot.chain))
    assert slot.chain[0].path.endswith("/0-1.full")
    assert longest <= 4 * FAN_IN
    assert state_of(tmp_path, slot.chain) == {key: value for key, value in expected.items() if value is not DELETED}
    assert batches(slot.store.read(slot.chain))[-1] == 1500


def test_a_full_version_follows_a_chain_of_many_large_deltas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.task.version_chains._MERGED_BYTES", 0)
    slot = Slot(tmp_path)
    slot.write(10_000_000)
    lengths = [len(slot.write({"x": number})) for number in range(MAX_FILES + 1)]
    assert lengths == [*range(2, MAX_FILES + 2), 1]


def test_bytes_of_state_are_counted_by_operator(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    (file,) = slot.write(1000)
    assert 1000 < file.state_sizes["o"] < file.size == (tmp_path / file.path).stat().st_size


def test_a_file_that_is_missing_is_an_error_with_its_name(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    for size in (1000, 0, 0):
        slot.write(size)
    (tmp_path / slot.chain[1].path).unlink()
    with pytest.raises(StateFileError, match=r"0/0/1-1\.delta is missing"):
        list(slot.store.read(slot.chain))


def test_a_version_of_a_try_is_written_by_one_process_only(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.write(1000)
    before = (tmp_path / slot.chain[0].path).read_bytes()
    other = Slot(tmp_path)
    other.run, other.chain = slot.run, ()
    with pytest.raises(TryIsOverError, match=r"0-1\.full exists"):
        other.store.check_try(0, BatchTry(slot.run, 0))
    with pytest.raises(TryIsOverError):
        other.write(5)
    assert (tmp_path / slot.chain[0].path).read_bytes() == before
    other.store.check_try(0, BatchTry(slot.run, 0, 2))


def test_leftovers_of_another_try_are_not_part_of_a_version(tmp_path: Path) -> None:
    """A slot that was presumed dead continues to write deltas next to those of its successor."""
    slot, zombie = Slot(tmp_path), Slot(tmp_path)
    zombie.run = slot.run
    parent = slot.write({"base": "x" * 1000})
    zombie.chain, zombie.batch = parent, 0
    zombie.write({"of": "the zombie"}, number=1)
    slot.write({"of": "the slot"}, number=2)
    slot.write({"more": 1})
    assert slot.names == ["0-1.full", "1-2.delta", "2-1.delta"]
    assert state_of(tmp_path, slot.chain) == {"base": "x" * 1000, "of": "the slot", "more": 1}


def test_nothing_is_left_of_a_version_that_could_not_be_written(tmp_path: Path) -> None:
    def fail(full: bool) -> Iterator[Frame]:
        yield "v", "o", b"half"
        raise OSError("no space left on device")

    slot = Slot(tmp_path)
    with pytest.raises(StateFileError, match=r"0-1\.full can.t be written: no space"):
        slot.store.write(0, BatchTry(slot.run, 0), (), fail)
    assert list((tmp_path / "versions-1/0/0").iterdir()) == []


def test_a_run_whose_directory_was_removed_cannot_write(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.write(10)
    shutil.rmtree(tmp_path / "versions-1")
    slot.chain = ()
    with pytest.raises(FileNotFoundError, match="versions-1 does not exist"):
        slot.write(10)
    assert not (tmp_path / "versions-1").exists()


def test_each_run_has_a_number_of_its_own_while_the_job_exists(tmp_path: Path) -> None:
    assert [claim_run(tmp_path), claim_run(tmp_path)] == [1, 2]
    shutil.rmtree(tmp_path / "versions-1")
    assert claim_run(tmp_path) == 3
    shutil.rmtree(tmp_path)
    with pytest.raises(FileNotFoundError):
        claim_run(tmp_path)


def test_a_checkpoint_syncs_new_files_of_each_stage_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(tmp_path)
    slot.write(1000)
    slot.write({})
    synced: list[str] = []
    monkeypatch.setattr(
        "firesteel.task.version_store.sync_file", lambda path: synced.append(str(path.relative_to(tmp_path)))
    )
    slot.store.make_durable(0, slot.chain)
    assert set(synced) == {file.path for file in slot.chain}
    slot.store.make_durable(1, ())
    synced.clear()
    slot.write({})
    slot.store.make_durable(0, slot.chain)
    assert synced == [slot.chain[-1].path]


def test_linked_files_outlive_the_ones_of_the_job(tmp_path: Path) -> None:
    job, savepoint = tmp_path / "job", tmp_path / "savepoint"
    job.mkdir()
    slot = Slot(job)
    slot.write({"a": "x" * 1000})
    slot.write({"b": 2})
    linked = copy_chain(job, savepoint, slot.chain)
    shutil.rmtree(job)
    assert state_of(savepoint, linked) == {"a": "x" * 1000, "b": 2}
    assert [file.path for file in linked] == ["versions/0/0/0-0-1.full", "versions/0/0/1-1-1.delta"]
    assert all(isinstance(file, VersionFile) and file.state_sizes for file in linked)
