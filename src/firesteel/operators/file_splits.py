"""Files as splits: which files a `FileSource` reads, in which pieces, and how their records are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from firesteel.common.local_path import local_path
from firesteel.datastream.formats.csv_schema import CsvReaderFormat
from firesteel.errors import InvalidProgramError
from firesteel.operators.avro_format import read_avro
from firesteel.operators.column_format import read_parquet, read_parquet_records
from firesteel.operators.csv_format import read_csv
from firesteel.operators.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange
from firesteel.operators.text_files import is_compressed, is_line_splittable, open_text, read_lines

_FILE_SPLIT_BYTES = 64 * 1024 * 1024


def discover_files(source: Any, parallelism: int, known: Known) -> Discovered:
    """Return the files that are not known by their paths, in pieces, and the known ones that are still there.

    A large file is cut into pieces of 64 MiB where lines can be found from anywhere in it and the source does not ask
    for whole files. Compressed files and those of other formats are read whole. An empty file is looked at again the
    next time.

    Raises:
        InvalidProgramError: a path does not exist.
        NotImplementedError: there is no reader for the format, or for the compression of a file.
    """
    settings = source.settings
    name = settings.format.format_name
    if name not in _FILE_READERS:
        raise NotImplementedError(f"FileSource: no reader for format {name!r}; there are {', '.join(_FILE_READERS)}")
    has_positions = name == "text_line" and is_line_splittable(settings.format.charset_name)
    is_cut = settings.file_enumerator is None or settings.file_enumerator.splittable
    splits: list[Split] = []
    still_there: set[str] = set()
    for text in settings.paths:
        root = local_path(text)
        if not root.exists():
            raise InvalidProgramError(f"FileSource: input path {text!r} does not exist")
        for path in map(str, _files_below(root)):
            if path in known.keys:
                still_there.add(path)
            else:
                is_whole = is_compressed(path) or not has_positions
                splits += _splits_of(path, is_whole, _FILE_SPLIT_BYTES if is_cut and not is_whole else None)
    return [split.dealt_to(i % parallelism) for i, split in enumerate(splits)], still_there


def _files_below(path: Path) -> Iterator[Path]:
    """List all files to read, in a fixed order; names that begin with `.` or `_` are hidden, as in Flink."""
    if path.is_file():
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith((".", "_")):
            yield from _files_below(child)


def _splits_of(path: str, is_whole: bool, piece_bytes: int | None) -> Iterator[Split]:
    size = Path(path).stat().st_size
    step = piece_bytes or max(size, 1)
    for start in range(0, size, step):
        yield Split(f"{path}:{start}", 0, start, min(start + step, size), path, is_whole=is_whole)


def read_files(source: Any, part: SplitRange) -> Iterator[list[Any]]:
    """Read the records of a range of a file, in chunks."""
    file_format = source.settings.format
    return _FILE_READERS[file_format.format_name](file_format, part)


def _read_text(text_format: Any, part: SplitRange) -> Iterator[list[Any]]:
    return read_lines(part.split.path, text_format.charset_name, part.start, part.end)


def _read_csv_file(csv_format: CsvReaderFormat, part: SplitRange) -> Iterator[list[Any]]:
    path = part.split.path
    with open_text(path, csv_format.charset_name, newline="") as file:
        try:
            yield from read_csv(file, csv_format.schema, CHUNK_ELEMENTS)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


_FILE_READERS: dict[str, Callable[[Any, SplitRange], Iterator[list[Any]]]] = {
    "text_line": _read_text,
    "csv": _read_csv_file,
    "avro": lambda avro, part: read_avro(part.split.path, avro.schema, CHUNK_ELEMENTS),
    "parquet": lambda parquet, part: read_parquet(part.split.path, parquet),
    "parquet_records": lambda parquet, part: read_parquet_records(part.split.path, parquet.names, CHUNK_ELEMENTS),
}


def monitoring_ms(source: Any) -> int | None:
    """Return how often a `FileSource` looks for new files (ms), None if it never does."""
    interval = source.settings.discovery_interval
    return None if interval is None else max(1, interval.to_millis())
