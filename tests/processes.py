"""Processes and their children, as Linux knows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def children(process: int) -> list[int]:
    """Return the children of a process; none if it has ended."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):  # Threads end while one looks.
                found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def thread_names(process: int) -> list[str]:
    """Return the names of a process's threads, of at most 15 bytes each; none if it has ended."""
    found: list[str] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found.append((thread / "comm").read_text().rstrip("\n"))
    return found


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
