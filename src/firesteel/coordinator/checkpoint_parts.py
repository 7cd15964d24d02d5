"""Data exchanged between the regions of a job and `JobCheckpoints`, which decides its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from firesteel.common.files.remote_path import AnyPath
from firesteel.errors import FiresteelError
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState

Sizes = Mapping[str, Mapping[int, int]]
"""Operator id -> subtask -> bytes."""

Answer = str | int | Exception
"""The path of a savepoint, the id of a checkpoint, or the error."""


@dataclass(eq=False, slots=True)
class Request:
    """A request for a checkpoint or savepoint.

    Attributes:
        answer: Callback for the result; called once, in any thread.
        savepoint_parent: The directory in which the savepoint is created; None requests a checkpoint.
        after: The action of the regions after the savepoint.
        full: Whether all keyed state is written for it, and not only the changes.
        succeeded: Whether it was taken; None until it is answered.
    """

    answer: Callable[[Answer], None]
    savepoint_parent: AnyPath | None = None
    after: AfterSavepoint = AfterSavepoint.GO_ON
    full: bool = False
    succeeded: bool | None = None

    @property
    def is_savepoint(self) -> bool:
        """Whether this is a request for a savepoint."""
        return self.savepoint_parent is not None

    def give(self, answer: Answer) -> None:
        """Answer the request."""
        self.succeeded = not isinstance(answer, Exception)
        self.answer(answer)


@dataclass(frozen=True, slots=True)
class Part:
    """The part of the next checkpoint that a region has prepared.

    Attributes:
        state: The state of the region after one of its batches.
        covers: The requests that it satisfies.
        begun_s: Start time of its batch (monotonic clock).
        written: Number of bytes of keyed state written since the last checkpoint.
        committables: Number of durable committables of the run until then.
    """

    state: RegionState
    covers: frozenset[Request]
    begun_s: float
    written: Sizes
    committables: int


@dataclass(eq=False, slots=True)
class Member:
    """A run of a region, as seen by the checkpoints of its job.

    Attributes:
        region: Number of the region.
        wake: Wakes up the run's thread.
        tell: Called for each checkpoint and savepoint taken.
        run: Number of the run; 0 before it has begun.
        part: The part prepared since the last decision.
        decided: Its decided part that it has not settled yet.
    """

    region: int
    wake: Callable[[], None]
    tell: Callable[[CheckpointStats], None]
    run: int = 0
    part: Part | None = None
    decided: Part | None = None


class RunIsOverError(FiresteelError):
    """A run was replaced by another run of its region; the argument is the number of the region."""

    def __str__(self) -> str:
        return f"the run of region {self.args[0]} is over: another one has begun"


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """The checkpoint that a region resumes from.

    Attributes:
        metadata: The checkpoint or savepoint.
        directory: The directory of the checkpoint.
        is_own: Whether it was taken by the job itself.
    """

    metadata: CheckpointMetadata
    directory: AnyPath
    is_own: bool
