"""Jobs and their vertices in REST messages (Flink: `runtime.rest.messages.job`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.common.options.pipeline_options import DEFAULT_PARALLELISM, MAX_PARALLELISM, OBJECT_REUSE
from firesteel.common.options.rest_options import WEB_EXCEPTION_HISTORY_SIZE
from firesteel.common.options.sensitive_values import masked
from firesteel.rest.rest_errors import RestError
from firesteel.runtime.executiongraph.execution_event import ExecutionEvent
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails, JobVertexDetails
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.scheduler.restart_strategy import describe_restart_strategy

Body = dict[str, Any]

_AGGREGATED_STATES = (
    ExecutionState.FAILED,
    ExecutionState.CANCELING,
    ExecutionState.CANCELED,
    ExecutionState.INITIALIZING,
    ExecutionState.RUNNING,
    ExecutionState.DEPLOYING,
    ExecutionState.SCHEDULED,
    ExecutionState.CREATED,
    ExecutionState.FINISHED,
)
"""A vertex has the first of these states that a subtask has; FINISHED if all have it (Flink: `ExecutionJobVertex`)."""


def job_overview(details: JobDetails, job_type: str, now_ms: int) -> Body:
    """Return the entry of a job in `/jobs/overview`."""
    counts = {state.name.lower(): details.tasks.get(state, 0) for state in ExecutionState}
    counts["total"] = sum(details.tasks.values())
    return {
        "jid": details.job_id,
        "name": details.name,
        "jobType": job_type,
        "schedulerType": "Default",
        "start-time": details.start_ms,
        "end-time": -1 if details.end_ms is None else details.end_ms,
        "duration": (now_ms if details.end_ms is None else details.end_ms) - details.start_ms,
        "state": details.status.name,
        "last-modification": max(details.timestamps.values()),
        "tasks": counts,
        "pending-operators": 0,
    }


def job_details(job: ArchivedExecutionGraph, now_ms: int) -> Body:
    """Return the body of `/jobs/:jobid`."""
    details = job.details
    vertices = [_vertex(job, vertex, now_ms) for vertex in details.vertices]
    return {
        "jid": details.job_id,
        "application-id": details.job_id,
        "name": details.name,
        "isStoppable": False,
        "state": details.status.name,
        "job-type": job.plan["type"],
        "schedulerType": "Default",
        "start-time": details.start_ms,
        "end-time": -1 if details.end_ms is None else details.end_ms,
        "duration": details.duration_ms if details.end_ms is not None else now_ms - details.start_ms,
        "maxParallelism": MAX_PARALLELISM.of(job.configuration),
        "now": now_ms,
        "timestamps": {status.name: details.timestamps.get(status, 0) for status in JobStatus},
        "vertices": vertices,
        "status-counts": _counts(vertex["status"] for vertex in vertices),
        "plan": job.plan,
        "pending-operators": 0,
    }


def _counts(states: Iterable[str]) -> dict[str, int]:
    counts = {state.name: 0 for state in ExecutionState}
    for state in states:
        counts[state] += 1
    return counts


def _vertex(job: ArchivedExecutionGraph, vertex: JobVertexDetails, now_ms: int) -> Body:
    subtasks = next((found["subtasks"] for found in job.graph.get("vertices", ()) if found["id"] == vertex.id), ())
    group = job.slot_sharing_groups.get(vertex.id, "default")
    start, end = vertex.start_ms, vertex.end_ms
    return {
        "id": vertex.id,
        "slotSharingGroupId": hashlib.md5(group.encode(), usedforsecurity=False).hexdigest(),
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": _aggregated(vertex).name,
        "start-time": -1 if start is None else start,
        "end-time": -1 if end is None else end,
        "duration": -1 if start is None else (now_ms if end is None else end) - start,
        "tasks": {state.name: vertex.tasks.get(state, 0) for state in ExecutionState},
        "metrics": io_metrics(subtasks),
    }


def _aggregated(vertex: JobVertexDetails) -> ExecutionState:
    if vertex.tasks.get(ExecutionState.FINISHED, 0) == vertex.parallelism:
        return ExecutionState.FINISHED
    return next((state for state in _AGGREGATED_STATES if vertex.tasks.get(state)), ExecutionState.CREATED)


def io_metrics(subtasks: Iterable[Mapping[str, Any]]) -> Body:
    """Return the aggregated `metrics` of subtasks; the busy time is NaN until all of them have reported it."""
    tasks = list(subtasks)

    def total(name: str) -> int:
        return sum(round(task["metrics"].get(name, 0)) for task in tasks)

    is_complete = all("accumulateBusyTimeMs" in task["metrics"] for task in tasks)
    return {
        "read-bytes": total("numBytesIn"),
        "read-bytes-complete": is_complete,
        "write-bytes": total("numBytesOut"),
        "write-bytes-complete": is_complete,
        "read-records": sum(task["records_in"] for task in tasks),
        "read-records-complete": True,
        "write-records": sum(task["records_out"] for task in tasks),
        "write-records-complete": True,
        "accumulated-backpressured-time": total("accumulateBackPressuredTimeMs"),
        "accumulated-idle-time": total("accumulateIdleTimeMs"),
        "accumulated-busy-time": float(total("accumulateBusyTimeMs")) if is_complete else "NaN",
    }


def vertex_of(job: ArchivedExecutionGraph, vertex_id: str) -> Body:
    """Return a vertex of the graph as plain data.

    Raises:
        RestError: there is no such vertex (404).
    """
    for vertex in job.graph.get("vertices", ()):
        if vertex["id"] == vertex_id:
            return dict(vertex)
    raise RestError(404, f"job {job.details.job_id} has no vertex {vertex_id}")


def vertex_details(job: ArchivedExecutionGraph, vertex_id: str, now_ms: int) -> Body:
    """Return the body of `/jobs/:jobid/vertices/:vertexid`."""
    vertex = vertex_of(job, vertex_id)
    return {
        "id": vertex["id"],
        "name": vertex["name"],
        "parallelism": vertex["parallelism"],
        "maxParallelism": vertex["max_parallelism"],
        "now": now_ms,
        "subtasks": [subtask_details(subtask, i, now_ms) for i, subtask in enumerate(vertex["subtasks"])],
        "aggregated": _aggregates(vertex["subtasks"], now_ms),
    }


def subtask_details(subtask: Mapping[str, Any], index: int, now_ms: int) -> Body:
    """Return the current attempt of a subtask."""
    start, end = _times(subtask)
    return {
        "subtask": index,
        "status": subtask["state"],
        "attempt": subtask["attempt"],
        "endpoint": endpoint_of(subtask),
        "start-time": start,
        "end-time": end,
        "duration": -1 if start < 0 else (now_ms if end < 0 else end) - start,
        "metrics": io_metrics([subtask]),
        "taskmanager-id": subtask["task_manager"] or "(unassigned)",
        "status-duration": _durations(subtask["timestamps"], subtask["state"], now_ms),
        "start_time": start,
    }


def endpoint_of(subtask: Mapping[str, object]) -> str:
    """Return the location of a subtask."""
    return str(subtask["task_manager"] or "(unassigned)")


def _times(subtask: Mapping[str, Any]) -> tuple[int, int]:
    """Return the deployment time and the end time of a subtask in ms since the epoch; -1 means not yet."""
    timestamps = subtask["timestamps"]
    ends = [timestamps[state.name] for state in ExecutionState if state.is_terminal and state.name in timestamps]
    return timestamps.get("DEPLOYING", -1), max(ends, default=-1)


def _durations(timestamps: Mapping[str, int], state: str, now_ms: int) -> dict[str, int]:
    """Return the milliseconds spent in each past state and in the current one."""
    entered = sorted(timestamps.items(), key=lambda item: item[1])
    ends = [at for _, at in entered[1:]] + [now_ms]
    terminal = {state.name for state in ExecutionState if state.is_terminal}
    return {
        name: end - at for (name, at), end in zip(entered, ends, strict=True) if name not in terminal or name != state
    }


def _aggregates(subtasks: Iterable[Mapping[str, Any]], now_ms: int) -> Body:
    """Return minimum, maximum, average and quantiles over subtasks."""
    metrics: dict[str, list[int]] = {}
    durations: dict[str, list[int]] = {}
    for task in subtasks:
        for name, value in io_metrics([task]).items():
            if not isinstance(value, bool):
                metrics.setdefault(name, []).append(0 if value == "NaN" else round(value))
        for state, duration in _durations(task["timestamps"], task["state"], now_ms).items():
            durations.setdefault(state, []).append(duration)
    return {
        "metrics": {name: summary(values) for name, values in metrics.items()},
        "status-duration": {state: summary(values) for state, values in durations.items()},
    }


def summary(values: list[int]) -> Body:
    """Return statistics of a list of numbers."""
    ordered = sorted(values) or [0]

    def quantile(share: float) -> int:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return {
        "min": ordered[0],
        "max": ordered[-1],
        "avg": sum(ordered) // len(ordered),
        "sum": sum(ordered),
        "median": quantile(0.5),
        "p25": quantile(0.25),
        "p75": quantile(0.75),
        "p95": quantile(0.95),
    }


def subtask_times(job: ArchivedExecutionGraph, vertex_id: str, now_ms: int) -> Body:
    """Return the body of `/jobs/:jobid/vertices/:vertexid/subtasktimes`."""
    vertex = vertex_of(job, vertex_id)
    return {
        "id": vertex["id"],
        "name": vertex["name"],
        "now": now_ms,
        "subtasks": [
            {
                "subtask": index,
                "endpoint": endpoint_of(subtask),
                "duration": subtask_details(subtask, index, now_ms)["duration"],
                "timestamps": {state.name: subtask["timestamps"].get(state.name, 0) for state in ExecutionState},
            }
            for index, subtask in enumerate(vertex["subtasks"])
        ],
    }


def vertex_task_managers(job: ArchivedExecutionGraph, vertex_id: str, now_ms: int) -> Body:
    """Return the body of `/jobs/:jobid/vertices/:vertexid/taskmanagers`: the subtasks by TaskManager."""
    vertex = vertex_of(job, vertex_id)
    by_place: dict[str, list[Mapping[str, object]]] = {}
    for subtask in vertex["subtasks"]:
        by_place.setdefault(endpoint_of(subtask), []).append(subtask)
    return {
        "id": vertex["id"],
        "name": vertex["name"],
        "now": now_ms,
        "taskmanagers": [_task_manager(place, subtasks, now_ms) for place, subtasks in by_place.items()],
    }


def _task_manager(place: str, subtasks: list[Mapping[str, Any]], now_ms: int) -> Body:
    starts, ends = zip(*map(_times, subtasks), strict=True)
    end = -1 if -1 in ends else max(ends)
    start = min((at for at in starts if at >= 0), default=-1)
    counts = _counts(s["state"] for s in subtasks)
    status = next((state.name for state in _AGGREGATED_STATES if counts[state.name]), "CREATED")
    return {
        "endpoint": place,
        "host": place,
        "status": status,
        "start-time": start,
        "end-time": end,
        "duration": -1 if start < 0 else (now_ms if end < 0 else end) - start,
        "metrics": io_metrics(subtasks),
        "status-counts": counts,
        "taskmanager-id": place,
        "aggregated": _aggregates(subtasks, now_ms),
    }


def exception_history_size(job: ArchivedExecutionGraph, cluster: Mapping[str, str]) -> int:
    """Return how many failures of a job are shown, by its options and those of its cluster."""
    return WEB_EXCEPTION_HISTORY_SIZE.of({**cluster, **job.configuration})


def job_exceptions(job: ArchivedExecutionGraph, limit: int, history_size: int) -> Body:
    """Return the body of `/jobs/:jobid/exceptions`: failures, the newest first.

    Args:
        job: The job.
        limit: The most failures to return.
        history_size: The most failures to remember, as `web.exception-history-size` says.
    """
    entries = _failures(job)[-history_size:][::-1] if history_size else []
    return {"exceptionHistory": {"entries": entries[:limit], "truncated": len(entries) > limit}}


def _failures(job: ArchivedExecutionGraph) -> list[Body]:
    """Return the failures of a job, the oldest first; what fails again after a restart is a failure of its own."""
    entries: list[Body] = []
    is_new = True
    for event in job.history:
        failure = event.cause
        if failure is None:
            # Changes of the status that follow from a failure name it again, until attempts begin anew.
            is_new = is_new or (isinstance(event, ExecutionEvent) and event.state is ExecutionState.CREATED)
            continue
        subtask = "" if failure.subtask_index is None else f" ({failure.subtask_index + 1}/{failure.parallelism})"
        entry: Body = {
            "exceptionName": failure.message.split(":")[0],
            "stacktrace": f"{failure}\n{failure.user_traceback or failure.details}".rstrip(),
            "timestamp": event.timestamp_ms,
            "failureLabels": {},
            "taskName": None if failure.vertex_name is None else f"{failure.vertex_name}{subtask}",
            "endpoint": None,
            "taskManagerId": getattr(event, "task_manager_id", None),
            "concurrentExceptions": [],
        }
        if is_new or entries[-1]["stacktrace"] != entry["stacktrace"]:
            entries.append(entry)
        is_new = False
    return entries


def application_exceptions(job: ArchivedExecutionGraph, limit: int, history_size: int) -> Body:
    """Return the body of `/applications/:applicationid/exceptions`: the exceptions of its job."""
    kept = ("exceptionName", "stacktrace", "timestamp")
    entries = job_exceptions(job, limit, history_size)["exceptionHistory"]["entries"]
    job_id = job.details.job_id
    return {"exceptionHistory": {"entries": [{key: one[key] for key in kept} | {"jobId": job_id} for one in entries]}}


def job_config(job: ArchivedExecutionGraph) -> Body:
    """Return the body of `/jobs/:jobid/config`."""
    options = job.configuration
    return {
        "jid": job.details.job_id,
        "name": job.details.name,
        "execution-config": {
            "restart-strategy": describe_restart_strategy(options),
            "job-parallelism": DEFAULT_PARALLELISM.of(options) or 1,
            "object-reuse-mode": OBJECT_REUSE.of(options),
            "user-config": masked(options),
        },
    }
