"""Output of child processes on a terminal that this process draws on, too."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TextIO

__all__ = ["ForwardedOutput"]

_END_S = 1.0


class ForwardedOutput:
    """Reads what a child prints, and prints it here: above a line of progress, which a child would write into.

    Streams that are no terminal are inherited, so a child that is alone with a file or pipe keeps it.

    Attributes:
        streams: The arguments `stdout` and `stderr` of `Popen`.
    """

    def __init__(self) -> None:
        self.streams = {name: subprocess.PIPE for name, stream in _STREAMS.items() if _is_terminal(stream())}
        self._threads: list[threading.Thread] = []

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Forward the output of a process that was started with these streams, until it and its children end."""
        for name in self.streams:
            pipe = process.stdout if name == "stdout" else process.stderr
            assert pipe is not None
            thread = threading.Thread(target=_forward, args=(pipe.fileno(), pipe, _STREAMS[name]), daemon=True)
            thread.start()
            self._threads.append(thread)

    def join(self) -> None:
        """Wait, after the end of the process, until the rest is printed."""
        for thread in self._threads:
            thread.join(_END_S)


# Looked up for each piece of output, since a display of progress replaces them while it is shown.
_STREAMS: dict[str, Callable[[], TextIO | None]] = {"stdout": lambda: sys.stdout, "stderr": lambda: sys.stderr}


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _forward(descriptor: int, pipe: object, stream: Callable[[], TextIO | None]) -> None:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while data := os.read(descriptor, 1 << 16):
        target = stream()
        if target is not None:
            target.write(decode(data))
            target.flush()
