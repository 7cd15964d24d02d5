"""A priority queue of matches with the order of Flink's.

Which of two matches that begin with the same event comes first decides which one a skip strategy keeps. In Flink it is
the order of `java.util.PriorityQueue`, so a queue here does the same steps; `heapq` would order such matches otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.functions.cep.skip_strategies import EventId
    from firesteel.operators.cep.partial_match import PartialMatch

__all__ = ["MatchQueue"]


class MatchQueue:
    """A binary heap of matches, the one whose first event is the earliest at its top.

    Args:
        start_of: Returns the id of the first event of a match.
        heap: Matches in the order of another queue.
    """

    def __init__(self, start_of: Callable[[PartialMatch], EventId], heap: Iterable[PartialMatch] = ()) -> None:
        self._start_of = start_of
        self._heap = list(heap)

    @property
    def matches(self) -> list[PartialMatch]:
        """The matches in the order in which Flink iterates over them; only the first one is in its place."""
        return self._heap

    def add(self, match: PartialMatch) -> None:
        """Add a match."""
        heap, start_of = self._heap, self._start_of
        heap.append(match)
        start, place = start_of(match), len(heap) - 1
        while place:
            parent = (place - 1) // 2
            if start_of(heap[parent]) <= start:
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = match

    def pop(self) -> PartialMatch:
        """Remove the earliest match and return it."""
        heap = self._heap
        first, last = heap[0], heap.pop()
        if heap:
            self._sift_down(0, last)
        return first

    def remove(self, is_removed: Callable[[PartialMatch], bool]) -> None:
        """Remove some matches."""
        kept = [match for match in self._heap if not is_removed(match)]
        if len(kept) < len(self._heap):
            self._heap = kept
            for place in reversed(range(len(kept) // 2)):
                self._sift_down(place, kept[place])

    def _sift_down(self, place: int, match: PartialMatch) -> None:
        heap, start_of = self._heap, self._start_of
        start, parents = start_of(match), len(heap) // 2
        while place < parents:
            child = 2 * place + 1
            if child + 1 < len(heap) and start_of(heap[child + 1]) < start_of(heap[child]):
                child += 1
            if start <= start_of(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = match
