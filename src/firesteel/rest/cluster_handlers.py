"""Endpoints of the cluster: overview, options, JobManager, TaskManagers and applications."""

from __future__ import annotations

import itertools
import platform
import sys
import time
from collections.abc import Mapping
from typing import Any

from firesteel.common.json_types import Json
from firesteel.common.options.rest_options import REST_ADDRESS, WEB_CANCEL_ENABLE
from firesteel.common.options.sensitive_values import masked, masked_argument
from firesteel.rest import job_messages
from firesteel.rest.cluster import now_ms
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Call, Route
from firesteel.runtime.executiongraph.job_details import JobDetails
from firesteel.runtime.resourcemanager.resource_manager_gateway import TaskManagerInfo

FLINK_VERSION = "2.3.0"
"""The version of the API, which Flink's clients check."""

_REFRESH_MS = 3000


async def _overview(call: Call) -> Answer:
    overview = await (await call.cluster.dispatcher()).request_overview()
    return {
        "taskmanagers": overview.task_managers,
        "slots-total": overview.slots_total,
        "slots-available": overview.slots_available,
        "jobs-running": overview.jobs_running,
        "jobs-finished": overview.jobs_finished,
        "jobs-cancelled": overview.jobs_cancelled,
        "jobs-failed": overview.jobs_failed,
        "flink-version": FLINK_VERSION,
        "flink-commit": "firesteel",
    }


async def _shut_down(call: Call) -> Answer:
    """Shut down this JobManager; a standby takes over."""
    call.cluster.shut_down()
    return {}


async def _config(call: Call) -> Answer:
    cancels = WEB_CANCEL_ENABLE.of(call.cluster.configuration)
    return web_configuration({"web-submit": False, "web-cancel": cancels, "web-rescale": True, "web-history": False})


def web_configuration(features: Mapping[str, bool]) -> dict[str, Json]:
    """Return what dashboards ask first."""
    return {
        "refresh-interval": _REFRESH_MS,
        "timezone-name": time.strftime("%Z"),
        "timezone-offset": -time.timezone * 1000,
        "flink-version": FLINK_VERSION,
        "flink-revision": "firesteel",
        "features": dict(features),
    }


async def _applications(call: Call) -> Answer:
    overview = await (await call.cluster.dispatcher()).request_overview()
    now = now_ms()
    return {"applications": [_application(job, now) | {"jobs": {job.status.name: 1}} for job in overview.jobs]}


def _application(job: JobDetails, now: int) -> dict[str, Any]:
    """Return a job as an application of its own, as for jobs submitted to a Flink session cluster."""
    status = job.status.name if job.status.is_globally_terminal else "RUNNING"
    return {
        "id": job.job_id,
        "name": f"SingleJobApplication({job.name})",
        "start-time": job.start_ms,
        "end-time": -1 if job.end_ms is None else job.end_ms,
        "duration": (now if job.end_ms is None else job.end_ms) - job.start_ms,
        "status": status,
    }


async def _application_details(call: Call) -> Answer:
    job = (await call.cluster.job(call.path["applicationid"])).details
    now = now_ms()
    states = ("CREATED", "RUNNING", "FAILING", "FAILED", "CANCELING", "CANCELED", "FINISHED")
    timestamps = {status.name: at for status, at in job.timestamps.items()}
    return _application(job, now) | {
        "timestamps": {state: timestamps.get(state, 0) for state in states},
        "jobs": [job_messages.job_overview(job, job.job_type, now)],
    }


async def _application_exceptions(call: Call) -> Answer:
    job = await call.cluster.job(call.path["applicationid"])
    size = job_messages.exception_history_size(job, call.cluster.configuration)
    return job_messages.application_exceptions(job, 20, size)


async def _options(call: Call) -> Json:
    options = masked(call.cluster.configuration)
    return [{"key": key, "value": value} for key, value in sorted(options.items())]


async def _options_for_job(call: Call) -> Answer:
    await call.cluster.job(call.path.get("jobid") or call.path["applicationid"])
    return await _options(call)


async def _environment(call: Call) -> Answer:
    version = f"Python {platform.python_version()} ({platform.python_implementation()})"
    return {
        "jvm": {
            "version": version,
            "arch": platform.machine(),
            "options": [masked_argument(argument) for argument in sys.orig_argv],
        },
        "classpath": list(sys.path),
    }


async def _profiler(call: Call) -> Answer:
    return {"profilingList": []}


async def _jars(call: Call) -> Answer:
    """Return no jars, because Java programs are not run."""
    return {"address": REST_ADDRESS.of(call.cluster.configuration), "files": []}


async def _data_sets(call: Call) -> Answer:
    """Return no cluster data sets, which BATCH jobs share in Flink."""
    return {"dataSets": []}


# --- TaskManagers --------------------------------------------------------------------------------------------------


async def _task_managers(call: Call) -> job_messages.Body:
    infos = await (await call.cluster.resource_manager()).request_task_managers()
    return {"taskmanagers": [_task_manager(info) for info in infos]}


def _task_manager(info: TaskManagerInfo) -> dict[str, Any]:
    free = info.slots.count(None)
    return {
        "id": info.resource_id,
        "path": info.address,
        "dataPort": -1,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": info.last_heartbeat_ms,
        "slotsNumber": len(info.slots),
        "freeSlots": free,
        "assignedTasks": sum(info.tasks),
        "totalResource": _resource(len(info.slots)),
        "freeResource": _resource(free),
        "hardware": {
            "cpuCores": info.usage.cpu_cores,
            "physicalMemory": info.usage.physical_memory,
            "freeMemory": info.usage.free_memory,
            "managedMemory": 0,
        },
        "memoryConfiguration": dict.fromkeys(_MEMORY, 0),
    }


_MEMORY = (
    "frameworkHeap",
    "taskHeap",
    "frameworkOffHeap",
    "taskOffHeap",
    "networkMemory",
    "managedMemory",
    "jvmMetaspace",
    "jvmOverhead",
    "totalFlinkMemory",
    "totalProcessMemory",
)
"""Memory budgets of Flink, which Python processes do not have."""

_JVM_METRICS = (
    *(f"{area}{figure}" for area in ("heap", "nonHeap") for figure in ("Used", "Committed", "Max")),
    *(f"{area}{figure}" for area in ("direct", "mapped") for figure in ("Count", "Used", "Max")),
    *(f"nettyShuffleMemory{of}{figure}" for of in ("Segments", "") for figure in ("Available", "Used", "Total")),
)
"""Memory metrics of a JVM; the memory of a Python process is reported as its heap."""


def _resource(slots: int) -> dict[str, object]:
    memory = dict.fromkeys(("taskHeapMemory", "taskOffHeapMemory", "managedMemory", "networkMemory"), 0)
    return {"cpuCores": float(slots), **memory, "extendedResources": {}}


async def _task_manager_info(call: Call) -> TaskManagerInfo:
    wanted = call.path["taskmanagerid"]
    for info in await (await call.cluster.resource_manager()).request_task_managers():
        if info.resource_id == wanted:
            return info
    raise RestError(404, f"Could not find TaskExecutor {wanted}")


async def _task_manager_details(call: Call) -> Answer:
    info = await _task_manager_info(call)
    slots = [
        {"jobId": job_id, "resource": _resource(1), "assignedTasks": tasks}
        for job_id, tasks in itertools.zip_longest(info.slots, info.tasks, fillvalue=0)
        if job_id
    ]
    used = {"heapUsed": info.usage.used_memory, "heapCommitted": info.usage.used_memory}
    metrics = {
        **dict.fromkeys(_JVM_METRICS, 0),
        **used,
        "heapMax": info.usage.physical_memory,
        "garbageCollectors": [],
    }
    return _task_manager(info) | {"allocatedSlots": slots, "metrics": metrics}


ROUTES = (
    Route("GET", "/overview", _overview),
    Route("DELETE", "/cluster", _shut_down, "admin"),
    Route("GET", "/config", _config),
    Route("GET", "/applications/overview", _applications),
    Route("GET", "/applications/{applicationid}", _application_details),
    Route("GET", "/applications/{applicationid}/exceptions", _application_exceptions),
    Route("GET", "/applications/{applicationid}/jobmanager/config", _options_for_job),
    Route("GET", "/jobmanager/config", _options),
    Route("GET", "/jobmanager/environment", _environment),
    Route("GET", "/jobmanager/profiler", _profiler),
    Route("GET", "/jobs/{jobid}/jobmanager/config", _options_for_job),
    Route("GET", "/jobs/{jobid}/jobmanager/environment", _environment),
    Route("GET", "/taskmanagers", _task_managers),
    Route("GET", "/taskmanagers/{taskmanagerid}", _task_manager_details),
    Route("GET", "/taskmanagers/{taskmanagerid}/profiler", _profiler),
    Route("GET", "/jars", _jars),
    Route("GET", "/datasets", _data_sets),
)
