"""Counts of observations in buckets, as Prometheus has them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

__all__ = ["Histogram"]


@dataclass(slots=True)
class Histogram:
    """How many observations are at most as large as each of some bounds.

    Attributes:
        bounds: The bounds in increasing order.
        counts: The number of observations in each bucket; the last one has those above all bounds.
        sum: The sum of all observations.

    Example:
        >>> histogram = Histogram([0.1, 1.0])
        >>> for seconds in (0.05, 0.1, 0.5, 7.0):
        ...     histogram.observe(seconds)
        >>> list(histogram.buckets()), histogram.sum
        ([(0.1, 2), (1.0, 3), (inf, 4)], 7.65)
    """

    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    sum: float = 0.0

    def __post_init__(self) -> None:
        """Begin with empty buckets."""
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Count an observation."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def buckets(self) -> Iterator[tuple[float, int]]:
        """Yield each bound, infinity last, and how many observations are at most as large."""
        total = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            total += count
            yield bound, total

    def copy(self) -> Histogram:
        """Return a copy."""
        return replace(self, counts=list(self.counts))
