"""Data types of slot versions. Imported by Spark's workers, so it must import quickly.

Why: `docs/decisions/0016-versions-per-run.md`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class BatchTry:
    """One try of one batch of one run; ordered, also across all JobManagers that ever led the job.

    Attributes:
        run: Number of the run, across restarts and leaders, from 1; each run claims a directory of versions.
        batch_id: Number of the batch, across runs, from 0.
        number: Number of the try of the batch within the run, from 1.
    """

    run: int
    batch_id: int
    number: int = 1


@dataclass(frozen=True)
class VersionFile:
    """One file of a version.

    Attributes:
        path: Relative to the directory of the job or savepoint.
        size: In bytes.
        state_sizes: Bytes of keyed state in it, by operator id.
        checksum: Its checksum, which tells it from every other file; None in metadata of firesteel 0.1.
    """

    path: str
    size: int
    state_sizes: dict[str, int]
    checksum: int | None = None

    def __setstate__(self, state: list[object] | dict[str, object]) -> None:
        # Firesteel 0.1 wrote a list, without the checksum.
        fields = state if isinstance(state, dict) else zip(("path", "size", "state_sizes"), state, strict=True)
        self.__dict__.update(fields)


Chain = tuple[VersionFile, ...]
"""The files of a version in the order in which they are applied; empty before the first batch."""


class TryIsOverError(Exception):
    """A process that is gone has already run this stage in this try; the argument is the file that proves it.

    Its output may have been consumed and can't be reproduced, so the batch needs another try.
    """

    def __str__(self) -> str:
        return f"another process has run the stage: {self.args[0]} exists"
