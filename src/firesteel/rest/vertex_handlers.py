"""Endpoints of the vertices of a job and their subtasks."""

from __future__ import annotations

from firesteel.rest import job_messages
from firesteel.rest.cluster import now_ms
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Call, Route
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph


async def _job(call: Call) -> ArchivedExecutionGraph:
    return await call.cluster.job(call.path["jobid"])


async def _vertex(call: Call) -> job_messages.Body:
    return job_messages.vertex_details(await _job(call), call.path["vertexid"], now_ms())


async def _subtask_times(call: Call) -> Answer:
    return job_messages.subtask_times(await _job(call), call.path["vertexid"], now_ms())


async def _task_managers(call: Call) -> job_messages.Body:
    return job_messages.vertex_task_managers(await _job(call), call.path["vertexid"], now_ms())


async def _subtask(call: Call) -> job_messages.Body:
    vertex = job_messages.vertex_of(await _job(call), call.path["vertexid"])
    index = call.number("subtaskindex")
    if index >= len(vertex["subtasks"]):
        raise RestError(404, f"Invalid subtask index for vertex {vertex['id']}: {index}")
    return job_messages.subtask_details(vertex["subtasks"][index], index, now_ms())


async def _attempt(call: Call) -> job_messages.Body:
    subtask = await _subtask(call)
    if subtask["attempt"] != call.number("attempt"):
        raise RestError(404, f"Could not find attempt with number {call.path['attempt']}: only the current one is kept")
    return subtask


async def _attempt_accumulators(call: Call) -> Answer:
    attempt = await _attempt(call)
    ids = (call.path["vertexid"], str(attempt["subtask"]), str(attempt["attempt"]))
    return {
        "subtask": attempt["subtask"],
        "attempt": attempt["attempt"],
        "id": "_".join(ids),
        "user-accumulators": [],
    }


async def _backpressure(call: Call) -> Answer:
    """Return busy and idle times; there is no backpressure, because batches do not wait for each other."""
    vertex = job_messages.vertex_of(await _job(call), call.path["vertexid"])
    level = {"backpressureLevel": "ok", "backpressure-level": "ok"}
    busy = [subtask["metrics"].get("busyTimeMsPerSecond", 0.0) / 1000 for subtask in vertex["subtasks"]]
    subtasks = [
        {"subtask": i, **level, "ratio": 0.0, "idleRatio": round(1 - ratio, 3), "busyRatio": round(ratio, 3)}
        for i, ratio in enumerate(busy)
    ]
    return {"status": "ok", **level, "end-timestamp": now_ms(), "subtasks": subtasks}


async def _accumulators(call: Call) -> Answer:
    vertex = job_messages.vertex_of(await _job(call), call.path["vertexid"])
    return {"id": vertex["id"], "user-accumulators": []}


async def _subtask_accumulators(call: Call) -> Answer:
    vertex = job_messages.vertex_of(await _job(call), call.path["vertexid"])
    subtasks = [
        {
            "subtask": index,
            "attempt": subtask["attempt"],
            "endpoint": job_messages.endpoint_of(subtask),
            "user-accumulators": [],
        }
        for index, subtask in enumerate(vertex["subtasks"])
    ]
    return {"id": vertex["id"], "parallelism": vertex["parallelism"], "subtasks": subtasks}


_VERTEX = "/jobs/{jobid}/vertices/{vertexid}"
ROUTES = (
    Route("GET", _VERTEX, _vertex),
    Route("GET", f"{_VERTEX}/subtasktimes", _subtask_times),
    Route("GET", f"{_VERTEX}/taskmanagers", _task_managers),
    Route("GET", f"{_VERTEX}/backpressure", _backpressure),
    Route("GET", f"{_VERTEX}/accumulators", _accumulators),
    Route("GET", f"{_VERTEX}/subtasks/accumulators", _subtask_accumulators),
    Route("GET", f"{_VERTEX}/subtasks/{{subtaskindex}}", _subtask),
    Route("GET", f"{_VERTEX}/subtasks/{{subtaskindex}}/attempts/{{attempt}}", _attempt),
    Route("GET", f"{_VERTEX}/subtasks/{{subtaskindex}}/attempts/{{attempt}}/accumulators", _attempt_accumulators),
)
