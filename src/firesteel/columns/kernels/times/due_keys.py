"""Keys by the time at which something of them is due, so that a watermark visits these keys alone."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from firesteel.columns.rows import Row


class DueKeys:
    """A queue of keys by time; it is made anew from the state when a subtask starts."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, Row]] = []
        self._number = count()

    def add(self, time: int, key: Row) -> None:
        """Add a key; it may be there already, for other times."""
        # The number breaks ties: keys may have parts without an order, such as NULL.
        heappush(self._queue, (time, next(self._number), key))

    def next(self) -> int | None:
        """Return the earliest time, or None."""
        return self._queue[0][0] if self._queue else None

    def take(self, until: int) -> list[Row]:
        """Remove and return the keys of the times up to one, each once."""
        found: dict[Row, None] = {}
        while self._queue and self._queue[0][0] <= until:
            found[heappop(self._queue)[2]] = None
        return list(found)
