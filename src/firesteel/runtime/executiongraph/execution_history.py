"""The history of a job, oldest event first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.runtime.executiongraph.execution_event import ExecutionEvent, JobEvent

__all__ = ["ExecutionHistory", "HistoryEntry"]

Event = JobEvent | ExecutionEvent
MAX_EVENTS = 500_000
"""Maximum number of events; a job with 10,000 x 2 subtasks has 100,000 events per run."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An event with its number; the first event of a job has number 0."""

    number: int
    event: Event


class ExecutionHistory:
    """The append-only events of a job and its attempts; when it is full, the oldest events are dropped.

    Example:
        >>> history = ExecutionHistory()
        >>> history.append(JobEvent(JobStatus.RUNNING, 5))
        >>> [entry.event.status.name for entry in history.select(since=0)], history.end
        (['RUNNING'], 1)
    """

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._events: deque[Event] = deque(maxlen=max_events)
        self.end = 0
        """The number of the next event; `select(since=end)` returns the events after now."""

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __reversed__(self) -> Iterator[Event]:
        return reversed(self._events)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionHistory) and (self.end, self._events) == (other.end, other._events)

    def copy(self) -> ExecutionHistory:
        """Return a copy of the history."""
        copied = ExecutionHistory()
        copied._events, copied.end = self._events.copy(), self.end
        return copied

    def append(self, event: Event) -> None:
        """Append an event."""
        self._events.append(event)
        self.end += 1

    def select(
        self,
        vertex_id: str | None = None,
        subtask_index: int | None = None,
        attempt_number: int | None = None,
        since: int = 0,
    ) -> Iterator[HistoryEntry]:
        """Yield the events from number `since` on, of the given vertex, subtask or attempt only."""
        wanted = (("vertex_id", vertex_id), ("subtask_index", subtask_index), ("attempt_number", attempt_number))
        named = [(name, value) for name, value in wanted if value is not None]
        first = self.end - len(self._events)
        for number, event in enumerate(self._from(max(since - first, 0)), max(since, first)):
            if not named or (
                isinstance(event, ExecutionEvent) and all(getattr(event, name) == value for name, value in named)
            ):
                yield HistoryEntry(number, event)

    def story(self, vertex_id: str | None = None, subtask_index: int | None = None, limit: int = 20) -> str:
        """Return the last events of the job, and of one subtask if given, one line each."""
        told: list[str] = []
        for event in reversed(self._events):
            is_wanted = isinstance(event, JobEvent) or (event.vertex_id, event.subtask_index) == (
                vertex_id,
                subtask_index,
            )
            if is_wanted:
                told.append(str(event))
                if len(told) == limit:
                    break
        return "\n".join(reversed(told))

    def _from(self, position: int) -> Iterator[Event]:
        """Iterate from a position; the later half of a deque is reached from its end."""
        if position <= len(self._events) // 2:
            events = iter(self._events)
            for _ in range(position):
                next(events)
            return events
        backwards = reversed(self._events)
        return iter([next(backwards) for _ in range(len(self._events) - position)][::-1])
