"""Statistics of the changes of a job's parallelism. Flink: `runtime.scheduler.adaptive.timeline`."""

from __future__ import annotations

import enum
import uuid
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from firesteel.graph.job_graph import JobGraph
from firesteel.graph.slot_numbering import slot_sharing_name

__all__ = ["NO_RESCALES", "Rescale", "RescaleEnd", "RescaleTracker", "RescalesSummary", "TriggerCause"]

Parallelism = Mapping[str, int]


class TriggerCause(enum.Enum):
    """Why the parallelism changes."""

    INITIAL_SCHEDULE = "the job starts with fewer slots than it wants"
    UPDATE_REQUIREMENT = "other bounds were requested"
    NEW_RESOURCE_AVAILABLE = "slots have come"
    RECOVERABLE_FAILOVER = "slots were lost"


class RescaleEnd(enum.Enum):
    """How a change ended."""

    SUCCEEDED = "the job runs with the new parallelism"
    EXCEPTION_OCCURRED = "the state could not be restored with it"
    JOB_FINISHED = "the job finished before"
    JOB_FAILED = "the job failed before"
    JOB_CANCELED = "the job was cancelled before"
    JOB_FAILOVER_RESTARTING = "a task failed before"

    @property
    def state(self) -> str:
        """The terminal state in the REST API: COMPLETED, FAILED or IGNORED."""
        return _STATES.get(self, "IGNORED")


_STATES = {
    RescaleEnd.SUCCEEDED: "COMPLETED",
    RescaleEnd.EXCEPTION_OCCURRED: "FAILED",
    RescaleEnd.JOB_FAILED: "FAILED",
    RescaleEnd.JOB_FAILOVER_RESTARTING: "FAILED",
}


@dataclass(slots=True)
class Rescale:
    """One change of the parallelism of a job.

    Attributes:
        attempt: Its number in the job, from 1.
        cause: Why it was begun.
        desired: The parallelism wanted for each vertex.
        sufficient: The parallelism needed at least.
        before: The parallelism before.
        after: The parallelism that the job continues with.
        begun_ms: Time in ms at which it began.
        requirements_id: The id of the bounds that it is about.
        id: Its id.
        states: The states of the job and the time in ms at which each began, until the end.
        ended_ms: Time in ms at which it ended, or None.
        end: How it ended, or None.
        error: The reason why it failed, or None.
    """

    attempt: int
    cause: TriggerCause
    desired: Parallelism
    sufficient: Parallelism
    before: Parallelism
    after: Parallelism
    begun_ms: int
    requirements_id: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    states: list[tuple[str, int]] = field(default_factory=list)
    ended_ms: int | None = None
    end: RescaleEnd | None = None
    error: str | None = None

    @property
    def duration_ms(self) -> int:
        """The time in ms that it took; 0 if it has not ended."""
        return 0 if self.ended_ms is None else self.ended_ms - self.begun_ms


@dataclass(frozen=True, slots=True)
class RescalesSummary:
    """The changes of a job's parallelism so far.

    Attributes:
        counts: Number of ended changes by terminal state.
        history: The latest changes, newest first; the first one may be in progress.
        vertices: Id -> name, slot sharing group of the vertices.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    history: tuple[Rescale, ...] = ()
    vertices: Mapping[str, tuple[str, str]] = field(default_factory=dict)


NO_RESCALES = RescalesSummary()


class RescaleTracker:
    """A recorder of the latest changes of a job's parallelism.

    Args:
        job_graph: The job.
        now_ms: The time, in ms since the epoch.
        size: Number of changes to remember.
    """

    def __init__(self, job_graph: JobGraph, now_ms: Callable[[], int], size: int) -> None:
        self._vertices = {vertex.id: (vertex.name, slot_sharing_name(vertex)) for vertex in job_graph.vertices}
        self._now_ms = now_ms
        self._history: deque[Rescale] = deque(maxlen=size)
        self._counts: Counter[str] = Counter()
        self._attempts = 0
        self._current: Rescale | None = None

    def begin(
        self,
        cause: TriggerCause,
        desired: Parallelism,
        sufficient: Parallelism,
        before: Parallelism,
        after: Parallelism,
        requirements_id: str,
    ) -> None:
        """Record the start of a change."""
        self._attempts += 1
        now_ms = self._now_ms()
        self._current = Rescale(self._attempts, cause, desired, sufficient, before, after, now_ms, requirements_id)
        self._history.appendleft(self._current)

    def enter(self, state: str) -> None:
        """Record that the job enters a state of the change, such as `Restarting`."""
        if self._current is not None:
            self._current.states.append((state, self._now_ms()))

    def ended(self, end: RescaleEnd, error: str | None = None) -> None:
        """Record the end of the present change; no effect if there is none."""
        if self._current is not None:
            self._current.end, self._current.error, self._current.ended_ms = end, error, self._now_ms()
            self._counts[end.state] += 1
            self._current = None

    def summary(self) -> RescalesSummary:
        """Return the summary of all recorded changes."""
        return RescalesSummary(dict(self._counts), tuple(self._history), self._vertices)
