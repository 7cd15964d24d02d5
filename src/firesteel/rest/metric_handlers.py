"""Endpoints of metrics; without `get` they list the available metrics, with it they return values.

Flink: `runtime.rest.handler.job.metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from firesteel.common.json_types import Json
from firesteel.rest import job_messages
from firesteel.rest.cluster import now_ms
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import STRING, Answer, Call, Route, Schema
from firesteel.runtime.executiongraph.batch_times import PARTS
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.process_usage import ProcessUsage, usage_of_this_process
from firesteel.runtime.thread_pools import REQUESTED_FILES

Values = dict[str, float | str]

_AGGREGATIONS = ("min", "max", "avg", "sum", "skew")
_NO_WATERMARK = -(2**63)


def _chosen(call: Call, values: Mapping[str, float | str]) -> Json:
    """Return the names of all metrics, or the values of the metrics listed in `get`."""
    if "get" not in call.query:
        return [{"id": name} for name in values]
    wanted = call.query["get"].split(",")
    return [{"id": name, "value": str(values[name])} for name in wanted if name in values]


def _aggregated(call: Call, of_each: Iterable[Mapping[str, float | str]]) -> Json:
    """Return minimum, maximum, average, sum and skew of each metric over several sets of values."""
    found: dict[str, list[float]] = {}
    for values in of_each:
        for name, value in values.items():
            if not isinstance(value, str):
                found.setdefault(name, []).append(float(value))
    if "get" not in call.query:
        return [{"id": name} for name in found]
    asked = [part for part in call.query.get("agg", ",".join(_AGGREGATIONS)).split(",") if part]
    unknown = [part for part in asked if part not in _AGGREGATIONS]
    if unknown:
        raise RestError(400, f"agg contains {unknown[0]!r}; allowed: {', '.join(_AGGREGATIONS)}")
    wanted = [name for name in call.query["get"].split(",") if name in found]
    return [{"id": name} | {part: _aggregate(part, found[name]) for part in asked} for name in wanted]


def _aggregate(part: str, values: list[float]) -> float:
    average = sum(values) / len(values)
    if part == "skew":
        deviation = sum(abs(value - average) for value in values) / len(values)
        return 0.0 if not average else min(100.0, 100 * deviation / average)
    return {"min": min(values), "max": max(values), "avg": average, "sum": sum(values)}[part]


# --- jobs ----------------------------------------------------------------------------------------------------------


_TIMED_STATUSES = (
    JobStatus.CREATED,
    JobStatus.INITIALIZING,
    JobStatus.RUNNING,
    JobStatus.FAILING,
    JobStatus.RESTARTING,
    JobStatus.CANCELLING,
)
_DOWN = frozenset({JobStatus.FAILING, JobStatus.RESTARTING})


def of_job(job: JobDetails, now: int) -> Values:
    """Return the metrics of a job; as in Flink, times refer to the current status and are 0 for others, in ms."""
    running_ms = job.timestamps.get(JobStatus.RUNNING)
    end = now if job.end_ms is None else job.end_ms
    since = {status: now - job.timestamps[status] if status is job.status else 0 for status in _TIMED_STATUSES}
    restored = job.checkpoints.restored
    values: Values = {
        **{f"{status.name.lower()}Time": ms for status, ms in since.items()},
        "numRestarts": job.restarts,
        "uptime": 0 if running_ms is None else end - running_ms,
        "downtime": max(since[status] for status in _DOWN),
        "numberOfCompletedCheckpoints": job.checkpoints.completed,
        "totalNumberOfCheckpoints": job.checkpoints.total,
        "numberOfFailedCheckpoints": job.checkpoints.failed,
        "numberOfInProgressCheckpoints": job.checkpoints.in_progress,
        "lastCheckpointRestoreTimestamp": -1 if restored is None else restored.restored_ms,
    }
    if job.batches.batches:
        parts = {f"accumulateBatch{part.capitalize()}TimeMs": job.batches.seconds[part] for part in PARTS}
        values |= {"numBatches": job.batches.batches, **{name: round(s * 1000, 3) for name, s in parts.items()}}
    latest = job.checkpoints.latest
    if latest is not None:
        values |= {
            "lastCheckpointSize": latest.checkpointed_size,
            "lastCheckpointFullSize": latest.state_size,
            "lastCheckpointDuration": latest.duration_ms,
            "lastCompletedCheckpointId": latest.checkpoint_id,
            "lastCheckpointCompletedTimestamp": latest.trigger_timestamp_ms + latest.duration_ms,
            "lastCheckpointExternalPath": f"file:{latest.external_path}",
        }
    return values


async def _job_metrics(call: Call) -> Answer:
    job = await call.cluster.job(call.path["jobid"])
    return _chosen(call, of_job(job.details, now_ms()))


async def _all_jobs_metrics(call: Call) -> Answer:
    overview = await (await call.cluster.dispatcher()).request_overview()
    wanted = call.query["jobs"].split(",") if "jobs" in call.query else None
    now = now_ms()
    return _aggregated(call, [of_job(job, now) for job in overview.jobs if wanted is None or job.job_id in wanted])


# --- vertices ------------------------------------------------------------------------------------------------------


async def _subtasks(call: Call) -> list[Values]:
    job: ArchivedExecutionGraph = await call.cluster.job(call.path["jobid"])
    vertex = job_messages.vertex_of(job, call.path["vertexid"])
    return [subtask["metrics"] for subtask in vertex["subtasks"]]


async def _vertex_metrics(call: Call) -> Answer:
    subtasks = await _subtasks(call)
    return _chosen(call, {f"{i}.{name}": value for i, values in enumerate(subtasks) for name, value in values.items()})


async def _subtask_metrics(call: Call) -> Answer:
    subtasks, index = await _subtasks(call), call.number("subtaskindex")
    if index >= len(subtasks):
        raise RestError(404, f"Invalid subtask index for vertex {call.path['vertexid']}: {index}")
    return _chosen(call, subtasks[index])


async def _all_subtasks_metrics(call: Call) -> Answer:
    return _aggregated(call, await _subtasks(call))


async def _watermarks(call: Call) -> Answer:
    name = "currentInputWatermark"
    found = [(i, values.get(name, _NO_WATERMARK)) for i, values in enumerate(await _subtasks(call))]
    return [{"id": f"{i}.{name}", "value": str(value)} for i, value in found if value != _NO_WATERMARK]


async def _operator_metrics(call: Call) -> Answer:
    """Return no metrics of operator coordinators, because firesteel's enumerators have none."""
    await _subtasks(call)
    return []


# --- cluster -------------------------------------------------------------------------------------------------------


def of_process(usage: ProcessUsage) -> Values:
    """Return the metrics of a process under Java's names; its memory is reported as heap."""
    return {
        "Status.JVM.CPU.Time": round(usage.cpu_time_s * 1e9),
        "Status.JVM.Threads.Count": usage.threads,
        "Status.JVM.Memory.Heap.Used": usage.used_memory,
        "Status.JVM.Memory.Heap.Committed": usage.used_memory,
        "Status.JVM.Memory.Heap.Max": usage.physical_memory,
    }


async def of_cluster(call: Call) -> Values:
    """Return the metrics of the serving process and of the cluster."""
    overview = await (await call.cluster.dispatcher()).request_overview()
    return of_process(await REQUESTED_FILES.run(usage_of_this_process)) | {
        "numRegisteredTaskManagers": overview.task_managers,
        "taskSlotsTotal": overview.slots_total,
        "taskSlotsAvailable": overview.slots_available,
        "numRunningJobs": overview.jobs_running,
    }


async def _cluster_metrics(call: Call) -> Answer:
    return _chosen(call, await of_cluster(call))


async def _task_manager_metrics(call: Call) -> Answer:
    usages = await _usages(call)
    if call.path["taskmanagerid"] not in usages:
        raise RestError(404, f"Could not find TaskExecutor {call.path['taskmanagerid']}")
    return _chosen(call, of_process(usages[call.path["taskmanagerid"]]))


async def _task_managers_metrics(call: Call) -> Answer:
    usages = await _usages(call)
    wanted = call.query["taskmanagers"].split(",") if "taskmanagers" in call.query else usages
    return _aggregated(call, [of_process(usages[name]) for name in wanted if name in usages])


async def _usages(call: Call) -> dict[str, ProcessUsage]:
    infos = await (await call.cluster.resource_manager()).request_task_managers()
    return {info.resource_id: info.usage for info in infos}


_VERTEX = "/jobs/{jobid}/vertices/{vertexid}"
_GET: dict[str, Schema] = {"get": STRING}
_AGG: dict[str, Schema] = {"get": STRING, "agg": STRING}
ROUTES = (
    Route("GET", "/jobmanager/metrics", _cluster_metrics, query=_GET),
    Route("GET", "/jobs/metrics", _all_jobs_metrics, query=_AGG | {"jobs": STRING}),
    Route("GET", "/jobs/{jobid}/metrics", _job_metrics, query=_GET),
    Route("GET", f"{_VERTEX}/metrics", _vertex_metrics, query=_GET),
    Route("GET", f"{_VERTEX}/watermarks", _watermarks),
    Route("GET", f"{_VERTEX}/jm-operator-metrics", _operator_metrics, query=_GET),
    Route("GET", f"{_VERTEX}/subtasks/metrics", _all_subtasks_metrics, query=_AGG),
    Route("GET", f"{_VERTEX}/subtasks/{{subtaskindex}}/metrics", _subtask_metrics, query=_GET),
    Route("GET", "/taskmanagers/metrics", _task_managers_metrics, query=_AGG | {"taskmanagers": STRING}),
    Route("GET", "/taskmanagers/{taskmanagerid}/metrics", _task_manager_metrics, query=_GET),
)
