"""The number of elements per batch: large enough to amortize the fixed cost, small enough for punctual checkpoints.

A batch takes `fixed + elements * marginal` seconds. The fixed part grows with slots, stages and hosts, the marginal
part is the user's functions; both change while a job runs. A rule based on the total time would shrink batches down to
one element once the fixed part alone exceeds its target. So both parts are estimated from recent batches. If those all
had the same size, they could not be separated, so every third batch or so is a smaller one. The first batch of a run
does not count, because it includes the start of operators and processes.

Why: `docs/decisions/0020-batch-sizes-by-two-costs.md`.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import combinations
from statistics import median

_REMEMBERED = 12
"""Number of recent batches used for the estimate."""

_FIRST_FIXED_S = 0.08
"""Initial estimate of the fixed cost of a batch."""

_BASE_S = 2.0
"""Minimum time for the elements of a batch during a backlog, unless the checkpoint interval is shorter."""

_SHORTEST_S = 0.25
_FIXED_SHARE = 20
"""Target ratio of the time for elements to the fixed part: at most 5 % of a long batch are lost."""

_LEAST_SHARE = 6
"""Minimum of that ratio, where the checkpoint interval has room for it."""

_PATIENCE = 0.25
"""Share of the checkpoint interval up to which a batch may exceed the minimum, as a checkpoint waits for its end."""

_PUNCTUAL = 0.8
"""Share of the checkpoint interval; if the fixed part is larger, no batch size is punctual."""

_MARGIN = 0.9
_MAX_GROWTH = 4.0
"""Maximum growth from one batch to the next, unless batches are very short."""

_APART = 1.3
"""Minimum ratio of two batch sizes for estimating how time depends on size."""

_PROBE = 0.7
_FULL = 0.9
_CHANGE = 0.5
_LEAST_S = 1e-9


class BatchSizes:
    """The controller of batch sizes, which chooses the number of elements of the next batch.

    Args:
        first: Number of elements of the first batch; few, as their cost is still unknown.
        most: Maximum number of elements of a batch.
        checkpoint_interval_s: The checkpoint interval in seconds; 0 if not configured.

    Attributes:
        size: Number of elements for the next batch.
        fixed_s: Estimated fixed cost of a batch in seconds.
        marginal_s: Estimated cost of an element in seconds; None if unknown.

    Example:
        >>> sizes = BatchSizes(first=1000, most=4_000_000)
        >>> for _ in range(9):
        ...     sizes.took(sizes.size, 30 + sizes.size * 0.001)
        >>> sizes.size  # a probe: 0.7 times the elements of twenty times 30 s
        420000
    """

    def __init__(self, first: int, most: int, checkpoint_interval_s: float = 0) -> None:
        self.size = first
        self.fixed_s = _FIRST_FIXED_S
        self.marginal_s: float | None = None
        self._most = most
        self._interval_s = checkpoint_interval_s
        self._base_s = min(_BASE_S, max(_SHORTEST_S, checkpoint_interval_s or _BASE_S))
        self._seen: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)
        self._surprises = 0
        self._is_first = True

    def took(self, elements: int, seconds: float) -> None:
        """Update the estimate with the time of a batch that succeeded at its first try."""
        self._forget_the_first()
        surprise = self._surprise(elements, seconds)
        self._surprises = self._surprises + 1 if abs(surprise) > _CHANGE else 0
        if self._surprises >= 2:
            # One slow batch may be an outlier; two in a row mean that costs have changed, so older batches are
            # discarded.
            self._seen = deque([self._seen[-1]], maxlen=_REMEMBERED)
            self._surprises = 0
        self._seen.append((elements, seconds))
        self._estimate()
        wanted = self._budget_s() / max(self.marginal_s or 0.0, _LEAST_S)
        is_full = elements >= _FULL * self.size
        if is_full and self._is_steady():
            # A single element leaves no smaller size to compare with.
            wanted = min(wanted, elements * _PROBE) if elements > 1 else 2.0
        # A batch that read less than it could allows no conclusion about larger ones. Even if the estimate is wrong and
        # all cost is marginal, the next batch is not much too long.
        growth = max(_MAX_GROWTH, (self.fixed_s + self._budget_s()) / max(seconds, _LEAST_S))
        limit = max(self.size, elements * growth) if is_full else self.size
        wanted = min(self._most, limit, max(1.0, wanted))
        # Rounded up, a batch of few costly elements would be too late for its checkpoint.
        self.size = int(wanted) if self._interval_s else round(wanted)

    def _forget_the_first(self) -> None:
        # Kept until there is a second one: it is a bad estimate, but the only one.
        if self._is_first and self._seen:
            self._is_first = False
            self._seen.clear()
            self.fixed_s, self.marginal_s = _FIRST_FIXED_S, None

    def expected_s(self, elements: int) -> float:
        """Return the expected duration of a batch in seconds."""
        return self.fixed_s + elements * (self.marginal_s or 0.0)

    def _surprise(self, elements: int, seconds: float) -> float:
        """Return by which fraction a batch took longer than expected."""
        if self.marginal_s is None:
            return 0.0
        expected = self.expected_s(elements)
        return (seconds - expected) / max(expected, _LEAST_S)

    def _is_steady(self) -> bool:
        """Return whether the last two batches had about the same size, so that they cannot separate the two parts."""
        last = [elements for elements, _ in self._seen][-2:]
        return len(last) == 2 and max(last) <= _APART * min(last)

    def _estimate(self) -> None:
        """Estimate both parts from pairs of batches of different sizes, if there are any.

        The median of the slopes (Theil-Sen estimator) is robust against outliers.
        """
        slopes = [
            (second_s - first_s) / (second - first)
            for (first, first_s), (second, second_s) in combinations(self._seen, 2)
            if max(first, second) > _APART * min(first, second)
        ]
        if slopes:
            self.marginal_s = max(median(slopes), _LEAST_S)
        elif self.marginal_s is None:
            elements, seconds = self._seen[-1]
            if not elements:
                self.fixed_s = seconds
                return
            self.marginal_s = max(seconds - self.fixed_s, 0.001) / elements
            return
        marginal_s = self.marginal_s
        self.fixed_s = max(0.0, median([seconds - elements * marginal_s for elements, seconds in self._seen]))

    def _budget_s(self) -> float:
        """Return the target time in seconds for the elements of a batch."""
        patience_s = _PATIENCE * self._interval_s if self._interval_s else math.inf
        budget_s = max(self._base_s, _LEAST_SHARE * self.fixed_s, min(_FIXED_SHARE * self.fixed_s, patience_s))
        if self._interval_s and self.fixed_s < _PUNCTUAL * self._interval_s:
            # A batch need not be shorter than an imperceptible interval.
            room_s = max(self._interval_s, _SHORTEST_S) - self.fixed_s
            budget_s = min(budget_s, _MARGIN * room_s)
        return budget_s
