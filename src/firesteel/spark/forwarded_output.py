"""Output of child processes on a terminal that this process draws on, too."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, TextIO

__all__ = ["ForwardedOutput"]

_END_S = 1.0


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
        # Streams are looked up for each piece, since a display of progress replaces them while it is shown.
        pairs: list[tuple[IO[bytes] | None, Callable[[], TextIO | None]]] = [
            (process.stdout, lambda: sys.stdout),
            (process.stderr, lambda: sys.stderr),
        ]
        for pipe, stream in pairs:
            if pipe is not None:
                thread = threading.Thread(target=_forward, args=(pipe, stream), daemon=True)
                thread.start()
                self._threads.append(thread)

    def join(self) -> None:
        """Wait, after the end of the process, until the rest is printed."""
        for thread in self._threads:
            thread.join(_END_S)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _forward(pipe: IO[bytes], stream: Callable[[], TextIO | None]) -> None:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with pipe:
        while data := os.read(pipe.fileno(), 1 << 16):
            target = stream()
            if target is not None:
                target.write(decode(data))
                target.flush()
