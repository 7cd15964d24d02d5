"""Endpoints of sampled stacks: flame graphs as in Flink, profiles for `firesteel profile`, and thread dumps."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.common.json_types import Json
from firesteel.common.options.rest_options import FLAMEGRAPH_DEPTH, FLAMEGRAPH_ENABLED
from firesteel.common.stack_frames import ThreadText, threads_of_this_process
from firesteel.rest import job_messages
from firesteel.rest.flame_graphs import flame_graph, sample_job
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Call, Route, Schema
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.resourcemanager.resource_manager_gateway import UnknownTaskExecutorError
from firesteel.runtime.taskexecutor.stack_samples import StackRequest
from firesteel.runtime.thread_pools import REQUESTED_FILES

_TERMINATED, _DISABLED, _WAITING = -1, -2, -3
"""Flink's values of `endTimestamp` without samples."""

_TYPES = {"FULL": (True, False), "ON_CPU": (True,), "OFF_CPU": (False,)}
"""Type of a flame graph -> which samples are in it: those with a processor (True), and those without."""

# One call to the TaskExecutors, which must end well within the timeout of calls.
_MOST_SECONDS, _MOST_PER_SECOND = 5.0, 1000


async def _flame_graph(call: Call) -> Answer:
    """Return the flame graph of a vertex or subtask; the first request begins to sample, and has none yet."""
    job = await call.cluster.job(call.path["jobid"])
    vertex = job_messages.vertex_of(job, call.path["vertexid"])
    wanted = _TYPES.get(call.query.get("type", "FULL").upper())
    if wanted is None:
        raise RestError(400, f"type is {call.query['type']!r:.80}; allowed: FULL, ON_CPU, OFF_CPU")
    subtask = _index(call, len(vertex["subtasks"]))
    if not FLAMEGRAPH_ENABLED.of(call.cluster.configuration):
        return {"endTimestamp": _DISABLED}
    _check_slots(job)
    asked = vertex["subtasks"] if subtask is None else [vertex["subtasks"][subtask]]
    if all(ExecutionState[one["state"]].is_terminal for one in asked):
        return {"endTimestamp": _TERMINATED}
    stacks = call.cluster.flame_graphs.of(job, vertex["id"])
    if stacks is None:
        return {"endTimestamp": _WAITING}
    found = [one for one in stacks.subtasks if subtask in (None, one.subtask)]
    return {"endTimestamp": stacks.ended_ms, "data": flame_graph(found, wanted)}


def _index(call: Call, count: int) -> int | None:
    text = call.query.get("subtaskindex")
    if text is None:
        return None
    if not text.isdecimal():
        raise RestError(400, f"subtaskindex is {text!r:.80}, expected a number")
    if int(text) >= count:
        raise RestError(404, f"Invalid subtask index for vertex {call.path['vertexid']}: {text}")
    return int(text)


def _check_slots(job: ArchivedExecutionGraph) -> None:
    """Check that a job runs in slot processes.

    Raises:
        RestError: it is a BATCH job (400).
    """
    if job.details.job_type == "BATCH":
        raise RestError(400, "stacks are sampled in slot processes, and a BATCH job runs in Spark's Python workers")


async def _profile(call: Call) -> Answer:
    """Return the samples of all subtasks of a job over some seconds, in the order of time."""
    job = await call.cluster.job(call.path["jobid"], fresh=True)
    _check_slots(job)
    seconds = _within(call, "seconds", 2.0, _MOST_SECONDS)
    rate = _within(call, "rate", 100.0, _MOST_PER_SECOND)
    depth = FLAMEGRAPH_DEPTH.of(call.cluster.configuration)
    request = StackRequest(job.details.job_id, None, max(1, round(seconds * rate)), 1 / rate, depth)
    found = await sample_job(await call.cluster.resource_manager(), job, request)
    subtasks: list[Json] = [
        {
            "vertex": one.vertex_id,
            "name": one.vertex_name,
            "subtask": one.subtask,
            "stacks": [[list(frame) for frame in stack] for stack in one.stacks],
            "samples": [list(sample) for sample in one.samples],
        }
        for one in found
    ]
    return {"status": job.details.status.name, "interval": 1 / rate, "subtasks": subtasks}


def _within(call: Call, name: str, default: float, most: float) -> float:
    text = call.query.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= most:
        raise RestError(400, f"{name} is {text!r:.80}, expected a number above 0, and {most:g} at most")
    return value


async def _thread_dump(call: Call) -> Answer:
    return _thread_infos(await REQUESTED_FILES.run(threads_of_this_process))


async def _task_manager_thread_dump(call: Call) -> Answer:
    resource_manager = await call.cluster.resource_manager()
    try:
        return _thread_infos(await resource_manager.request_task_manager_threads(call.path["taskmanagerid"]))
    except UnknownTaskExecutorError:
        raise RestError(404, f"Could not find TaskExecutor {call.path['taskmanagerid']}") from None


def _thread_infos(threads: Iterable[ThreadText]) -> Answer:
    return {"threadInfos": [{"threadName": name, "stringifiedThreadInfo": text} for name, text in threads]}


_QUERY: dict[str, Schema] = {
    "type": {"type": "string", "enum": [name.lower() for name in _TYPES]},
    "subtaskindex": {"type": "integer", "minimum": 0},
}
_PROFILE_QUERY: dict[str, Schema] = {
    "seconds": {"type": "number", "maximum": _MOST_SECONDS},
    "rate": {"type": "number", "maximum": _MOST_PER_SECOND},
}
ROUTES = (
    Route("GET", "/jobs/{jobid}/vertices/{vertexid}/flamegraph", _flame_graph, query=_QUERY),
    Route("GET", "/firesteel/jobs/{jobid}/profile", _profile, "submit", query=_PROFILE_QUERY),
    Route("GET", "/jobmanager/thread-dump", _thread_dump),
    Route("GET", "/taskmanagers/{taskmanagerid}/thread-dump", _task_manager_thread_dump),
)
