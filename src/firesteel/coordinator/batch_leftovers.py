"""Leftovers of failed executions of a BATCH job in the job's directory."""

from __future__ import annotations

import shutil
from pathlib import Path

from firesteel.task.version_store import runs_in, versions_of

__all__ = ["failure_note", "remove_earlier_runs", "remove_failed_run"]


def failure_note(directory: Path, attempt: int, stage: int, slot: int) -> Path:
    """Return the file in which a task records an error of user code, so that Spark's retries repeat the error."""
    return directory / f"failure-{attempt}-{stage}-{slot}"


def remove_failed_run(directory: Path, run: int, attempt: int) -> None:
    """Remove the output of a run's tasks, none of which was committed.

    The run's directory stays, so that no other run gets its number while its tasks may still write.
    """
    for path in versions_of(directory, run).glob("*"):
        shutil.rmtree(path, ignore_errors=True)
    _remove_notes(directory, f"failure-{attempt}-*")


def remove_earlier_runs(directory: Path, run: int) -> None:
    """Remove the output of all runs before the one whose output was decided, as it can't be committed any more."""
    for number, path in runs_in(directory).items():
        if number < run:
            shutil.rmtree(path, ignore_errors=True)
    _remove_notes(directory, "failure-*")


def _remove_notes(directory: Path, pattern: str) -> None:
    for path in directory.glob(pattern):
        path.unlink(missing_ok=True)
