"""The dashboard's pages, and its endpoints beyond Flink's API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from firesteel.common.json_types import Json
from firesteel.rest.cluster import job_id_of
from firesteel.rest.progress_message import progress_of
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Call, Route, Text
from firesteel.rest.samples import INTERVAL_S
from firesteel.runtime.autoscaler.job_scaler import ScalingDecision
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError
from firesteel.runtime.executiongraph.batch_times import PARTS

_DIRECTORY = Path(__file__).parent / "dashboard"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def _file(name: str) -> Callable[[Call], Awaitable[Answer]]:
    path = _DIRECTORY / name

    async def answer(call: Call) -> Answer:
        return Text(path.read_text(), _TYPES[path.suffix])

    return answer


async def _slots(call: Call) -> Answer:
    """Return the subtasks of a job by TaskManager and slot."""
    job = await call.cluster.job(call.path["jobid"])
    places: dict[str, dict[str, list[dict[str, Json]]]] = {}
    for vertex in job.graph.get("vertices", ()):
        for index, subtask in enumerate(vertex["subtasks"]):
            if subtask["task_manager"] is not None and subtask["slot"] is not None:
                named = {"name": vertex["name"], "subtask": index, "parallelism": vertex["parallelism"]}
                slot = places.setdefault(subtask["task_manager"], {}).setdefault(subtask["slot"], [])
                slot.append(named | {"vertex": vertex["id"], "status": subtask["state"]})
    return {
        "taskmanagers": [
            {"id": task_manager, "slots": [{"id": slot, "subtasks": subtasks} for slot, subtasks in slots.items()]}
            for task_manager, slots in places.items()
        ]
    }


async def _stdout(call: Call) -> Answer:
    """Return what a job has printed, from `offset` on; `offset` of the answer says where its text begins."""
    asked = call.query.get("offset", "0")
    if not asked.isdecimal():
        raise RestError(400, f"Bad request, could not parse parameters: offset is {asked!r}, expected a number")
    try:
        dispatcher = await call.cluster.dispatcher()
        offset, text = await dispatcher.request_printed(job_id_of(call.path["jobid"]), int(asked))
    except JobNotFoundError as error:
        raise RestError(404, str(error)) from None
    return {"offset": offset, "text": text}


async def _progress(call: Call) -> Answer:
    """Return what a client shows that waits for the job."""
    try:
        dispatcher = await call.cluster.dispatcher()
        return progress_of(await dispatcher.request_job_details(job_id_of(call.path["jobid"])))
    except JobNotFoundError as error:
        raise RestError(404, str(error)) from None


SAMPLED = (
    "timestamp",
    "read-records",
    "write-records",
    "restarts",
    "checkpoint-duration",
    "memory",
    "pending-records",
    "pending-bytes",
    "batches",
    *(f"batch-{part}-time" for part in PARTS),
)
"""The figures of a job that are sampled; times of batches are totals in ms."""


async def _history(call: Call) -> Answer:
    """Return samples of a job over the last hour, as a list per figure; empty if the JobManager has taken none."""
    samples = call.cluster.samples.of(job_id_of(call.path["jobid"]))
    figures: dict[str, list[Json]] = {name: [] for name in SAMPLED}
    for one in samples:
        of_job = (one.time_ms, one.read, one.written, one.restarts, one.checkpoint_ms, one.memory)
        parts = (round(1000 * one.batches.seconds.get(part, 0.0), 3) for part in PARTS)
        row = (*of_job, one.pending_records, one.pending_bytes, one.batches.batches, *parts)
        for name, figure in zip(SAMPLED, row, strict=True):
            figures[name].append(figure)
    return {"interval": round(INTERVAL_S * 1000), **figures}


async def _autoscaler(call: Call) -> Answer:
    """Return the last decisions of a job's autoscaler, newest first, with their rates in units of the sources."""
    try:
        dispatcher = await call.cluster.dispatcher()
        decisions = await dispatcher.request_scaling_decisions(job_id_of(call.path["jobid"]))
    except JobNotFoundError as error:
        raise RestError(404, str(error)) from None
    return {"enabled": decisions is not None, "decisions": [_decision(one) for one in decisions or ()]}


def _decision(decision: ScalingDecision) -> dict[str, Json]:
    return {
        "timestamp": decision.time_ms,
        "region": decision.region,
        "before": dict(decision.before),
        "after": dict(decision.after),
        "utilization": round(decision.busy, 4),
        "source-data-rate": round(decision.arrival, 1),
        "true-processing-rate": round(decision.true_rate, 1),
        "lag": round(decision.pending),
        "executed": decision.is_carried_out,
        "error": decision.error or None,
    }


ROUTES = (
    Route("GET", "/", _file("index.html"), produces="text/html"),
    Route("GET", "/dashboard/style.css", _file("style.css"), produces="text/css"),
    Route("GET", "/dashboard/app.js", _file("app.js"), produces="text/javascript"),
    Route("GET", "/firesteel/jobs/{jobid}/slots", _slots),
    Route("GET", "/firesteel/jobs/{jobid}/history", _history),
    Route("GET", "/firesteel/jobs/{jobid}/autoscaler", _autoscaler),
    Route("GET", "/firesteel/jobs/{jobid}/progress", _progress),
    Route("GET", "/firesteel/jobs/{jobid}/stdout", _stdout, query={"offset": {"type": "integer", "minimum": 0}}),
)
