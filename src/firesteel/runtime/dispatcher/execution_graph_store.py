"""The jobs that are over, as long as they are kept for those who ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from firesteel.runtime.clock import Clock
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.options import duration_s, number

__all__ = ["ExecutionGraphStore"]

MAX_CAPACITY = 2**31 - 1
EXPIRATION_TIME_S = 3600.0


class ExecutionGraphStore:
    """Keeps jobs that are over, the oldest of which make room. Flink: `dispatcher.MemoryExecutionGraphInfoStore`.

    Args:
        clock: The time it follows.
        configuration: Has `jobstore.max-capacity` and `jobstore.expiration-time`.
    """

    def __init__(self, clock: Clock, configuration: Mapping[str, str]) -> None:
        self._clock = clock
        self._capacity = int(number(configuration, "jobstore.max-capacity", MAX_CAPACITY))
        self._expiration_time_s = duration_s(configuration, "jobstore.expiration-time", EXPIRATION_TIME_S)
        self._jobs: OrderedDict[str, tuple[float, ArchivedExecutionGraph]] = OrderedDict()

    def put(self, job: ArchivedExecutionGraph) -> None:
        """Keep a job."""
        job_id = job.details.job_id
        self._jobs.pop(job_id, None)
        self._jobs[job_id] = (self._clock.monotonic_s() + self._expiration_time_s, job)
        self._make_room()

    def get(self, job_id: str) -> ArchivedExecutionGraph | None:
        """The job, or None if it was never kept or is not kept any more."""
        self._make_room()
        return self._jobs[job_id][1] if job_id in self._jobs else None

    def job_ids(self) -> tuple[str, ...]:
        """All jobs kept, oldest first."""
        self._make_room()
        return tuple(self._jobs)

    def _make_room(self) -> None:
        now_s = self._clock.monotonic_s()
        while self._jobs:
            expires_s, _ = next(iter(self._jobs.values()))
            if expires_s > now_s and len(self._jobs) <= self._capacity:
                return
            self._jobs.popitem(last=False)
