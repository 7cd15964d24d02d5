"""What executions of a BATCH job that failed have left in the job's directory."""

from __future__ import annotations

import shutil
from pathlib import Path

from firesteel.task.version_store import runs_in, versions_of

__all__ = ["failure_note", "remove_earlier_runs", "remove_failed_run"]


def failure_note(directory: Path, attempt: int, stage: int, slot: int) -> Path:
    """Return the file in which a task notes that user code raised, so that Spark's further tries end with that."""
    return directory / f"failure-{attempt}-{stage}-{slot}"


def remove_failed_run(directory: Path, run: int, attempt: int) -> None:
    """Remove what the tasks of a run have left. Nothing of it was decided to be committed.

    The run's own directory stays, so that no other run gets its number while tasks of it may still write.
    """
    for path in versions_of(directory, run).glob("*"):
        shutil.rmtree(path, ignore_errors=True)
    _remove_notes(directory, f"failure-{attempt}-*")


def remove_earlier_runs(directory: Path, run: int) -> None:
    """Remove what is left of all runs before one whose output was decided: no other output can be decided any more."""
    for number, path in runs_in(directory).items():
        if number < run:
            shutil.rmtree(path, ignore_errors=True)
    _remove_notes(directory, "failure-*")


def _remove_notes(directory: Path, pattern: str) -> None:
    for path in directory.glob(pattern):
        path.unlink(missing_ok=True)
