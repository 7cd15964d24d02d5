"""The end of a program that its user interrupts, or whose output nobody reads any more."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from types import TracebackType

from firesteel.client.progress_reporter import Restart

__all__ = ["OUTPUT_CLOSED", "discard_output", "end_quietly", "interrupted", "is_of_closed_output", "until_done"]

OUTPUT_CLOSED = 128 + 13
"""The exit code of a process that SIGPIPE ends, as of most programs in front of `| head`."""

_SAME_INTERRUPT_S = 1.0
"""Interrupts of one key press may arrive twice: from the terminal, and from a parent that passes them on."""


def interrupted(last_restart: Restart | None) -> KeyboardInterrupt:
    """Return the interrupt of a program that waited for a job, which was cancelled; the text says so.

    It is of no class of its own: for those Python ends the process with another exit code.
    """
    text = "Interrupted: the job was cancelled."
    return KeyboardInterrupt(text if last_restart is None else f"{text} It had restarted; the last {last_restart}")


def until_done(action: Callable[[], object]) -> None:
    """Carry out an action after an interrupt, again if the same interrupt arrives twice.

    Raises:
        KeyboardInterrupt: the user has interrupted once more.
    """
    begun_s = time.monotonic()
    while True:
        try:
            action()
        except KeyboardInterrupt:
            if time.monotonic() - begun_s > _SAME_INTERRUPT_S:
                raise
        else:
            return


def end_quietly() -> None:
    """Show one line at the end of a program that was interrupted, and nothing if its output was closed.

    Programs that have their own `sys.excepthook` keep it.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt) and error.args:
        print(error, file=sys.stderr)
    elif is_of_closed_output(error):
        discard_output()
    else:
        sys.__excepthook__(kind, error, trace)


def is_of_closed_output(error: BaseException) -> bool:
    """Return whether an error says that nobody reads standard output any more, as behind `| head`."""
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
