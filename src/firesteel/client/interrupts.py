"""The end of a program that its user interrupts."""

from __future__ import annotations

import time
from collections.abc import Callable

from firesteel.client.progress_reporter import Restart

__all__ = ["detached", "interrupted", "interrupted_again", "until_done"]

_SAME_INTERRUPT_S = 1.0
"""Interrupts of one key press may arrive twice: from the terminal, and from a parent that passes them on."""


def interrupted(last_restart: Restart | None) -> KeyboardInterrupt:
    """Return the interrupt of a program that waited for a job, which was cancelled; the text says so.

    It is of no class of its own: for those Python ends the process with another exit code.
    """
    text = "Interrupted: the job was cancelled."
    return KeyboardInterrupt(text if last_restart is None else f"{text} It had restarted; the last {last_restart}")


def interrupted_again() -> KeyboardInterrupt:
    """Return the interrupt of a program whose job was still being cancelled after the first one."""
    return KeyboardInterrupt("Interrupted again: the job was left while it was being cancelled.")


def detached(job_id: str) -> KeyboardInterrupt:
    """Return the interrupt of a program that waited for a job of a cluster, which goes on."""
    return KeyboardInterrupt(f"Interrupted: job {job_id} runs on; firesteel cancel {job_id} cancels it.")


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
