"""Standard output and error of Spark's Python workers while they run functions of users.

Spark itself appends them to the log of its JVM, where no user looks. With a local Spark they go through pipes to the
process that runs the job, as the output of slot processes does. An executor has a TaskManager beside it, whose log they
join: `firesteel logs` shows it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

__all__ = ["LOG_FILE", "shown"]

LOG_FILE = "task-manager.log"
"""The log of a TaskManager in the working directory of its executor."""

_STREAMS = (1, 2)


class _Shown:
    """The streams of this worker, which several stages of one task may share, each within its own generator."""

    def __init__(self) -> None:
        self.users = 0
        self.kept: list[int] = []

    def begin(self, paths: Sequence[str]) -> None:
        self.users += 1
        if self.users > 1:
            return
        _flush()
        self.kept = [os.dup(number) for number in _STREAMS]
        for path, number in zip(paths, _STREAMS, strict=True):
            # Without a reader this raises: the job has ended, and its worker is about to.
            with suppress(OSError):
                _point(number, path)
        for stream in (sys.stdout, sys.stderr):
            # Lines in one piece: several workers print to the same terminal or file.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(line_buffering=True, write_through=False)

    def end(self) -> None:
        self.users -= 1
        if self.users:
            return
        _flush()
        for kept, number in zip(self.kept, _STREAMS, strict=True):
            os.dup2(kept, number)
            os.close(kept)


_shown = _Shown()


def _point(number: int, path: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    # Only to open it must not block (there may be no reader); writes must wait for a slow one.
    os.set_blocking(opened, True)
    os.dup2(opened, number)
    os.close(opened)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # Nobody reads it any more, or the function has closed it.
            stream.flush()


@contextmanager
def shown(paths: Sequence[str]) -> Iterator[None]:
    """Let what is printed in this worker, or by its child processes, go to these files or pipes.

    Args:
        paths: Those of standard output and standard error, which exist.
    """
    _shown.begin(paths)
    try:
        yield
    finally:
        _shown.end()
