"""Output of other processes of this machine, shown by this one, which may draw on the same terminal."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TextIO

from firesteel.spark.temporary_directory import TemporaryDirectory

__all__ = ["ForwardedOutput", "OutputPipes"]

_END_S = 1.0
_STREAMS: tuple[Callable[[], TextIO | None], ...] = (lambda: sys.stdout, lambda: sys.stderr)
"""Looked up for each piece, since a display of progress replaces them while it is shown."""


class ForwardedOutput:
    """Reads what a child prints, and prints it here: above a line of progress, which a child would write into.

    Streams that are no terminal are inherited, so a child that is alone with a file or pipe keeps it.

    Attributes:
        stdout: The argument of `Popen` with this name.
        stderr: The argument of `Popen` with this name.
    """

    def __init__(self) -> None:
        self.stdout = subprocess.PIPE if _is_terminal(sys.stdout) else None
        self.stderr = subprocess.PIPE if _is_terminal(sys.stderr) else None
        self._threads: list[threading.Thread] = []

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Forward the output of a process that was started with these streams, until it and its children end."""
        pipes = (process.stdout, process.stderr)
        self._threads = [_begin(pipe, stream) for pipe, stream in zip(pipes, _STREAMS, strict=True) if pipe is not None]

    def join(self) -> None:
        """Wait, after the end of the process, until the rest is printed."""
        for thread in self._threads:
            thread.join(_END_S)


class OutputPipes:
    """Two named pipes, for processes that are not children of this one: what is written there is printed here.

    Args:
        temporary: The configured directory for temporary files; None for that of the system.

    Attributes:
        paths: The paths of the pipes, for standard output and standard error.
    """

    def __init__(self, temporary: str | None) -> None:
        self._directory = TemporaryDirectory("output", temporary)
        self.paths = tuple(str(self._directory.path / name) for name in ("stdout", "stderr"))
        self._own: list[int] = []
        self._threads: list[threading.Thread] = []
        for path, stream in zip(self.paths, _STREAMS, strict=True):
            os.mkfifo(path, 0o600)
            # An end for writing is open here until `close`: without one, reading ends while nobody else has it open.
            reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            self._own.append(os.open(path, os.O_WRONLY))
            os.set_blocking(reading, True)
            self._threads.append(_begin(os.fdopen(reading, "rb"), stream))

    def close(self) -> None:
        """Wait until all is printed that was written, and remove the pipes."""
        for path in self.paths:
            Path(path).unlink(missing_ok=True)  # Nobody opens them any more.
        while self._own:
            os.close(self._own.pop())
        for thread in self._threads:
            thread.join(_END_S)
        self._directory.remove()


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _begin(pipe: IO[bytes], stream: Callable[[], TextIO | None]) -> threading.Thread:
    thread = threading.Thread(target=_forward, args=(pipe, stream), name="forwarded-output", daemon=True)
    thread.start()
    return thread


def _forward(pipe: IO[bytes], stream: Callable[[], TextIO | None]) -> None:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with pipe:
        while data := os.read(pipe.fileno(), 1 << 16):
            target = stream()
            if target is None:
                continue
            try:
                target.write(decode(data))
                target.flush()
            except (BrokenPipeError, ValueError):  # Nobody reads it; with this pipe closed, its writers learn it, too.
                return
