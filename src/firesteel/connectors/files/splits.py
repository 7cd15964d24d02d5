"""Files as splits: the discovery of a `FileSource`'s files, their division into splits, and their readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from firesteel.common.files.file_systems import Files
from firesteel.common.files.local_path import local_path
from firesteel.connectors.files.text_files import is_compressed, is_line_splittable, open_text, read_lines
from firesteel.connectors.formats.avro.files import read_avro
from firesteel.connectors.formats.csv.file_schema import CsvReaderFormat
from firesteel.connectors.formats.csv.files import read_csv
from firesteel.connectors.formats.parquet.files import read_parquet, read_parquet_records
from firesteel.errors import InvalidProgramError
from firesteel.functions.source_reading import SourceEnumerator, SourceReader
from firesteel.functions.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange, deal_evenly

_FILE_SPLIT_BYTES = 64 * 1024 * 1024
_HIDDEN = re.compile("/[._]")


class FileEnumerator(SourceEnumerator):
    """The enumerator that discovers the files of a source (Flink: `FileEnumerator`).

    Args:
        source: The source.
        configuration: Of the job.
    """

    def __init__(self, source: Any, configuration: Mapping[str, str]) -> None:
        self._settings = source.settings
        self._files = Files(configuration)
        interval = self._settings.discovery_interval
        self.rediscover_ms = None if interval is None else max(1, interval.to_millis())

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return splits of the files not yet known by path, and the known files that still exist.

        A large file is divided into equal splits of at most 64 MiB if its lines can be found from any position and the
        source does not ask for whole files. Compressed files and files of other formats are read whole. An empty file
        is checked again the next time. Each split goes to the subtask that has the fewest bytes so far.

        Raises:
            InvalidProgramError: a path does not exist.
            NotImplementedError: there is no reader for the format, or for the compression of a file.
            RemoteFileError: a file system can't list a path.
        """
        settings = self._settings
        name = settings.format.format_name
        if name not in _FILE_READERS:
            raise NotImplementedError(
                f"FileSource: no reader for format {name!r}; there are {', '.join(_FILE_READERS)}"
            )
        has_positions = _has_positions(settings.format)
        is_cut = settings.file_enumerator is None or settings.file_enumerator.splittable
        splits: list[Split] = []
        still_there: set[str] = set()
        for text in settings.paths:
            for path, size in self._files_below(text, known.is_first):
                if settings.path_filter is not None and not settings.path_filter(path):
                    continue
                if path in known.keys:
                    still_there.add(path)
                else:
                    is_whole = is_compressed(path) or not has_positions
                    step = _FILE_SPLIT_BYTES if is_cut and not is_whole else None
                    splits += _splits_of(path, size, is_whole, step)
        return deal_evenly(splits, parallelism), still_there

    def _files_below(self, text: str, is_first: bool) -> Iterator[tuple[str, int | None]]:
        """Yield the files to read below a path, with sizes where they are known.

        A prefix of an object store exists as long as there are objects below it, so it may vanish while it is
        monitored.
        """
        text = self._files.resolve(text)
        remote = self._files.remote(text)
        if remote is not None:
            found = remote.files_below(text)
            if not found and is_first:
                raise InvalidProgramError(f"FileSource: input path {text!r} does not exist")
            below = len(text.rstrip("/"))
            yield from ((path, size) for path, size in found if _HIDDEN.search(path, below) is None)
            return
        root = local_path(text)
        if not root.exists():
            place = "" if root.is_absolute() else f"; the current directory is {Path.cwd()}"
            raise InvalidProgramError(f"FileSource: input path {text!r} does not exist{place}")
        yield from ((str(path), None) for path in local_files_below(root))


def _has_positions(file_format: Any) -> bool:
    """Return whether a file can be read from any line on."""
    if file_format.format_name == "text_line":
        return is_line_splittable(file_format.charset_name)
    return bool(getattr(file_format, "is_line_splittable", False))


def local_files_below(path: Path) -> Iterator[Path]:
    """Yield all files to read in a fixed order; as in Flink, names that begin with `.` or `_` are hidden."""
    if path.is_file():
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith((".", "_")):
            yield from local_files_below(child)


def _splits_of(path: str, size: int | None, is_whole: bool, most_bytes: int | None) -> Iterator[Split]:
    size = Path(path).stat().st_size if size is None else size
    pieces = 1 if most_bytes is None else -(-size // most_bytes)
    step = -(-size // pieces) if size else 1
    for start in range(0, size, step):
        yield Split(f"{path}:{start}", 0, start, min(start + step, size), path, is_whole=is_whole)


class FileReader(SourceReader):
    """The reader of the files of a source.

    Args:
        source: The source.
        configuration: Of the job.
    """

    def __init__(self, source: Any, configuration: Mapping[str, str]) -> None:
        self._format = source.settings.format
        self._files = Files(configuration)

    def read(self, part: SplitRange) -> Iterator[list[Any]]:
        """Yield the records of a range of a file, in chunks."""
        return _FILE_READERS[self._format.format_name](self._format, part, self._files)


def _read_text(text_format: Any, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    return read_lines(part.split.path, text_format.charset_name, part.start, part.end, files)


def _read_csv_file(csv_format: CsvReaderFormat, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    path = part.split.path
    with open_text(path, csv_format.charset_name, newline="", files=files) as file:
        try:
            yield from read_csv(file, csv_format.schema, CHUNK_ELEMENTS)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def _read_avro_file(avro: Any, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    with files.open(part.split.path) as file:
        yield from read_avro(file, avro.schema, CHUNK_ELEMENTS)


def _read_parquet_file(parquet: Any, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    return read_parquet(files.input(part.split.path), parquet)


def _read_parquet_records(parquet: Any, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    return read_parquet_records(files.input(part.split.path), parquet.names, CHUNK_ELEMENTS)


def _read_columns(columns: object, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    from firesteel.connectors.files.column_files import read_columns  # needs pyarrow, which only tables do

    return read_columns(columns, part, files)


_FILE_READERS: dict[str, Callable[[Any, SplitRange, Files], Iterator[list[Any]]]] = {
    "text_line": _read_text,
    "csv": _read_csv_file,
    "avro": _read_avro_file,
    "parquet": _read_parquet_file,
    "parquet_records": _read_parquet_records,
    "columns": _read_columns,
}
