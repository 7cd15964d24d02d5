"""Standard output that nobody reads any more, as behind `| head`."""

from __future__ import annotations

import os
import select
import sys

from firesteel.errors import FiresteelError

__all__ = ["OUTPUT_CLOSED", "OutputClosedError", "discard_output", "is_of_closed_output"]

OUTPUT_CLOSED = 128 + 13
"""The exit code of a process that SIGPIPE ends, as of most programs in front of `| head`."""


class OutputClosedError(FiresteelError):
    """Nobody reads what the job prints any more, so that it can't go on; a restart does not help."""


def is_of_closed_output(error: BaseException) -> bool:
    """Return whether an error says that nobody reads standard output any more."""
    if not isinstance(error, BrokenPipeError):
        return False
    output = select.poll()
    try:
        sys.stdout.flush()
        output.register(sys.stdout.fileno(), 0)
    except BrokenPipeError:
        return True
    except OSError:  # It has no descriptor: a program has replaced it.
        return False
    return bool(output.poll(0))  # of errors only: with unbuffered output there is nothing to flush


def discard_output() -> None:
    """Let nothing be written at the end of the process, where Python complains of a closed output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
