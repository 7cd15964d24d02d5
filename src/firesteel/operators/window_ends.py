"""When windows end that do nothing before: what takes the place of two timers and a trigger for each."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any


class WindowEnds:
    """The windows that have elements, by their last millisecond; of each the keys, in the order they came.

    It is no state of its own: what it knows is in the contents of the windows.

    Args:
        entries: (key, window) of the windows that have elements already.
    """

    def __init__(self, entries: Iterable[tuple[Any, Any]] = ()) -> None:
        self._keys: dict[Any, list[Any]] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._sequence = 0
        for key, window in entries:
            self.add(key, window)

    def add(self, key: Any, window: Any) -> None:
        """A key has its first element in a window."""
        keys = self._keys.get(window)
        if keys is not None:
            keys.append(key)
            return
        self._keys[window] = [key]
        self._sequence += 1
        heapq.heappush(self._heap, (window.max_timestamp(), self._sequence, window))

    def take(self, until: int) -> Iterator[tuple[Any, Any]]:
        """Take out what ends up to that time: (key, window), the earliest first."""
        while self._heap and self._heap[0][0] <= until:
            window = heapq.heappop(self._heap)[2]
            for key in self._keys.pop(window):
                yield key, window
