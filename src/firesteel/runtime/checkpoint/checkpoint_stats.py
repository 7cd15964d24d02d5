"""What is known of the checkpoints of a job: the last ones, how many there were, how large they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["NO_CHECKPOINTS", "CheckpointStats", "CheckpointStatsTracker", "CheckpointsSummary", "RestoredCheckpoint"]

SizesOfSubtasks = Mapping[str, Mapping[int, int]]
"""Bytes by operator id and subtask."""

HISTORY_SIZE = 10
"""How many checkpoints are remembered (Flink: `web.checkpoints.history`)."""


@dataclass(frozen=True, slots=True)
class CheckpointStats:
    """One completed checkpoint or savepoint. Flink: `runtime.checkpoint.CompletedCheckpointStats`.

    Attributes:
        checkpoint_id: From 1, over restarts.
        is_savepoint: Whether somebody asked for it.
        trigger_timestamp_ms: When it began.
        duration_ms: From the beginning of its batch until it was committed.
        external_path: Its directory.
        checkpointed_sizes: Bytes that were written for it, by operator id and subtask; 0 where there is none.
        state_sizes: Bytes that it holds, with those that earlier checkpoints wrote, too.
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
        """Bytes that were written for it."""
        return _total(self.checkpointed_sizes)

    @property
    def state_size(self) -> int:
        """Bytes that it holds."""
        return _total(self.state_sizes)


def _total(sizes: SizesOfSubtasks) -> int:
    return sum(sum(of_subtasks.values()) for of_subtasks in sizes.values())


@dataclass(frozen=True, slots=True)
class RestoredCheckpoint:
    """What a job began with. Flink: `runtime.checkpoint.RestoredCheckpointStats`."""

    checkpoint_id: int
    is_savepoint: bool
    external_path: str
    restored_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointsSummary:
    """The checkpoints of a job up to now.

    Attributes:
        completed: How many completed.
        history: The last ones, newest first.
        restored: What it went on from last, None if it began without state.
    """

    completed: int = 0
    history: tuple[CheckpointStats, ...] = ()
    restored: RestoredCheckpoint | None = None

    @property
    def latest(self) -> CheckpointStats | None:
        """The newest one, None if there is none yet."""
        return self.history[0] if self.history else None


NO_CHECKPOINTS = CheckpointsSummary()


@dataclass(slots=True)
class CheckpointStatsTracker:
    """Remembers the last checkpoints of a job. Flink: `runtime.checkpoint.CheckpointStatsTracker`.

    Example:
        >>> tracker = CheckpointStatsTracker()
        >>> tracker.completed(CheckpointStats(1, False, 0, 5, "/checkpoints/chk-1", {"map": {0: 10}}, {"map": {0: 70}}))
        >>> tracker.summary().latest.checkpointed_size, tracker.summary().latest.state_size
        (10, 70)
    """

    _count: int = 0
    _history: deque[CheckpointStats] = field(default_factory=lambda: deque(maxlen=HISTORY_SIZE))
    _restored: RestoredCheckpoint | None = None

    def completed(self, stats: CheckpointStats) -> None:
        """Take a completed checkpoint."""
        self._count += 1
        self._history.appendleft(stats)

    def restored(self, checkpoint: RestoredCheckpoint) -> None:
        """The job went on from a checkpoint."""
        self._restored = checkpoint

    def summary(self) -> CheckpointsSummary:
        """All that is known."""
        return CheckpointsSummary(self._count, tuple(self._history), self._restored)
