"""Parts of checkpoints whose files are being uploaded to a remote store while the next batches run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.common.options.checkpointing_options import (
    CHECKPOINTING_MAX_CONCURRENT,
    CHECKPOINTING_MIN_PAUSE,
    CHECKPOINTING_TIMEOUT,
    CHECKPOINTING_TOLERABLE_FAILURES,
)
from firesteel.coordinator.checkpoint_messages import Part
from firesteel.errors import FiresteelError
from firesteel.task.state_transfer import Stored

__all__ = ["CheckpointFailedError", "PartUploads", "WaitingPart"]


class CheckpointFailedError(FiresteelError):
    """Files of a checkpoint could not be stored; the arguments are the reason, consecutive failures and their limit."""

    def __str__(self) -> str:
        reason, failed, tolerable = self.args
        limit = f"{CHECKPOINTING_TOLERABLE_FAILURES} is {tolerable}"
        return f"{failed} checkpoints failed in a row, {limit}; the last one: {reason}"


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits of checkpoints.

    Attributes:
        max_concurrent: Maximum number of checkpoints whose files are being uploaded when another one begins.
        timeout_s: Timeout in seconds for the uploads of a checkpoint.
        min_pause_s: Minimum pause between checkpoints in seconds.
        tolerable_failures: Number of consecutive failures that the job tolerates.
    """

    max_concurrent: int
    timeout_s: float
    min_pause_s: float
    tolerable_failures: int

    @staticmethod
    def of(configuration: Mapping[str, str]) -> _Limits:
        """Return the limits from the options of a job."""
        return _Limits(
            CHECKPOINTING_MAX_CONCURRENT.of(configuration),
            CHECKPOINTING_TIMEOUT.of(configuration),
            CHECKPOINTING_MIN_PAUSE.of(configuration),
            CHECKPOINTING_TOLERABLE_FAILURES.of(configuration),
        )


@dataclass(slots=True)
class WaitingPart:
    """A region's part of a checkpoint that waits for the uploads of its files.

    Attributes:
        part: The part.
        missing: The files that are not stored yet.
        begun_s: Start time of the uploads (monotonic clock), set when they begin.
    """

    part: Part
    missing: set[str]
    begun_s: float = 0.0


class PartUploads:
    """The uploads of a region, which hold back its parts of checkpoints until all files are in the remote store.

    Slots send the files and report those that have arrived with each batch. With a local directory parts never wait.

    As in Flink's `CheckpointCoordinator`, a complete checkpoint subsumes the older ones that still wait. They have not
    failed, and their committables are part of it. A failed upload fails the oldest checkpoint that waits for the file;
    for the others the file is uploaded again.

    Args:
        configuration: The options of the job, which limit the number, duration and failures of checkpoints.

    Attributes:
        needs_another: Whether the last checkpoint failed.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._limits = _Limits.of(configuration)
        self._waiting: list[WaitingPart] = []
        self._failures: dict[str, str] = {}
        self._unclaimed: set[str] = set()
        self._failed = 0
        self._decided_s = float("-inf")
        self._has_abandoned = False
        self.needs_another = False
        self._declined: list[str] = []

    @property
    def is_busy(self) -> bool:
        """Whether files of checkpoints are being uploaded."""
        return bool(self._waiting)

    @property
    def in_progress(self) -> int:
        """The number of checkpoints whose files are being uploaded."""
        return len(self._waiting)

    def pause_left_s(self, now_s: float) -> float:
        """Return the rest of the minimum pause between checkpoints in seconds; not positive if it has passed.

        Checkpoints also begin no more often than that (Flink: `CheckpointCoordinatorConfiguration`).
        """
        last_s = max([self._decided_s, *(waiting.begun_s for waiting in self._waiting)])
        return last_s + self._limits.min_pause_s - now_s

    def may_begin(self, now_s: float) -> bool:
        """Return whether a due checkpoint may begin."""
        return len(self._waiting) < self._limits.max_concurrent and self.pause_left_s(now_s) <= 0

    def missing(self) -> Mapping[tuple[int, int], tuple[str, ...]]:
        """Return the files of each slot that are not stored yet."""
        found: dict[tuple[int, int], dict[str, None]] = {}
        for waiting in self._waiting:
            for slot, chain in waiting.part.state.chains.items():
                names = (file.path for file in chain if file.path in waiting.missing)
                found.setdefault(slot, {}).update(dict.fromkeys(names))
        return {slot: tuple(files) for slot, files in found.items() if files}

    def begin(self, waiting: WaitingPart, has_waited: bool, is_last: bool, now_s: float) -> WaitingPart | None:
        """Wait for the files of a part; return it if they are all stored.

        Args:
            waiting: The part.
            has_waited: Whether its batch has waited for the uploads, so that a missing file could not be stored.
            is_last: Whether it belongs to the last checkpoint of the job.
            now_s: The monotonic time, as everywhere here.

        Raises:
            CheckpointFailedError: no more checkpoints may fail, or files of the last one could not be stored.
        """
        waiting.begun_s = now_s
        self._waiting.append(waiting)
        self.needs_another = False
        if has_waited and waiting.missing:
            failed = waiting.missing & self._failures.keys()
            unknown = f"{len(waiting.missing)} files could not be stored"
            self._decline(waiting, self._failures[min(failed)] if failed else unknown)
        done = self._proceed(now_s)
        if done is None and is_last:
            raise CheckpointFailedError("files of the last checkpoint could not be stored", 1, 0)
        return done

    def take(self, reports: Sequence[Stored], now_s: float) -> WaitingPart | None:
        """Process the uploads reported with a batch; return the newest part whose files are complete.

        Raises:
            CheckpointFailedError: an upload failed or timed out, and no more checkpoints may fail.
        """
        self._failures = {path: reason for report in reports for path, reason in report.failures}
        self._unclaimed = set(self._failures)
        for waiting in self._waiting:
            waiting.missing.difference_update(*(report.paths for report in reports))
        return self._proceed(now_s)

    def _proceed(self, now_s: float) -> WaitingPart | None:
        """Return the newest complete part, which subsumes the older ones; fail parts whose files can't be stored."""
        done = next((waiting for waiting in reversed(self._waiting) if not waiting.missing), None)
        if done is not None:
            count = self._waiting.index(done) + 1
            self._has_abandoned |= any(waiting.missing for waiting in self._waiting[:count])
            del self._waiting[:count]
            self._failed = 0
        # Each failure is claimed once, by the oldest part that waits for the file.
        for waiting in list(self._waiting):
            failed = waiting.missing & self._unclaimed
            self._unclaimed -= failed
            if failed:
                self._decline(waiting, self._failures[min(failed)])
            elif now_s - waiting.begun_s > self._limits.timeout_s:
                late = f"{len(waiting.missing)} files were not uploaded within {self._limits.timeout_s:g} s"
                self._decline(waiting, late)
        return done

    def _decline(self, waiting: WaitingPart, reason: str) -> None:
        """Abandon a checkpoint; its committables are committed with the next one."""
        # An older one needs no other checkpoint: a later one is under way already, which has its committables.
        self.needs_another |= waiting is self._waiting[-1]
        self._waiting.remove(waiting)
        self._has_abandoned = True
        self._failed += 1
        self._declined.append(reason)
        if self._failed > self._limits.tolerable_failures:
            raise CheckpointFailedError(reason, self._failed, self._limits.tolerable_failures)

    def decided(self, now_s: float) -> None:
        """Note that a checkpoint was decided."""
        self._failed, self._decided_s = 0, now_s

    def take_abandoned(self) -> bool:
        """Return whether checkpoints were abandoned since the last call, files of which may be stored nevertheless."""
        found, self._has_abandoned = self._has_abandoned, False
        return found

    def take_declined(self) -> list[str]:
        """Return why checkpoints have failed since the last call."""
        declined, self._declined = self._declined, []
        return declined
