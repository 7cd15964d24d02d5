"""Parts of checkpoints whose files are being uploaded to a remote store while the next batches run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.common.time import Duration
from firesteel.coordinator.checkpoint_parts import Part
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.task.state_transfer import Stored

__all__ = ["CheckpointFailedError", "PartUploads", "WaitingPart"]

TIMEOUT = "execution.checkpointing.timeout"
MIN_PAUSE = "execution.checkpointing.min-pause"
TOLERABLE_FAILURES = "execution.checkpointing.tolerable-failed-checkpoints"

logger = logging.getLogger(__name__)


class CheckpointFailedError(FiresteelError):
    """Files of a checkpoint could not be stored; the arguments are the reason, consecutive failures and their limit."""

    def __str__(self) -> str:
        reason, failed, tolerable = self.args
        return f"{failed} checkpoints failed in a row, {TOLERABLE_FAILURES} is {tolerable}; the last one: {reason}"


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits of checkpoints.

    Attributes:
        timeout_s: Timeout in seconds for the uploads of a checkpoint.
        min_pause_s: Minimum pause between checkpoints in seconds.
        tolerable_failures: Number of consecutive failures that the job tolerates.
    """

    timeout_s: float
    min_pause_s: float
    tolerable_failures: int

    @staticmethod
    def of(configuration: Mapping[str, str]) -> _Limits:
        """Return the limits from the options of a job."""
        return _Limits(
            Duration.parse(configuration.get(TIMEOUT, "10 min")).to_millis() / 1000,
            Duration.parse(configuration.get(MIN_PAUSE, "0 ms")).to_millis() / 1000,
            int(configuration.get(TOLERABLE_FAILURES, "0")),
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
    """The uploads of a region, which hold back its part of a checkpoint until all files are in the remote store.

    Slots send the files and report those that have arrived with each batch. With a local directory parts never wait.

    Args:
        job_graph: The job; its options limit the duration and the failures of checkpoints.

    Attributes:
        needs_another: Whether the last checkpoint failed.
    """

    def __init__(self, job_graph: JobGraph) -> None:
        self._job_id = job_graph.job_id
        self._limits = _Limits.of(job_graph.configuration)
        self._waiting: WaitingPart | None = None
        self._last: Sequence[Stored] = ()
        self._failed = 0
        self._decided_s = float("-inf")
        self.needs_another = False

    @property
    def is_busy(self) -> bool:
        """Whether files of a checkpoint are being uploaded."""
        return self._waiting is not None

    @property
    def pause_left_s(self) -> float:
        """The rest of the minimum pause between checkpoints in seconds; not positive if it has passed."""
        return self._decided_s + self._limits.min_pause_s - time.monotonic()

    @property
    def may_begin(self) -> bool:
        """Whether a due checkpoint may begin."""
        return self._waiting is None and self.pause_left_s <= 0

    def missing(self) -> Mapping[tuple[int, int], tuple[str, ...]]:
        """Return the files of each slot that are not stored yet."""
        if self._waiting is None:
            return {}
        chains, missing = self._waiting.part.state.chains, self._waiting.missing
        found = {slot: tuple(file.path for file in chain if file.path in missing) for slot, chain in chains.items()}
        return {slot: files for slot, files in found.items() if files}

    def begin(self, waiting: WaitingPart, is_last: bool) -> WaitingPart | None:
        """Wait for the files of a part, which replaces another waiting part; return it if they are all stored.

        Raises:
            CheckpointFailedError: files of the last checkpoint of the job could not be stored.
        """
        waiting.begun_s = time.monotonic()
        self._waiting, self.needs_another = waiting, False
        done = self._check(self._last)
        if done is None and is_last:
            raise CheckpointFailedError("files of the last checkpoint could not be stored", 1, 0)
        return done

    def take(self, reports: Sequence[Stored]) -> WaitingPart | None:
        """Process the uploads reported with a batch; return the waiting part if its files are complete.

        Raises:
            CheckpointFailedError: an upload failed or timed out, and no more checkpoints may fail.
        """
        self._last = reports
        return self._check(reports)

    def _check(self, reports: Sequence[Stored]) -> WaitingPart | None:
        waiting = self._waiting
        if waiting is None:
            return None
        for report in reports:
            waiting.missing -= report.paths
        failure = next((report.failure for report in reports if report.failure), "")
        if not waiting.missing:
            self._waiting = None
            return waiting
        if failure or time.monotonic() - waiting.begun_s > self._limits.timeout_s:
            self._decline(
                failure or f"{len(waiting.missing)} files were not uploaded within {self._limits.timeout_s:g} s"
            )
        return None

    def _decline(self, reason: str) -> None:
        """Abandon a checkpoint; its committables are committed with the next one."""
        self._waiting, self.needs_another = None, True
        self._failed += 1
        logger.warning("a checkpoint of job %s failed: %s", self._job_id, reason)
        if self._failed > self._limits.tolerable_failures:
            raise CheckpointFailedError(reason, self._failed, self._limits.tolerable_failures)

    def decided(self) -> None:
        """Note that a checkpoint was decided."""
        self._failed, self._decided_s = 0, time.monotonic()
