"""Where the time of a job's batches goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["NO_BATCHES", "NO_REGIONS", "PARTS", "BatchTimes"]

PARTS = ("plan", "read", "operators", "state", "exchange", "commit")
"""The parts of a batch, in their order: what to read is planned, sources read, operators process, state is written; the
exchange is everything else between the planner and the slots, and a checkpoint commits."""


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """The number of some batches, and the time that they took by part; batches of several regions may overlap.

    Attributes:
        batches: Their number.
        seconds: The time of each of `PARTS`. Reading, operators and state are those of the slot that took longest, per
            stage, as the others wait for it.

    Example:
        >>> (BatchTimes(1, {"read": 0.5}) + BatchTimes(2, {"read": 1.0})).seconds["read"]
        1.5
    """

    batches: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: BatchTimes) -> BatchTimes:
        parts = {part: self.seconds.get(part, 0.0) + other.seconds.get(part, 0.0) for part in PARTS}
        return BatchTimes(self.batches + other.batches, parts)

    @property
    def busy_s(self) -> float:
        """The time in seconds in which slots worked: what grows with the records, without fixed costs of batches."""
        return sum(self.seconds.get(part, 0.0) for part in ("read", "operators", "state"))


NO_BATCHES = BatchTimes()
NO_REGIONS: Mapping[int, BatchTimes] = {}
