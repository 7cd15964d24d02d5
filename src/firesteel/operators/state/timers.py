"""Event-time and processing-time timers of one keyed operator, stored as keyed state."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from firesteel.common.values.whole_numbers import check_timestamp
from firesteel.functions.timerservice import TimerService
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.operator import MIN_TIMESTAMP
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.keyed_state_backend import TIMERS_TABLE, KeyedStateBackend
from firesteel.operators.state.timer_queue import TimerQueue
from firesteel.operators.state.timers_on_disk import QueueOnDisk, TimersOnDisk

EVENT_TIME = 0
PROCESSING_TIME = 1

_Queue = TimerQueue | QueueOnDisk


class InternalTimerService(TimerService):
    """The timer service of an operator (Flink: `InternalTimerServiceImpl`).

    A timer is identified by key, domain, namespace and timestamp: registering it twice fires once.

    Attributes:
        refuses_timers: Whether new timers are ignored, while BATCH mode fires the last timers of a key.
    """

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._table = backend.table(TIMERS_TABLE)
        self._queues = self._queues_of(self._table.data)
        self.watermark = MIN_TIMESTAMP
        self.refuses_timers = False
        self.namespace: object = None

    @staticmethod
    def _queues_of(timers: MutableMapping[Entry, Stored]) -> tuple[_Queue, _Queue]:
        if isinstance(timers, TimersOnDisk):
            return timers.queues
        queues = TimerQueue(timers), TimerQueue(timers)
        for entry in list(timers):
            queues[entry[1]].push(entry[3], entry)
        return queues

    def current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""
        return now_ms()

    def current_watermark(self) -> int:
        """Return the watermark of the operator in ms."""
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Register a timer that fires when the watermark passes `timestamp` (ms)."""
        self._register(EVENT_TIME, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Register a timer that fires when processing time passes `timestamp` (ms)."""
        self._register(PROCESSING_TIME, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete an event-time timer."""
        self._delete(self._entry(EVENT_TIME, timestamp))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a processing-time timer."""
        self._delete(self._entry(PROCESSING_TIME, timestamp))

    def _delete(self, entry: Entry) -> None:
        if entry in self._table.data:
            self._table.remove(entry)
            self._queues[entry[1]].removed()

    def _entry(self, domain: int, timestamp: int) -> tuple[Entry, int, Entry, int]:
        return (self._backend.current_key, domain, self.namespace, int(timestamp))

    def _register(self, domain: int, timestamp: int) -> None:
        entry = self._entry(domain, timestamp)
        check_timestamp(entry[3])
        if entry not in self._table.data and not self.refuses_timers:
            self._table.put(entry, True)
            self._queues[domain].push(entry[3], entry)

    def registered(self) -> Iterator[tuple[Entry, Entry, int]]:
        """Yield key, namespace and timestamp of all timers."""
        for key, _, namespace, timestamp in self._table.data:
            yield key, namespace, timestamp

    def is_registered(self, domain: int, key: Entry, namespace: Entry, timestamp: int) -> bool:
        """Return whether there is a timer."""
        return (key, domain, namespace, timestamp) in self._table.data

    def forget_all(self) -> None:
        """Remove the timers of an earlier job, which no version of this one has yet."""
        self._table.data.clear()
        self._queues = self._queues_of(self._table.data)

    def due(self, domain: int, until: int) -> Iterator[tuple[Entry, Entry, int]]:
        """Remove the timers up to `until` and yield them as `(key, namespace, timestamp)`; more may be registered."""
        queue = self._queues[domain]
        while (first := queue.first()) is not None and first[0] <= until:
            timestamp, entry = first
            # Before the handler runs, as it may register the same timer again.
            queue.pop()
            self._delete(entry)
            yield entry[0], entry[2], timestamp

    def next_processing_time(self) -> int | None:
        """Return the time in ms of the earliest processing-time timer, or None."""
        first = self._queues[PROCESSING_TIME].first()
        return None if first is None else first[0]

    def queued(self) -> int:
        """Return the number of queued timers in both domains, including deleted ones."""
        return sum(map(len, self._queues))
