"""Elements of a keyed operator that wait for event time, by key and time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

from firesteel.operators.state.entries import Stored
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_table import NAMESPACED

__all__ = ["ElementsByTime"]


class ElementsByTime:
    """The elements that an operator keeps, by key and time.

    Flink keeps one map from time to elements per key and scans all of it for each element. Here each time is a separate
    entry, so versions contain only changed ones, and the times of a key are sorted, so look-ups read only matching
    ones. The sorted times are always in memory and no part of the state.
    """

    def __init__(self, backend: KeyedStateBackend, name: str) -> None:
        self._backend, self._earlier = backend, f"{name}-times"
        self._elements = backend.table(NAMESPACED + name)
        self._times: dict[object, list[int]] = {}

    def sort(self) -> None:
        """Sort the times of restored elements; firesteel 0.1 kept them sorted in the state."""
        self._backend.tables.pop(self._earlier, None)
        for key, timestamp in self._elements.data:
            self._times.setdefault(key, []).append(timestamp)
        for times in self._times.values():
            times.sort()

    def add(self, key: object, timestamp: int, value: object) -> bool:
        """Add an element, and return whether it is the first of its key and time."""
        entry = (key, timestamp)
        is_first = entry not in self._elements.data
        if is_first:
            insort(self._times.setdefault(key, []), timestamp)
        self._elements.append(entry, [value])
        return is_first

    def between(self, key: object, first: int, last: int) -> list[tuple[int, list[Stored]]]:
        """Return `(timestamp, elements)` pairs from `first` to `last` (inclusive) in time order."""
        times = self._times.get(key, ())
        get = self._elements.data.get
        return [(time, get((key, time)) or []) for time in times[bisect_left(times, first) : bisect_right(times, last)]]

    def remove(self, key: object, timestamp: int) -> None:
        """Remove the elements of one time."""
        if (key, timestamp) not in self._elements.data:
            return
        self._elements.remove((key, timestamp))
        times = self._times[key]
        del times[bisect_left(times, timestamp)]
        if not times:
            del self._times[key]
