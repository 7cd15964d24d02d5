"""What the versions of slots are, as data: imported by Spark's workers, so it must import quickly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class BatchTry:
    """One try of one batch of one run. Later ones are larger, over all JobManagers that ever led the job.

    Attributes:
        run: Counts the runs of the job, over restarts and leaders, from 1; each claims a directory of versions.
        batch_id: Counts the batches of the job, over runs, from 0.
        number: Counts the tries of the batch in the run, from 1.
    """

    run: int
    batch_id: int
    number: int = 1


@dataclass(frozen=True, slots=True)
class VersionFile:
    """One file of a version.

    Attributes:
        path: Relative to the directory of the job or savepoint.
        size: In bytes.
        state_sizes: Bytes of keyed state in it, by operator id.
    """

    path: str
    size: int
    state_sizes: dict[str, int]


Chain = tuple[VersionFile, ...]
"""The files of a version in the order in which they are applied; empty: the version before the first batch."""


class TryIsOverError(Exception):
    """A process that is gone has run this stage in this try already; the argument is the file that says so.

    What it put out may have been consumed, and nobody can put out the same again: the batch needs another try.
    """

    def __str__(self) -> str:
        return f"another process has run the stage: {self.args[0]} exists"
