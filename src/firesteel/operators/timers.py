"""Event-time and processing-time timers of one keyed operator; they are keyed state like any other."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from firesteel.datastream.timerservice import TimerService
from firesteel.operators.clock import now_ms
from firesteel.operators.operator import MIN_TIMESTAMP
from firesteel.operators.state_backend import TIMERS_TABLE, KeyedStateBackend

EVENT_TIME = 0
PROCESSING_TIME = 1


class _TimerQueue:
    """The timers of one domain, earliest first; entries that were deleted meanwhile are skipped."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Any]] = []
        self._sequence = 0

    def push(self, timestamp: int, entry: Any) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (timestamp, self._sequence, entry))

    def first(self) -> tuple[int, Any] | None:
        if not self._heap:
            return None
        timestamp, _, entry = self._heap[0]
        return timestamp, entry

    def pop(self) -> None:
        heapq.heappop(self._heap)


class InternalTimerService(TimerService):
    """Registers, deletes and hands out the timers of an operator (Flink: `InternalTimerServiceImpl`).

    A timer is identified by key, domain, namespace and timestamp: registering it twice fires once.

    Attributes:
        refuses_timers: New timers are ignored: BATCH mode fires the last ones of a key.
    """

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._table = backend.table(TIMERS_TABLE)
        self._queues = (_TimerQueue(), _TimerQueue())
        self.watermark = MIN_TIMESTAMP
        self.refuses_timers = False
        self.namespace: Any = None
        for entry in list(self._table.data):
            self._queues[entry[1]].push(entry[3], entry)

    def current_processing_time(self) -> int:
        """Milliseconds since the epoch."""
        return now_ms()

    def current_watermark(self) -> int:
        """Watermark of the operator (milliseconds)."""
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Fire when the watermark passes `timestamp`."""
        self._register(EVENT_TIME, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Fire when processing time passes `timestamp`."""
        self._register(PROCESSING_TIME, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget an event-time timer."""
        self._table.remove(self._entry(EVENT_TIME, timestamp))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget a processing-time timer."""
        self._table.remove(self._entry(PROCESSING_TIME, timestamp))

    def _entry(self, domain: int, timestamp: int) -> tuple[Any, int, Any, int]:
        return (self._backend.current_key, domain, self.namespace, int(timestamp))

    def _register(self, domain: int, timestamp: int) -> None:
        entry = self._entry(domain, timestamp)
        if entry not in self._table.data and not self.refuses_timers:
            self._table.put(entry, True)
            self._queues[domain].push(entry[3], entry)

    def registered(self) -> Iterator[tuple[Any, Any, int]]:
        """Key, namespace and timestamp of all timers."""
        for key, _, namespace, timestamp in self._table.data:
            yield key, namespace, timestamp

    def take_all(self) -> list[tuple[Any, Any, int]]:
        """Key, namespace and timestamp of all timers, which are deleted."""
        timers = list(self.registered())
        for entry in list(self._table.data):
            self._table.remove(entry)
        return timers

    def due(self, domain: int, until: int) -> Iterator[tuple[Any, Any, int]]:
        """Take the timers up to `until`: `(key, namespace, timestamp)`; more may be registered meanwhile."""
        queue, data = self._queues[domain], self._table.data
        while (first := queue.first()) is not None and first[0] <= until:
            queue.pop()
            if first[1] in data:
                self._table.remove(first[1])
                yield first[1][0], first[1][2], first[0]

    def next_processing_time(self) -> int | None:
        """Time of the earliest processing-time timer."""
        queue = self._queues[PROCESSING_TIME]
        while (first := queue.first()) is not None:
            if first[1] in self._table.data:
                return first[0]
            queue.pop()
        return None
