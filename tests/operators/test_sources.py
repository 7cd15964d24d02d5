from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.sources import SplitRange, kind_of


def read(source: Any, parallelism: int, step: int) -> dict[int, list[Any]]:
    """All elements by subtask, read in ranges of `step` units."""
    kind = kind_of(source)
    found: dict[int, list[Any]] = {}
    for split in kind.discover(source, parallelism):
        for start in range(0, split.length, step):
            part = SplitRange(split, start, min(start + step, split.length))
            for chunk in kind.read(source, part):
                found.setdefault(split.subtask_index, []).extend(chunk)
    return found


def test_numbers_are_split_into_nearly_equal_runs() -> None:
    assert read(NumberSequenceSource(1, 10), 4, 2) == {0: [1, 2], 1: [3, 4], 2: [5, 6, 7], 3: [8, 9, 10]}


def test_fewer_numbers_than_subtasks_leave_some_without() -> None:
    assert read(NumberSequenceSource(5, 6), 4, 100) == {2: [5], 3: [6]}


def test_collection_is_read_by_one_subtask() -> None:
    assert read((1, 2, 3), 1, 2) == {0: [1, 2, 3]}


def text_source(*paths: Path) -> Any:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *map(str, paths)).build()


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize("text", ["a\nbb\n\nccc\n", "a\nbb\n\nccc", "\n\n", "one line", "äöü\r\nx\r\n"])
def test_each_line_is_read_once_however_the_file_is_cut(text: str, step: int, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(text.encode())
    found = read(text_source(path), 1, step).get(0, [])
    assert found == text.replace("\r", "").removesuffix("\n").split("\n") or (text == "\n\n" and found == ["", ""])


def test_compressed_and_nested_files_are_read_and_hidden_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.txt").write_text("b\n")
    (tmp_path / ".hidden").write_text("no\n")
    (tmp_path / "_SUCCESS").write_text("no\n")
    with gzip.open(tmp_path / "a.gz", "wt") as file:
        file.write("a\naa\n")
    assert read(text_source(tmp_path), 2, 1000) == {0: ["a", "aa"], 1: ["b"]}
