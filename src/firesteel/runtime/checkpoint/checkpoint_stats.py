"""Statistics of the checkpoints of a job: the latest ones, their number and their sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from firesteel.common.histogram import Histogram

__all__ = ["NO_CHECKPOINTS", "CheckpointStats", "CheckpointStatsTracker", "CheckpointsSummary", "RestoredCheckpoint"]

SizesOfSubtasks = Mapping[str, Mapping[int, int]]
"""Bytes by operator id and subtask."""

DURATION_BOUNDS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0)
"""Upper bounds of the buckets of checkpoint durations."""

SIZE_BOUNDS = tuple(1024.0 * 16**power for power in range(8))
"""Upper bounds of the buckets of checkpoint sizes, in bytes."""

HISTORY_SIZE = 10
"""Number of checkpoints kept in the history (Flink: `web.checkpoints.history`)."""


@dataclass(frozen=True, slots=True)
class CheckpointStats:
    """One completed checkpoint or savepoint. Flink: `runtime.checkpoint.CompletedCheckpointStats`.

    Attributes:
        checkpoint_id: Number of the checkpoint from 1, across restarts.
        is_savepoint: Whether it is a savepoint.
        trigger_timestamp_ms: Time in ms at which it began.
        duration_ms: Time in ms from the start of its batch to its commit.
        external_path: Its directory.
        checkpointed_sizes: Bytes written for it, by operator id and subtask.
        state_sizes: Bytes of its state, including files of earlier checkpoints.
    """

    checkpoint_id: int
    is_savepoint: bool
    trigger_timestamp_ms: int
    duration_ms: int
    external_path: str
    checkpointed_sizes: SizesOfSubtasks
    state_sizes: SizesOfSubtasks

    @property
    def checkpointed_size(self) -> int:
        """The number of bytes written for it."""
        return _total(self.checkpointed_sizes)

    @property
    def state_size(self) -> int:
        """The number of bytes of its state."""
        return _total(self.state_sizes)


def _total(sizes: SizesOfSubtasks) -> int:
    return sum(sum(of_subtasks.values()) for of_subtasks in sizes.values())


@dataclass(frozen=True, slots=True)
class RestoredCheckpoint:
    """The checkpoint that a job was restored from. Flink: `runtime.checkpoint.RestoredCheckpointStats`."""

    checkpoint_id: int
    is_savepoint: bool
    external_path: str
    restored_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointsSummary:
    """The checkpoints of a job so far.

    Attributes:
        completed: Number of completed checkpoints.
        history: The latest checkpoints, newest first.
        restored: The checkpoint that the job was last restored from, or None.
        failed: Number of failed checkpoints.
        in_progress: Number of checkpoints whose files are being stored.
        durations_s: The durations of all completed checkpoints.
        sizes: The bytes written for each of them.
    """

    completed: int = 0
    history: tuple[CheckpointStats, ...] = ()
    restored: RestoredCheckpoint | None = None
    failed: int = 0
    in_progress: int = 0
    durations_s: Histogram = field(default_factory=lambda: Histogram(DURATION_BOUNDS_S))
    sizes: Histogram = field(default_factory=lambda: Histogram(SIZE_BOUNDS))

    @property
    def total(self) -> int:
        """The number of checkpoints that were begun."""
        return self.completed + self.failed + self.in_progress

    @property
    def latest(self) -> CheckpointStats | None:
        """The newest checkpoint, or None."""
        return self.history[0] if self.history else None


NO_CHECKPOINTS = CheckpointsSummary()


@dataclass(slots=True)
class CheckpointStatsTracker:
    """A recorder of the latest checkpoints of a job. Flink: `runtime.checkpoint.CheckpointStatsTracker`.

    Example:
        >>> tracker = CheckpointStatsTracker()
        >>> tracker.completed(CheckpointStats(1, False, 0, 5, "/checkpoints/chk-1", {"map": {0: 10}}, {"map": {0: 70}}))
        >>> tracker.summary().latest.checkpointed_size, tracker.summary().latest.state_size
        (10, 70)
    """

    _count: int = 0
    _history: deque[CheckpointStats] = field(default_factory=lambda: deque(maxlen=HISTORY_SIZE))
    _restored: RestoredCheckpoint | None = None
    _failed: int = 0
    _in_progress: dict[int, int] = field(default_factory=dict)
    _durations_s: Histogram = field(default_factory=lambda: Histogram(DURATION_BOUNDS_S))
    _sizes: Histogram = field(default_factory=lambda: Histogram(SIZE_BOUNDS))

    def completed(self, stats: CheckpointStats) -> None:
        """Record a completed checkpoint."""
        self._count += 1
        self._history.appendleft(stats)
        self._durations_s.observe(stats.duration_ms / 1000)
        self._sizes.observe(stats.checkpointed_size)

    def progressed(self, region: int, in_progress: int, failed: int) -> None:
        """Record how many checkpoints of a region are being stored, and how many more have failed."""
        self._in_progress[region] = in_progress
        self._failed += failed

    def restored(self, checkpoint: RestoredCheckpoint) -> None:
        """Record the checkpoint that the job was restored from."""
        self._restored = checkpoint

    def summary(self) -> CheckpointsSummary:
        """Return the summary of all recorded checkpoints."""
        # A checkpoint of the job is one of each region, so they are not added up.
        in_progress = max(self._in_progress.values(), default=0)
        history, durations_s, sizes = tuple(self._history), self._durations_s.copy(), self._sizes.copy()
        return CheckpointsSummary(self._count, history, self._restored, self._failed, in_progress, durations_s, sizes)
