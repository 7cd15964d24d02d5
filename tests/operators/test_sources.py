from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.connectors.files import splits as file_splits
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileEnumeratorProvider, FileSource, StreamFormat
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import Source, SourceSplit
from firesteel.functions.source_reading import SourceReader, SourceReaderContext
from firesteel.functions.splits import Known, SplitRange
from firesteel.operators.sources.described_source import CollectionSource
from firesteel.testing import run_local


def read(source: Any, parallelism: int, step: int) -> dict[int, list[Any]]:
    """All elements by subtask, read in ranges of `step` units."""
    reader = source.create_reader(SourceReaderContext(0, {}))
    found: dict[int, list[Any]] = {}
    for split in source.create_enumerator({}).discover(parallelism, Known())[0]:
        for start in range(split.start, split.end, split.end if split.is_whole else step):
            part = SplitRange(split, start, split.end if split.is_whole else min(start + step, split.end))
            for chunk in reader.read(part):
                found.setdefault(split.subtask_index, []).extend(chunk)
    return found


def test_numbers_are_split_into_nearly_equal_runs() -> None:
    assert read(NumberSequenceSource(1, 10), 4, 2) == {0: [1, 2], 1: [3, 4], 2: [5, 6, 7], 3: [8, 9, 10]}


def test_fewer_numbers_than_subtasks_leave_some_subtasks_without_numbers() -> None:
    assert read(NumberSequenceSource(5, 6), 4, 100) == {2: [5], 3: [6]}


def test_collection_is_read_by_one_subtask() -> None:
    assert read(CollectionSource((1, 2, 3)), 1, 2) == {0: [1, 2, 3]}


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


def lines_of(path: Path, charset: str, step: int) -> list[str]:
    text_format = StreamFormat.text_line_format(charset)
    return read(FileSource.for_record_stream_format(text_format, str(path)).build(), 1, step).get(0, [])


AS_JAVA: list[tuple[str, str, list[str]]] = [
    ("UTF-8", "61 0d 62 0d 0a 63 0a 0d 64 0d", ["a", "b", "c", "", "d"]),
    ("UTF-8", "0d 0d 0a 0a", ["", "", ""]),
    ("UTF-8", "61 e2 80 a8 62 0c 63 c2 85 64", ["a\u2028b\x0cc\x85d"]),
    ("UTF-8", "ef bb bf 61 0a 62", ["\ufeffa", "b"]),
    ("UTF-8", "61 ed a0 80 62 ed a0 63 ed b0", ["a\ufffdb\ufffdc\ufffd"]),
    (
        "UTF-8",
        "61 c0 80 62 e0 80 63 f4 90 80 80 64 f0 9f 98",
        ["a\ufffd\ufffdb\ufffd\ufffdc" + 4 * "\ufffd" + "d\ufffd"],
    ),
    ("ISO-8859-1", "e9 0d 85 0a", ["\xe9", "\x85"]),
    ("US-ASCII", "61 e9 0a", ["a\ufffd"]),
    ("windows-1252", "80 81 0d 0a 61", ["\u20ac\ufffd", "a"]),
    ("UTF-16", "fe ff 00 61 00 0d 00 0a 0a 0a", ["a", "\u0a0a"]),
    ("UTF-16", "ff fe 61 00 0a 00 0a 0a", ["a", "\u0a0a"]),
    ("UTF-16", "00 61 00 0d 00 62", ["a", "b"]),
    ("UTF-16LE", "ff fe 61 00 0a 00", ["\ufeffa"]),
    ("UTF-16BE", "d8 00 00 61 00 62 de 00 00 63", ["\ufffdb\ufffdc"]),
    ("UTF-32", "00 00 00 61 00 00 00 0d 00 00 0d 0a", ["a", "\u0d0a"]),
    ("UTF-32LE", "ff fe 00 00 61 00 00 00", ["a"]),
    ("IBM037", "81 25 82", ["a", "b"]),
    ("GBK", "a1 a1 0a 81", ["\u3000", "\ufffd"]),
]
"""The output of a BufferedReader over an InputStreamReader in Java 17."""


@pytest.mark.parametrize("step", [1, 2, 3, 1000])
@pytest.mark.parametrize(("charset", "data", "expected"), AS_JAVA)
def test_text_is_read_as_java_reads_it(charset: str, data: str, expected: list[str], step: int, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(bytes.fromhex(data))
    assert lines_of(path, charset, step) == expected


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_longer_than_any_block_stay_whole(end: str, tmp_path: Path) -> None:
    lines = [character * size for character, size in (("a", 1), ("b", 700_000), ("", 0), ("c", 300_000), ("d", 2))]
    (tmp_path / "file.txt").write_bytes(end.join(lines).encode())
    for step in (1_000_000, 262_144, 100_001):
        assert lines_of(tmp_path, "UTF-8", step) == lines


COMPRESS: dict[str, Any] = {
    ".gz": gzip.compress,
    ".gzip": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".deflate": zlib.compress,
}


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("charset", ["UTF-8", "UTF-16"])
def test_compressed_files_are_read_by_their_extension(suffix: str, charset: str, tmp_path: Path) -> None:
    text = "\u00e4" * 100_000 + "\r\nb\rc"
    (tmp_path / f"file{suffix}").write_bytes(COMPRESS[suffix](text.encode(charset)))
    assert lines_of(tmp_path, charset, 1000) == ["\u00e4" * 100_000, "b", "c"]


def test_compression_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b"x")
    with pytest.raises(NotImplementedError, match=r"a\.zst.* may end with \.gz"):
        lines_of(tmp_path, "UTF-8", 1)


@pytest.mark.parametrize(
    ("charset", "enumerator", "pieces"),
    [
        ("UTF-8", None, 3),
        ("windows-1252", FileEnumeratorProvider.default_splittable_file_enumerator(), 3),
        ("UTF-8", FileEnumeratorProvider.default_non_splittable_file_enumerator(), 1),
        ("UTF-16", None, 1),
        ("Shift_JIS", None, 1),
    ],
)
def test_large_files_are_split_where_possible_and_configured(
    charset: str, enumerator: Any, pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_splits, "_FILE_SPLIT_BYTES", 1000)
    (tmp_path / "a.txt").write_bytes(b"x" * 2500)
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset), str(tmp_path))
    if enumerator is not None:
        builder = builder.set_file_enumerator(enumerator)
    source = builder.build()
    splits, _ = source.create_enumerator({}).discover(2, Known())
    assert [(split.start, split.end) for split in splits][-1][1] == 2500
    assert len(splits) == pieces
    assert all(split.end - split.start == -(-2500 // pieces) for split in splits[:-1])


def test_subtasks_get_about_the_same_number_of_bytes(tmp_path: Path) -> None:
    sizes = {"a": 900, "b": 300, "c": 500, "d": 0, "e": 200, "f": 100}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    splits, _ = source.create_enumerator({}).discover(2, Known())
    assert [(Path(split.path).name, split.subtask_index) for split in splits] == [
        ("a", 0),
        ("b", 1),
        ("c", 1),
        ("e", 1),
        ("f", 0),
    ]


class JdbcSource(Source[int]):
    """A user's source under the name of one of ours."""

    def discover_splits(self) -> list[SourceSplit]:
        return [SourceSplit("all", 5)]

    def read_split(self, split_id: str, start: int, end: int) -> range:
        return range(start, end)


class EvenNumbers(NumberSequenceSource):
    """A user's subclass of one of our sources."""

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        return _Even()


class _Even(SourceReader):
    def read(self, part: SplitRange) -> Iterator[list[int]]:
        yield [number for number in range(part.start, part.end) if number % 2 == 0]


@pytest.mark.parametrize(("source", "found"), [(JdbcSource(), [0, 1, 2, 3, 4]), (EvenNumbers(1, 6), [2, 4, 6])])
def test_users_sources_come_through_the_door_of_ours(source: Any, found: list[int]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "own", Types.LONG()).collect_async()
    assert run_local(env).elements == found


def test_a_missing_path_is_named_and_a_relative_one_with_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, message in (
        ("in.csv", f"input path 'in.csv' does not exist; the current directory is {tmp_path}$"),
        ("/nope/in.csv", "input path '/nope/in.csv' does not exist$"),
    ):
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
        with pytest.raises(InvalidProgramError, match=message):
            source.create_enumerator({}).discover(1, Known())
