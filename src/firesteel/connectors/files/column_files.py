"""Reading of table files as column batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from firesteel.columns.batch import ColumnBatch
from firesteel.common.files.file_systems import Files
from firesteel.connectors.files.text_files import is_compressed, open_decompressed
from firesteel.functions.splits import SplitRange

_BLOCK_BYTES = 4 << 20


def read_columns(file_format: Any, part: SplitRange, files: Files) -> Iterator[list[Any]]:
    """Yield the rows of a range of a file as column batches.

    Args:
        file_format: A `firesteel.connectors.files.table_paths.ColumnsFileFormat`.
        part: The range to read; it spans all bytes if the format reads whole files.
        files: Opens the file.

    Raises:
        ValueError: a record can't be read; the text names the file.
    """
    path, reading = part.split.path, file_format.reading
    record_format = reading.format
    if record_format.is_text:
        end = part.end if file_format.is_line_splittable and not is_compressed(path) else None
        blocks = _text_blocks(record_format, path, part.start, end, files)
    else:
        blocks = record_format.read_file(path, files)
    size, modified_ms = _status(path, files) if reading.metadata else (0, 0)
    try:
        yield from reading.rows(blocks, path, size, modified_ms)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _text_blocks(record_format: Any, path: str, start: int, end: int | None, files: Files) -> Iterator[ColumnBatch]:
    with open_decompressed(path, files) as file:
        position = start
        if start > 0:
            # A line that straddles the start of the range belongs to the previous range.
            file.seek(start - 1)
            position += len(file.readline()) - 1
        elif record_format.skips_first_line:
            position += len(file.readline())
        while end is None or position < end:
            wanted = _BLOCK_BYTES if end is None else min(_BLOCK_BYTES, end - position)
            data = _whole_lines(file, wanted, record_format.quote)
            if not data:
                return
            position += len(data)
            yield record_format.decode_block(data)


def _whole_lines(file: IO[bytes], size: int, quote: bytes | None) -> bytes:
    """Read about `size` bytes, up to the end of a line that is not within quotes."""
    data = file.read(size)
    if data and not data.endswith(b"\n"):
        data += file.readline()
    while quote is not None and data.count(quote) % 2 and (more := file.readline()):
        data += more
    return data


def _status(path: str, files: Files) -> tuple[int, int]:
    remote = files.remote(path)
    if remote is not None:
        return remote.size(path) or 0, 0
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns // 1_000_000
