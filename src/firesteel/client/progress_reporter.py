"""Reporters of a job's progress while a client waits for it."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from firesteel.common.terminal_text import printable
from firesteel.runtime.executiongraph.job_details import JobDetails
from firesteel.runtime.failure import TaskFailure

_SAME_AGAIN = 3
"""How often the same failure follows itself before it is said that restarts do not help."""


def owns_terminal() -> bool:
    """Return whether progress may be drawn over its earlier lines.

    That is so on a terminal, unless standard output is a pipe: its reader, such as `head` or `grep`, prints on the
    same terminal, and its lines would be overwritten.
    """
    if not sys.stderr.isatty():
        return False
    with suppress(OSError, ValueError):  # a notebook's output has no descriptor
        return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    return True


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart of a job.

    Attributes:
        job_id: The job.
        number: How often the job has restarted, this time included.
        cause: The failure.
        repetitions: How often this failure has occurred in a row: at the same line, on the same record.

    Example:
        >>> print(Restart("a" * 32, 1, None))
        restart 1: no cause was reported
    """

    job_id: str
    number: int
    cause: TaskFailure | None
    repetitions: int = 1

    @property
    def makes_no_progress(self) -> bool:
        """Whether restarts do not seem to get past the failure."""
        return self.repetitions >= _SAME_AGAIN

    def __str__(self) -> str:
        text = f"restart {self.number}: {self.cause or 'no cause was reported'}"
        if self.makes_no_progress:
            text += f"\n  the same failure, {self.repetitions} times in a row: restarts do not get past it"
        return text


class ProgressReporter(Protocol):
    """Reports the progress of jobs.

    Example:
        >>> class PrintEnd:
        ...     def serves(self, address): ...
        ...     def submitted(self, job_id): ...
        ...     def detached(self, job_id): ...
        ...     def restarts(self, restart): ...
        ...     def progressed(self, details): ...
        ...     def ended(self, details):
        ...         print(details.status.name)
        >>> reporter: ProgressReporter = PrintEnd()
    """

    def serves(self, address: str) -> None:
        """Report that the cluster has a REST API and a dashboard.

        Args:
            address: URL of both.
        """

    def submitted(self, job_id: str) -> None:
        """Report that a job was submitted and the client waits for it.

        Args:
            job_id: 32 hexadecimal digits.
        """

    def detached(self, job_id: str) -> None:
        """Report that a job was submitted and the client does not wait for it.

        Args:
            job_id: 32 hexadecimal digits.
        """

    def restarts(self, restart: Restart) -> None:
        """Report that a job restarts after a failure; may be called by another thread.

        Args:
            restart: Its number and cause.
        """

    def progressed(self, details: JobDetails) -> None:
        """Report the current progress; called a few times per second, and once at the end.

        Args:
            details: State, metrics and checkpoints of the job at this moment.
        """

    def ended(self, details: JobDetails) -> None:
        """Report that the job has ended.

        Args:
            details: The last state of the job, which also tells whether it failed.
        """


class _Silent:
    def serves(self, address: str) -> None:
        pass

    def submitted(self, job_id: str) -> None:
        pass

    def detached(self, job_id: str) -> None:
        pass

    def progressed(self, details: JobDetails) -> None:
        pass

    def ended(self, details: JobDetails) -> None:
        pass


class RestartLines(_Silent):
    """Reports restarts only, on standard error: nobody else says why a job that fails again and again does not end."""

    def restarts(self, restart: Restart) -> None:
        """Print the restart."""
        print(printable(f"Job {restart.job_id}: {restart}"), file=sys.stderr, flush=True)
