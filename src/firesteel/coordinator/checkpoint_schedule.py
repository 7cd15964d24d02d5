"""The times of periodic checkpoints: a fixed rate, although a checkpoint can only be taken between two batches."""

from __future__ import annotations


class CheckpointSchedule:
    """The schedule of periodic checkpoints of a region (Flink: the timer of `CheckpointCoordinator`).

    A checkpoint is due every interval from the start of the first batch. It is taken after the batch during which it
    becomes due, so batches that are nearly as long as the interval do not halve the rate. Missed checkpoints are
    not made up.

    Args:
        interval_s: The checkpoint interval in seconds; with 0 a checkpoint is due after each batch.

    Example:
        >>> schedule = CheckpointSchedule(1.0)
        >>> schedule.is_due(begun_s=0.0, expected_s=0.9)
        True
        >>> schedule.taken(begun_s=0.0, ended_s=0.1)
        >>> [schedule.is_due(begun_s, 0.1) for begun_s in (0.5, 0.95)]
        [False, True]
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._due_s = float("-inf")

    def is_due(self, begun_s: float, expected_s: float) -> bool:
        """Return whether a checkpoint is due before the batch will have ended.

        Args:
            begun_s: Start of the batch (monotonic time).
            expected_s: Its expected duration.
        """
        return begun_s + expected_s >= self._due_s

    def taken(self, begun_s: float, ended_s: float) -> None:
        """Schedule the next checkpoint; one has been taken with the batch between `begun_s` and `ended_s`.

        That batch may have been late, or early because the checkpoint was asked for.
        """
        # From the due time, as from the end of the batch the rate would drift. A late batch skips what it missed.
        self._due_s = min(max(self._due_s, begun_s), ended_s) + self._interval_s

    def due_in_s(self, now_s: float) -> float:
        """Return the time until the next checkpoint is due; not positive if it is due already."""
        return self._due_s - now_s
