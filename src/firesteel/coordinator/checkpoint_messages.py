"""What the runs of a job's regions, its `CheckpointCoordinator` and the store tell each other about checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from firesteel.common.files.remote_path import AnyPath
from firesteel.errors import FiresteelError
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState

Sizes = Mapping[str, Mapping[int, int]]
"""Operator id -> subtask -> bytes."""

Answer = str | int | Exception
"""The path of a savepoint, the id of a checkpoint, or the error."""


class RunId(NamedTuple):
    """A run of a region, as the coordinator knows it; `attempt` is not used again."""

    region: int
    attempt: int


class RunIsOverError(FiresteelError):
    """A run was replaced by another run of its region; the argument is the number of the region."""

    def __str__(self) -> str:
        return f"the run of region {self.args[0]} is over: another one has begun"


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """A request for a checkpoint or savepoint.

    Attributes:
        answer: Callback for the result; called once, in any thread.
        savepoint_parent: The directory in which the savepoint is created; None requests a checkpoint.
        after: The action of the regions after the savepoint or checkpoint.
        full: Whether all keyed state is written for it, and not only the changes.
    """

    answer: Callable[[Answer], None]
    savepoint_parent: AnyPath | None = None
    after: AfterSavepoint = AfterSavepoint.GO_ON
    full: bool = False

    @property
    def is_savepoint(self) -> bool:
        """Whether this is a request for a savepoint."""
        return self.savepoint_parent is not None

    @property
    def needs_all_regions(self) -> bool:
        """Whether a part of each region is needed, as nothing of the job may be missing in what it asks for."""
        return self.is_savepoint or self.after is not AfterSavepoint.GO_ON


@dataclass(frozen=True, slots=True)
class Part:
    """The part of the next checkpoint that a run has prepared.

    Attributes:
        state: The state of the region after one of its batches.
        covers: The requests that it satisfies.
        begun_s: Start time of its batch (monotonic clock).
        written: Number of bytes of keyed state written since the last checkpoint.
        committables: Number of durable committables of the run until then; as the number, `RegionCheckpoints` sets it.
        number: Its number within the run, from 1.
        is_final: Whether the region has ended, so that no later part will differ; it covers later requests, too.
    """

    state: RegionState
    covers: frozenset[Request]
    begun_s: float
    written: Sizes
    committables: int = 0
    number: int = 0
    is_final: bool = False

    def covers_all(self, requests: Iterable[Request]) -> bool:
        """Return whether it satisfies requests."""
        return self.is_final or self.covers.issuperset(requests)


@dataclass(frozen=True, slots=True)
class Directive:
    """All that a run has to know; the answer to each of its reports, so that a lost one does no harm.

    Attributes:
        serial: Grows with each directive to any run; older ones are dropped.
        decided: The newest decided part that the run has not reported as committed.
        needed: The batches of the region to which retained checkpoints return.
        asked: The requests that wait for a part of the region.
        is_wanted: Whether another region waits for a part of this one.
        outcomes: Whether each former request that needs all regions succeeded.
    """

    serial: int = 0
    decided: Part | None = None
    needed: frozenset[int] = frozenset()
    asked: frozenset[Request] = frozenset()
    is_wanted: bool = False
    outcomes: Mapping[Request, bool] = field(default_factory=dict)


# Actions of the coordinator. Those with a run are carried out by its thread, the others by anybody.


@dataclass(frozen=True, slots=True)
class ReadCheckpoints:
    """Find the newest checkpoint, and if `in_full` read all retained ones; report it with `decisions`."""

    run: RunId
    in_full: bool
    decisions: int


@dataclass(frozen=True, slots=True)
class Restore:
    """Resume from the last of the retained checkpoints; if there is none, from the start of the job."""

    run: RunId
    kept: tuple[CheckpointMetadata, ...]


@dataclass(frozen=True, slots=True)
class EndRun:
    """End a run that was replaced, or found that another JobManager has taken the checkpoint with id `taken`."""

    run: RunId
    taken: int | None = None


@dataclass(frozen=True, slots=True)
class WriteCheckpoint:
    """Write the metadata of a checkpoint, which decides it; report whether it was written.

    Attributes:
        run: The run that writes it.
        checkpoint_id: The checkpoint.
        regions: The state of each region.
        prepared: The regions that took part; the state of the others is that of `former`.
        former: The last checkpoint, if there is one.
    """

    run: RunId
    checkpoint_id: int
    regions: tuple[RegionState | None, ...]
    prepared: frozenset[int]
    former: CheckpointMetadata | None


@dataclass(frozen=True, slots=True)
class WriteSavepoint:
    """Copy a committed checkpoint to where a request wants it, and report the path or the error."""

    run: RunId
    request: Request
    metadata: CheckpointMetadata


@dataclass(frozen=True, slots=True)
class Complete:
    """Tell that all regions have committed a checkpoint, whose first part began at `begun_s`."""

    run: RunId
    metadata: CheckpointMetadata
    begun_s: float
    written: Sizes


@dataclass(frozen=True, slots=True)
class RemoveCheckpoint:
    """Remove the metadata of a checkpoint that is not retained any more; the regions remove their files."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class RemoveClaimed:
    """Remove the checkpoint that the job was started with and owns."""


@dataclass(frozen=True, slots=True)
class GiveAnswer:
    """Answer a request."""

    request: Request
    answer: Answer


@dataclass(frozen=True, slots=True)
class Wake:
    """Let all runs report, as there may be something new for them."""


RunAction = ReadCheckpoints | Restore | EndRun | WriteCheckpoint | WriteSavepoint | Complete
JobAction = RemoveCheckpoint | RemoveClaimed | GiveAnswer | Wake
CheckpointAction = RunAction | JobAction


@dataclass(frozen=True, slots=True)
class CommitPart:
    """The only action of a run's `RegionCheckpoints`: commit what a decided part contains, and report it.

    Attributes:
        committables: What to commit; the committables of later parts are not decided yet.
        batch_id: The batch after which the part was taken.
        needed: The batches to which retained checkpoints return; the files of others up to this one can go.
    """

    committables: tuple[Any, ...]
    batch_id: int
    needed: frozenset[int]
