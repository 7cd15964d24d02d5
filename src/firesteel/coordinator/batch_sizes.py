"""How many elements a batch should read: enough that its fixed cost is small, few enough that checkpoints are on time.

A batch takes `fixed + elements * marginal` seconds. The fixed part grows with slots, stages and hosts, the marginal
part is the user's functions; both change while a job runs. A rule that only looks at the total reads less and less
where the fixed part alone exceeds its target, down to one element per batch. So both parts are estimated from recent
batches. Where these were all of one size, a smaller one is tried now and then, as they say nothing else.
"""

from __future__ import annotations

from collections import deque
from itertools import combinations
from statistics import median

_REMEMBERED = 12
"""Batches that the estimate is made from."""

_FIRST_FIXED_S = 0.08
"""What a batch costs without elements, before anything is known."""

_BASE_S = 2.0
"""Elements should take so long at least while there is a backlog, unless checkpoints are to be more frequent."""

_SHORTEST_S = 0.25
_FIXED_SHARE = 6
"""Elements should take so many times as long as the fixed part."""

_PUNCTUAL = 0.8
"""If the fixed part takes more than this share of the checkpoint interval, no batch size is on time."""

_MARGIN = 0.9
_MAX_GROWTH = 4.0
"""From one batch to the next, unless batches are so short that more does no harm."""

_APART = 1.3
"""Two sizes that differ by this factor say how the time depends on the size."""

_PROBE = 0.7
_FULL = 0.9
_SURPRISE = 0.1
_CHANGE = 0.5
_LEAST_S = 1e-9


class BatchSizes:
    """Chooses the number of elements of the next batch.

    Args:
        first: Elements of the first batch: few, as it is not known yet what one of them costs.
        most: Elements of any batch.
        checkpoint_interval_s: How often checkpoints are to be taken, which is after a batch; 0: nobody said.

    Attributes:
        size: How many elements the next batch should read.
        fixed_s: What a batch is believed to cost without elements (seconds).
        marginal_s: What an element is believed to cost (seconds); None: nothing is known.

    Example:
        >>> sizes = BatchSizes(first=1000, most=4_000_000)
        >>> for _ in range(9):
        ...     sizes.took(sizes.size, 30 + sizes.size * 0.001)
        >>> sizes.size  # elements of six times the fixed cost of 30 s
        180000
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

    def took(self, elements: int, seconds: float) -> None:
        """Learn from a batch that read so many elements and succeeded at its first try."""
        surprise = self._surprise(elements, seconds)
        self._surprises = self._surprises + 1 if abs(surprise) > _CHANGE else 0
        if self._surprises >= 2:
            # One slow batch may be an accident; two say that something has changed, and what was before misleads.
            self._seen = deque([self._seen[-1]], maxlen=_REMEMBERED)
            self._surprises = 0
        self._seen.append((elements, seconds))
        is_sure = self._estimate()
        wanted = self._budget_s() / max(self.marginal_s or 0.0, _LEAST_S)
        if not is_sure and (abs(surprise) > _SURPRISE or len(self._seen) == _REMEMBERED) and len(self._seen) > 1:
            wanted = min(wanted, elements * _PROBE) if elements > 1 else 2.0
        # A batch that read less than it might says nothing about larger ones. If the estimate is wrong, and all is
        # marginal, the next batch is still not much too long.
        growth = max(_MAX_GROWTH, (self.fixed_s + self._budget_s()) / max(seconds, _LEAST_S))
        limit = max(self.size, elements * growth) if elements >= _FULL * self.size else self.size
        wanted = min(self._most, limit, max(1.0, wanted))
        self.size = int(wanted) if self._interval_s else round(wanted)

    def _surprise(self, elements: int, seconds: float) -> float:
        """Return by which share of what was expected a batch took longer."""
        if self.marginal_s is None:
            return 0.0
        expected = self.fixed_s + elements * self.marginal_s
        return (seconds - expected) / max(expected, _LEAST_S)

    def _estimate(self) -> bool:
        """Estimate both parts from pairs of batches of different sizes; False if there are none.

        The median of the slopes (Theil and Sen) ignores batches that were slow for reasons of their own.
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
                return False
            self.marginal_s = max(seconds - self.fixed_s, 0.001) / elements
            return False
        marginal_s = self.marginal_s
        self.fixed_s = max(0.0, median([seconds - elements * marginal_s for elements, seconds in self._seen]))
        return bool(slopes)

    def _budget_s(self) -> float:
        """Return how long the elements of a batch should take."""
        budget_s = max(self._base_s, _FIXED_SHARE * self.fixed_s)
        if self._interval_s and self.fixed_s < _PUNCTUAL * self._interval_s:
            # Below the interval that nobody can notice, a batch need not be shorter.
            room_s = max(self._interval_s, _SHORTEST_S) - self.fixed_s
            budget_s = min(budget_s, _MARGIN * room_s)
        return budget_s
