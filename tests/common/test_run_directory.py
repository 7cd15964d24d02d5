from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.common.files import run_directory as module
from firesteel.common.files.run_directory import (
    RUN_DIRECTORY,
    UnsafeDirectoryError,
    read_token,
    run_directory,
    write_token,
)
from firesteel.common.files.temporary_directories import private_directory


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, in which every user can create names."""
    monkeypatch.delenv(RUN_DIRECTORY, raising=False)
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_the_run_directory_is_private_to_the_user(temporary: Path) -> None:
    directory = run_directory()
    assert directory == temporary / f"firesteel-{os.getuid()}"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert run_directory() == directory


def test_a_link_is_refused(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir(0o700)
    (temporary / f"firesteel-{os.getuid()}").symlink_to(temporary / "elsewhere")
    with pytest.raises(UnsafeDirectoryError, match="it is a link or a file"):
        run_directory()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_a_directory_that_others_can_write_to_is_refused(temporary: Path, mode: int) -> None:
    run_directory().chmod(mode)
    with pytest.raises(UnsafeDirectoryError, match=f"its mode is {mode:o}"):
        run_directory()


def test_a_directory_of_another_user_is_refused(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.getuid()
    (temporary / f"firesteel-{user + 1}").mkdir(0o700)
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(UnsafeDirectoryError, match=f"it belongs to user {user}"):
        run_directory()


def test_a_directory_that_the_user_names_may_be_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "link"))
    assert run_directory() == tmp_path / "real"


def test_only_this_user_can_read_a_token(temporary: Path) -> None:
    assert read_token(8081) is None
    for token in ("first", "second"):
        path = write_token(8081, token)
        assert path.stat().st_mode & 0o777 == 0o600
        assert read_token(8081) == token
    assert read_token(8082) is None


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch])
def test_something_else_in_place_of_the_run_directory_is_refused(temporary: Path, make: Callable[[Path], None]) -> None:
    make(temporary / f"firesteel-{os.getuid()}")
    with pytest.raises(UnsafeDirectoryError, match="it is a link or a file"):
        run_directory()


def test_the_token_of_a_process_that_has_ended_is_not_used(temporary: Path) -> None:
    path = write_token(8081, "token")
    token, process_id, started = path.read_text().split()
    for others in (f"{process_id} 1", f"999999999 {started}", "", "1"):  # another process has that id by now
        path.write_text(f"{token} {others}")
        assert read_token(8081) is None


def test_a_private_directory_is_in_the_run_directory_or_where_the_option_says(temporary: Path) -> None:
    assert private_directory("jobs", {}) == run_directory() / "jobs"
    (temporary / "disk").mkdir(0o777)
    configuration = {"io.tmp.dirs": f"{temporary / 'disk'},/other"}
    found = private_directory("jobs", configuration)
    assert found == temporary / "disk" / f"firesteel-jobs-{os.getuid()}"
    assert found.stat().st_mode & 0o777 == 0o700
    found.chmod(0o777)
    with pytest.raises(UnsafeDirectoryError, match=r"its mode is 777; .* name another one in the option io\.tmp\.dirs"):
        private_directory("jobs", configuration)
