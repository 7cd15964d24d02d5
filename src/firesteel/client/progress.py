"""The reporter of the jobs that this process waits for."""

from __future__ import annotations

from firesteel.client.progress_reporter import ProgressReporter, RestartLines, owns_terminal

_reporter: list[ProgressReporter] = []


def set_progress_reporter(reporter: ProgressReporter) -> None:
    """Set the reporter for all jobs that this process waits for from now on.

    Args:
        reporter: Replaces the present one. By default there is a line of progress if standard error is a terminal and
            standard output no pipe, else only restarts are reported.
    """
    _reporter[:] = [reporter]


def progress_reporter() -> ProgressReporter:
    """Return the current reporter."""
    if not _reporter:
        _reporter.append(_default())
    return _reporter[0]


def _default() -> ProgressReporter:
    if not owns_terminal():
        return RestartLines()
    from firesteel.client.progress_view import LiveLine  # late import: slow, and only terminals show it

    return LiveLine()
