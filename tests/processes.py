"""Processes and their children, as Linux knows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def children(process: int) -> list[int]:
    """Return the children of a process; none if it has ended."""
    return [int(child) for text in _of_threads(process, "children") for child in text.split()]


def thread_names(process: int) -> list[str]:
    """Return the names of a process's threads, of at most 15 bytes each; none if it has ended."""
    return [text.rstrip("\n") for text in _of_threads(process, "comm")]


def _of_threads(process: int, file: str) -> Iterator[str]:
    """Yield what a file says of each thread of a process."""
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):  # Threads end while one looks.
                yield (thread / file).read_text()


def processes_below(process: int) -> Iterator[int]:
    """Yield a process, its children and theirs."""
    yield process
    for child in children(process):
        yield from processes_below(child)


def command_line(process: int) -> str:
    """Return the command line of a process; an empty one if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""
