"""The progress of a job as JSON: what a client shows that waits for a job of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from firesteel.common.json_types import Json
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import JobDetails, JobVertexDetails
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure

__all__ = ["details_of", "progress_of"]


def progress_of(details: JobDetails) -> Json:
    """Return the details of a job that a progress display needs."""
    return {
        "jid": details.job_id,
        "name": details.name,
        "state": details.status.name,
        "start-time": details.start_ms,
        "end-time": details.end_ms,
        "duration": details.duration_ms,
        "restarts": details.restarts,
        "last-failure": None if details.failure is None else str(details.failure),
        "vertices": [_vertex_to_json(vertex) for vertex in details.vertices],
    }


def details_of(progress: dict[str, Any]) -> JobDetails:
    """Return the details that `progress_of` has made JSON of, without what it leaves out."""
    failure = progress["last-failure"]
    return JobDetails(
        job_id=progress["jid"],
        name=progress["name"],
        status=JobStatus[progress["state"]],
        timestamps={},
        start_ms=progress["start-time"],
        end_ms=progress["end-time"],
        duration_ms=progress["duration"],
        restarts=progress["restarts"],
        failure=None if failure is None else TaskFailure(failure),
        vertices=tuple(JobVertexDetails(**one | {"tasks": _tasks(one["tasks"])}) for one in progress["vertices"]),
    )


def _vertex_to_json(vertex: JobVertexDetails) -> Json:
    fields: dict[str, Json] = asdict(vertex)
    return fields | {"tasks": {state.name: count for state, count in vertex.tasks.items()}}


def _tasks(counts: Mapping[str, int]) -> dict[ExecutionState, int]:
    return {ExecutionState[state]: count for state, count in counts.items()}
