"""Timers of one domain in memory, earliest first."""

from __future__ import annotations

import heapq
from collections.abc import Container
from operator import itemgetter

from firesteel.operators.state.entries import Entry

_SLACK = 64
"""Number of deleted timers that may stay queued in addition to one per live timer."""


class TimerQueue:
    """The timers of one domain, earliest first. Deleted timers stay queued, about as many as live ones at most.

    Attributes:
        live: Number of live timers.
    """

    def __init__(self, registered: Container[object]) -> None:
        self._registered = registered
        self._heap: list[tuple[int, int, object]] = []
        self._sequence = 0
        self.live = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, timestamp: int, entry: object) -> None:
        """Add a registered timer."""
        # Breaks ties, so that heapq never compares entries: keys of users need no order.
        self._sequence += 1
        self.live += 1
        heapq.heappush(self._heap, (timestamp, self._sequence, entry))

    def removed(self) -> None:
        """Note that a timer was unregistered.

        The cost of a rebuild is amortized over the deletions since the last one, so each deletion costs O(log n).
        """
        self.live -= 1
        if len(self._heap) > 2 * self.live + _SLACK:
            self._rebuild()

    def _rebuild(self) -> None:
        """Remove unregistered timers; a timer deleted and registered again is queued twice until then."""
        first: dict[Entry, tuple[int, int, Entry]] = {}
        for item in sorted(self._heap, key=itemgetter(0, 1)):
            if item[2] in self._registered:
                first.setdefault(item[2], item)
        self._heap = list(first.values())  # a sorted list is a heap

    def first(self) -> tuple[int, Entry] | None:
        """Return the timestamp and entry of the earliest timer, or None."""
        heap = self._heap
        while heap and heap[0][2] not in self._registered:
            heapq.heappop(heap)
        return (heap[0][0], heap[0][2]) if heap else None

    def pop(self) -> None:
        """Remove the timer that `first` returned."""
        heapq.heappop(self._heap)
