"""The history of a job, oldest event first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from firesteel.runtime.executiongraph.execution_event import ExecutionEvent, JobEvent

__all__ = ["ExecutionHistory"]

Event = JobEvent | ExecutionEvent
MAX_EVENTS = 500_000
"""Maximum number of events; a job with 10,000 x 2 subtasks has 100,000 events per run."""


class ExecutionHistory:
    """The append-only events of a job and its attempts; when it is full, the oldest events are dropped.

    Example:
        >>> history = ExecutionHistory()
        >>> history.append(JobEvent(JobStatus.RUNNING, 5))
        >>> [event.status.name for event in history]
        ['RUNNING']
    """

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._events: deque[Event] = deque(maxlen=max_events)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __reversed__(self) -> Iterator[Event]:
        return reversed(self._events)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionHistory) and self._events == other._events

    def copy(self) -> ExecutionHistory:
        """Return a copy of the history."""
        copied = ExecutionHistory()
        copied._events = self._events.copy()
        return copied

    def append(self, event: Event) -> None:
        """Append an event."""
        self._events.append(event)

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
