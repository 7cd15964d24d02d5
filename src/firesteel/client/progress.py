"""Reporting of a job's progress while a client waits for it."""

from __future__ import annotations

from typing import Protocol

from firesteel.runtime.executiongraph.job_details import JobDetails


class ProgressReporter(Protocol):
    """Reports the progress of jobs.

    Example:
        >>> class PrintEnd:
        ...     def serves(self, address): ...
        ...     def submitted(self, job_id): ...
        ...     def detached(self, job_id): ...
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


_reporter: list[ProgressReporter] = [_Silent()]


def set_progress_reporter(reporter: ProgressReporter) -> None:
    """Set the reporter for all jobs that this process waits for from now on.

    Args:
        reporter: Replaces the present one; by default nothing is reported.
    """
    _reporter[0] = reporter


def progress_reporter() -> ProgressReporter:
    """Return the current reporter."""
    return _reporter[0]
