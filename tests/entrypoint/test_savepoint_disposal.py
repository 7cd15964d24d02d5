"""Files that are removed with a savepoint, and files that are not."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from firesteel.entrypoint.savepoint_disposal import SavepointDisposalError, dispose_savepoint
from firesteel.task.checkpoint_metadata import write_savepoint_metadata
from firesteel.task.state_file import StateFileError, replace_state_file
from tests.entrypoint.savepoints import savepoint_of


def savepoint(directory: Path, *files: str, is_savepoint: bool = True) -> Path:
    for name in ("versions/0/0.full", "versions/1/0.full"):
        (directory / name).parent.mkdir(parents=True)
        (directory / name).touch()
    write_savepoint_metadata(directory, savepoint_of(*files, is_savepoint=is_savepoint))
    return directory


def left(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_a_savepoint_is_removed_with_its_directories(tmp_path: Path) -> None:
    path = savepoint(tmp_path / "savepoint", "versions/0/0.full", "versions/1/0.full")
    dispose_savepoint(path)
    assert not path.exists()


def test_only_files_listed_in_the_metadata_are_removed(tmp_path: Path) -> None:
    path = savepoint(tmp_path / "savepoint", "versions/0/0.full")
    (path / "thesis.txt").touch()
    dispose_savepoint(path)
    assert left(path) == {"versions/1/0.full", "thesis.txt"}


def test_removing_a_checkpoint_keeps_shared_files(tmp_path: Path) -> None:
    path = savepoint(tmp_path / "chk-1", "versions/0/0.full", is_savepoint=False)
    dispose_savepoint(path)
    assert left(path) == {"versions/0/0.full", "versions/1/0.full"}


@pytest.mark.parametrize("name", ["../thesis.txt", "/etc/passwd", "link/thesis.txt", "versions/../../thesis.txt"])
def test_metadata_that_names_files_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "thesis.txt").touch()
    path = savepoint(tmp_path / "savepoint", "versions/0/0.full", name)
    (path / "link").symlink_to(tmp_path)
    with pytest.raises(SavepointDisposalError, match="which is elsewhere"):
        dispose_savepoint(path)
    assert (tmp_path / "thesis.txt").exists()
    assert {"_metadata", "versions/0/0.full"} <= left(path)


class Evil:
    def __reduce__(self) -> Any:
        return os.putenv, ("EVIL", "1")


@pytest.mark.parametrize(
    ("content", "message"), [(Evil(), "posix.putenv is not part of a checkpoint's metadata"), ({}, "contains a dict")]
)
def test_metadata_runs_no_code(tmp_path: Path, content: object, message: str) -> None:
    replace_state_file(tmp_path / "_metadata", [pickle.dumps(content)])
    with pytest.raises(StateFileError, match=message):
        dispose_savepoint(tmp_path)
    assert left(tmp_path) == {"_metadata"}


def test_a_directory_without_metadata_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SavepointDisposalError, match="there is no _metadata file in it"):
        dispose_savepoint(tmp_path)
