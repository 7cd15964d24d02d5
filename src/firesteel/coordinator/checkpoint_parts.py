"""What the regions of a job and the one that decides its checkpoints tell each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from firesteel.common.remote_path import AnyPath
from firesteel.errors import FiresteelError
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState

Sizes = Mapping[str, Mapping[int, int]]
"""Operator id -> subtask -> bytes."""

Answer = str | int | Exception
"""The path of a savepoint, the id of a checkpoint, or why there is none."""


@dataclass(eq=False, slots=True)
class Request:
    """A checkpoint or savepoint that somebody asked for.

    Attributes:
        answer: Called once, in any thread.
        savepoint_parent: Where the savepoint's directory is made; None: a checkpoint was asked for.
        after: What the regions do once the savepoint is taken.
        full: Whether all keyed state is written for it, and not only what changed.
        succeeded: Whether it was taken; None: not yet answered.
    """

    answer: Callable[[Answer], None]
    savepoint_parent: AnyPath | None = None
    after: AfterSavepoint = AfterSavepoint.GO_ON
    full: bool = False
    succeeded: bool | None = None

    @property
    def is_savepoint(self) -> bool:
        """Whether a savepoint was asked for."""
        return self.savepoint_parent is not None

    def give(self, answer: Answer) -> None:
        """Answer it."""
        self.succeeded = not isinstance(answer, Exception)
        self.answer(answer)


@dataclass(frozen=True, slots=True)
class Part:
    """What a region has prepared for the next checkpoint.

    Attributes:
        state: The region after one of its batches.
        covers: The requests that it is meant for, too.
        begun_s: When its batch began (monotonic).
        written: Bytes of keyed state written since the last checkpoint.
    """

    state: RegionState
    covers: frozenset[Request]
    begun_s: float
    written: Sizes


@dataclass(eq=False, slots=True)
class Member:
    """A run of a region, as the checkpoints of its job know it.

    Attributes:
        region: Number of the region.
        wake: Lets the run's thread look for something to do.
        tell: Told of checkpoints and savepoints that were taken.
        run: Number of the run; 0: it has not begun.
        part: What it has prepared since the last decision.
        decided: What was decided with it and it has not settled yet.
    """

    region: int
    wake: Callable[[], None]
    tell: Callable[[CheckpointStats], None]
    run: int = 0
    part: Part | None = None
    decided: RegionState | None = None


class RunIsOverError(FiresteelError):
    """A run was given up, and another one of its region has begun; the argument is the number of the region."""

    def __str__(self) -> str:
        return f"the run of region {self.args[0]} is over: another one has begun"


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """What a region goes on from.

    Attributes:
        metadata: The checkpoint or savepoint.
        directory: Where it is.
        is_own: Whether the job has taken it itself.
    """

    metadata: CheckpointMetadata
    directory: AnyPath
    is_own: bool
