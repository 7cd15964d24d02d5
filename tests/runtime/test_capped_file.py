from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.runtime import capped_file
from firesteel.runtime.capped_file import CappedFile

WRITER = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capped_file, "_LARGEST_FILE", 10)


def test_a_process_continues_to_write_to_a_rotated_file(tmp_path: Path) -> None:
    path = tmp_path / "jobmanager.out"
    capped = CappedFile(path)
    with path.open("ab") as out:
        writer = subprocess.Popen([sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=out, text=True)
    assert writer.stdin is not None
    for number in range(3):
        writer.stdin.write(f"line {number} is long\n")
        writer.stdin.flush()
        while not path.exists() or path.read_text() != f"line {number} is long\n":
            pass
        capped.put_aside_if_large()
        assert path.read_text() == ""
        assert (tmp_path / "jobmanager.out.1").read_text() == f"line {number} is long\n"
    writer.stdin.close()
    writer.wait()
    capped.close()
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "jobmanager.out.1"]


def test_a_small_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "jobmanager.out"
    path.write_text("ten bytes.")
    CappedFile(path).put_aside_if_large()
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_emptied_even_if_it_cannot_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "jobmanager.out"
    path.write_text("more than ten bytes")
    (tmp_path / "jobmanager.out.1").mkdir()
    CappedFile(path).put_aside_if_large()
    assert path.read_text() == ""


def test_the_file_is_capped_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capped_file, "_LOOK_S", 0.001)
    path = tmp_path / "jobmanager.out"
    capped = CappedFile(path)
    path.write_text("more than ten bytes")
    while path.stat().st_size:
        pass
    capped.close()
