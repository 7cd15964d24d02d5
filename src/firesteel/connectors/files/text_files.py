"""Text as Flink's file sources read it: Java's line ends and decoding, and decompression by file extension.

Flink: `TextLineInputFormat`, a `BufferedReader` over an `InputStreamReader`. A line feed, a carriage return, or both
end a line, and malformed bytes become U+FFFD where Java's decoders put one.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import IO, Any, TextIO

from firesteel.common.files.file_systems import LOCAL_FILES, Files
from firesteel.common.values.java_charset import AS_JAVA, BYTE_ORDER_MARKS

_BLOCK_BYTES = 256 * 1024
_PIECE_BYTES = 16 * 1024
_REMOTE_BLOCK_BYTES = 4 << 20


# --- files ----------------------------------------------------------------------------------------------------------


class _Inflated(io.RawIOBase):
    """The content of a file in zlib format (Flink: `DeflateInflaterInputStreamFactory`)."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._inflate = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._inflate.eof:
            data = self._inflate.unconsumed_tail or self._file.read(_PIECE_BYTES)
            if not data:
                raise EOFError("the compressed file ended before its end-of-stream marker was reached")
            if content := self._inflate.decompress(data, len(buffer)):
                buffer[: len(content)] = content
                return len(content)
        return 0

    def close(self) -> None:
        self._file.close()
        super().close()


def _opened(file: str | IO[bytes]) -> IO[bytes]:
    return open(file, "rb") if isinstance(file, str) else file


_OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".deflate": lambda file: io.BufferedReader(_Inflated(_opened(file))),
}
_UNREADABLE = (".zst", ".zstd")


def is_compressed(path: str) -> bool:
    """Return whether a file is compressed, by its extension.

    Raises:
        NotImplementedError: Flink can read the compression, and Python's standard library cannot.
    """
    suffix = PurePath(path).suffix
    if suffix in _UNREADABLE:
        readable = ", ".join(_OPENERS)
        raise NotImplementedError(f"FileSource: cannot read {path!r}: compressed files may end with {readable}")
    return suffix in _OPENERS


def open_decompressed(path: str, files: Files, block_bytes: int = _REMOTE_BLOCK_BYTES) -> IO[bytes]:
    """Open a file for reading its decompressed bytes; remote files are fetched in blocks of `block_bytes`."""
    opener = _OPENERS.get(PurePath(path).suffix)
    return files.open(path, block_bytes) if opener is None else opener(files.input(path))


# --- decoding -------------------------------------------------------------------------------------------------------


@cache
def is_line_splittable(charset: str) -> bool:
    """Return whether bytes 10 and 13 always end a line, so that a file can be read from any position."""
    name = codecs.lookup(charset).name
    if name in ("utf-8", "ascii", "iso8859-1"):
        return True
    try:
        table = getattr(import_module(f"encodings.{name.replace('-', '_')}"), "decoding_table", "")
    except ImportError:
        return False
    return [table.find("\n"), table.find("\r"), table.count("\n"), table.count("\r")] == [10, 13, 1, 1]


def open_text(path: str, charset: str, newline: str | None, files: Files = LOCAL_FILES) -> TextIO:
    """Open a file, compressed or not, as text decoded like in Java.

    Args:
        path: The file.
        charset: Name of the character set.
        newline: As for `open()`; None translates all line ends to line feeds.
        files: Opens the file.
    """
    name = codecs.lookup(charset).name
    with ExitStack() as opened:
        file = opened.enter_context(open_decompressed(path, files))
        buffered = io.BufferedReader(file)  # type: ignore[type-var]
        head = buffered.peek(4)
        for mark, order in BYTE_ORDER_MARKS.get(name, ()):
            if head.startswith(mark):
                buffered.read(len(mark))
                name = order
                break
        opened.pop_all()
        return io.TextIOWrapper(buffered, encoding=name, errors=AS_JAVA, newline=newline)


# --- lines ----------------------------------------------------------------------------------------------------------


def read_lines(path: str, charset: str, start: int, end: int, files: Files = LOCAL_FILES) -> Iterator[list[str]]:
    """Yield the lines that begin in a range of bytes, wherever they end.

    A compressed file, and one whose charset has no bytes that end lines, is read to its end.
    """
    if not is_line_splittable(charset):
        yield from _decoded_lines(path, charset, files)
        return
    # Only the range and the end of its last line are fetched from a remote file.
    block_bytes = min(max(end - start, 0) + _PIECE_BYTES, _REMOTE_BLOCK_BYTES)
    with open_decompressed(path, files, block_bytes) as file:
        yield from _lines_of_range(file, start, sys.maxsize if is_compressed(path) else end, charset)


def _decoded_lines(path: str, charset: str, files: Files) -> Iterator[list[str]]:
    with open_text(path, charset, newline=None, files=files) as file:
        while lines := file.readlines(_BLOCK_BYTES):
            yield [line.removesuffix("\n") for line in lines]


def _lines_of_range(file: IO[bytes], start: int, end: int, charset: str) -> Iterator[list[str]]:
    reader, position = _LineReader(file), start
    if start > 0:
        file.seek(start - 1)
        position += len(reader.rest_of_line(reader.read(1)))
    while position < end and (block := reader.read(min(_BLOCK_BYTES, end - position))):
        block += reader.rest_of_line(block)
        position += len(block)
        yield _lines_of(block.decode(charset, AS_JAVA))


def _lines_of(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


class _LineReader:
    """A reader of bytes that can extend a chunk to the end of its last line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ahead = b""

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes; none at the end of the file."""
        if not self._ahead:
            return self._file.read(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def rest_of_line(self, data: bytes) -> bytes:
        """Return the rest of the last line of `data`, the chunk that was read just before."""
        if data.endswith(b"\n"):
            return b""
        pieces: list[bytes] = []
        while not data.endswith((b"\n", b"\r")) and (data := self.read(_PIECE_BYTES)):
            ends = [place + 1 for mark in (b"\n", b"\r") if (place := data.find(mark)) >= 0]
            if ends:
                self._ahead = data[min(ends) :] + self._ahead
                data = data[: min(ends)]
            pieces.append(data)
        if data.endswith(b"\r"):
            pieces.append(self._newline())
        return b"".join(pieces)

    def _newline(self) -> bytes:
        """Return the line feed after a carriage return, if there is one."""
        following = self.read(1)
        if following != b"\n":
            self._ahead = following + self._ahead
            return b""
        return following
