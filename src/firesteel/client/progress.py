"""Who is told how a job is doing while a client waits for it."""

from __future__ import annotations

from typing import Protocol

from firesteel.runtime.executiongraph.job_details import JobDetails


class ProgressReporter(Protocol):
    """Shows how a job is doing."""

    def serves(self, address: str) -> None:
        """The job's cluster has a REST API and a dashboard at that address."""

    def submitted(self, job_id: str) -> None:
        """The job was taken, and will be waited for."""

    def detached(self, job_id: str) -> None:
        """The job was taken, and nobody waits for it."""

    def progressed(self, details: JobDetails) -> None:
        """How it is doing now; called a few times a second, and once at the end."""

    def ended(self, details: JobDetails) -> None:
        """The job is over."""


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
    """Tell `reporter` about all jobs that this process waits for from now on."""
    _reporter[0] = reporter


def progress_reporter() -> ProgressReporter:
    """Who is told."""
    return _reporter[0]
