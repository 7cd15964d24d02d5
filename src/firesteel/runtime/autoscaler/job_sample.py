"""What the autoscaler sees of a job at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import JobDetails
from firesteel.runtime.executiongraph.job_status import JobStatus

__all__ = ["JobSample", "SourceSample"]


class SourceSample(NamedTuple):
    """A source: the units that it has read in total, and those that it has left; records, or bytes of files."""

    read: float
    pending: float


@dataclass(frozen=True, slots=True)
class JobSample:
    """A job at one moment.

    Attributes:
        time_s: The time.
        since_s: The time since which it runs with this parallelism, without a restart.
        parallelism: The parallelism of each vertex.
        max_parallelism: The number of its key groups.
        sources: The sources that count what they have left.
        busy_s: The total time in which each region was busy.
    """

    time_s: float
    since_s: float
    parallelism: Mapping[str, int]
    max_parallelism: Mapping[str, int]
    sources: Mapping[str, SourceSample]
    busy_s: Mapping[int, float]

    @classmethod
    def of(cls, job: JobDetails, now_ms: int) -> JobSample | None:
        """Return a sample of a job; None if it is not fully running."""
        is_up = all(vertex.tasks.get(ExecutionState.RUNNING, 0) == vertex.parallelism for vertex in job.vertices)
        if job.status is not JobStatus.RUNNING or not is_up:
            return None
        return cls(
            now_ms / 1000,
            job.timestamps[JobStatus.RUNNING] / 1000,
            {vertex.id: vertex.parallelism for vertex in job.vertices},
            {vertex.id: vertex.max_parallelism for vertex in job.vertices},
            {
                vertex.id: SourceSample(vertex.units_read, pending)
                for vertex in job.vertices
                if vertex.units_read is not None
                and (pending := vertex.pending_bytes if vertex.pending_records is None else vertex.pending_records)
                is not None
            },
            {region: times.busy_s for region, times in job.regions.items()},
        )
