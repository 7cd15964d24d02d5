"""Endpoints of the parallelism of running jobs: its bounds, and its changes."""

from __future__ import annotations

from firesteel.common.json_types import Json
from firesteel.common.options.rescale_options import RESCALE_HISTORY_SIZE, SUBMISSION_WAIT
from firesteel.common.options.slot_options import SLOT_IDLE_TIMEOUT
from firesteel.graph.job_graph import ParallelismBounds
from firesteel.graph.resource_requirements import ResourceRequirementsError
from firesteel.rest.checkpoint_messages import quantiles
from firesteel.rest.cluster import job_id_of
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Call, Route
from firesteel.runtime.dispatcher.dispatcher_gateway import JobInitializingError, JobNotFoundError
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.executiongraph.rescales import Rescale, RescalesSummary
from firesteel.runtime.scheduler.rescaling import RescalingOptions

_ENDS = ("IGNORED", "COMPLETED", "FAILED")
_UNKNOWN_PROFILE: dict[str, Json] = {}
_EXAMPLE = '{"<vertex id>": {"parallelism": {"lowerBound": 1, "upperBound": 4}}}'


async def _requirements(call: Call) -> Answer:
    try:
        dispatcher = await call.cluster.dispatcher()
        bounds = await dispatcher.request_resource_requirements(job_id_of(call.path["jobid"]))
    except (JobNotFoundError, JobInitializingError) as error:
        raise _refused(error) from None
    return {
        vertex: {"parallelism": {"lowerBound": one.lower, "upperBound": one.upper}} for vertex, one in bounds.items()
    }


async def _require(call: Call) -> Answer:
    bounds = {vertex: _bounds(vertex, wanted) for vertex, wanted in call.body.items()}
    try:
        dispatcher = await call.cluster.dispatcher()
        await dispatcher.update_resource_requirements(job_id_of(call.path["jobid"]), bounds)
    except (JobNotFoundError, JobInitializingError) as error:
        raise _refused(error) from None
    except ResourceRequirementsError as error:
        raise RestError(400, str(error)) from None
    return {}


def _refused(error: JobNotFoundError | JobInitializingError) -> RestError:
    return RestError(404 if isinstance(error, JobNotFoundError) else 503, str(error))


def _bounds(vertex: str, wanted: Json) -> ParallelismBounds:
    match wanted:
        # True and False are numbers to Python.
        case {"parallelism": {"lowerBound": bool()}} | {"parallelism": {"upperBound": bool()}}:
            pass
        case {"parallelism": {"lowerBound": int(lower), "upperBound": int(upper)}}:
            return ParallelismBounds(lower, upper)
        case {"parallelism": {"upperBound": int(upper), **others}} if "lowerBound" not in others:
            return ParallelismBounds(1, upper)
    raise RestError(400, f"the requirements of vertex {vertex} are {wanted!r:.200}, expected {_EXAMPLE}")


async def _config(call: Call) -> Answer:
    job = await call.cluster.job(call.path["jobid"])
    configuration = {**call.cluster.configuration, **job.configuration}
    options = RescalingOptions.of(configuration)
    return {
        "rescaleHistoryMax": RESCALE_HISTORY_SIZE.of(configuration),
        "schedulerExecutionMode": None,
        "submissionResourceWaitTimeoutInMillis": _millis(SUBMISSION_WAIT.of(configuration)),
        "submissionResourceStabilizationTimeoutInMillis": _millis(options.submission_s),
        "slotIdleTimeoutInMillis": _millis(SLOT_IDLE_TIMEOUT.of(configuration)),
        "executingCooldownTimeoutInMillis": _millis(options.cooldown_s),
        "executingResourceStabilizationTimeoutInMillis": _millis(options.running_s),
        # A change takes its own checkpoint, and waits for no other one.
        "maximumDelayForTriggeringRescaleInMillis": 0,
        "rescaleOnFailedCheckpointCount": 0,
    }


def _millis(seconds: float) -> int:
    return round(seconds * 1000)


async def _overview(call: Call) -> Answer:
    summary = (await call.cluster.job(call.path["jobid"])).rescales
    latest = {
        state.lower(): next((_rescale(summary, one) for one in summary.history if _state(one) == state), None)
        for state in _ENDS
    }
    running = next((_rescale(summary, one) for one in summary.history if one.end is None), None)
    return {"rescalesCounts": _counts(summary), "latest": {**latest, "inProgress": running}}


async def _history(call: Call) -> Answer:
    summary = (await call.cluster.job(call.path["jobid"])).rescales
    return [_rescale(summary, one) for one in summary.history]


async def _summary(call: Call) -> Answer:
    summary = (await call.cluster.job(call.path["jobid"])).rescales
    ended = [one for one in summary.history if one.end is not None]
    of_states = {
        f"{state.lower()}RescalesDurationStatsInMillis": quantiles(
            [one.duration_ms for one in ended if _state(one) == state]
        )
        for state in _ENDS
    }
    every = quantiles([one.duration_ms for one in ended])
    return {"rescalesCounts": _counts(summary), "rescalesDurationStatsInMillis": every, **of_states}


async def _details(call: Call) -> Answer:
    job: ArchivedExecutionGraph = await call.cluster.job(call.path["jobid"])
    for one in job.rescales.history:
        if one.id == call.path["rescaleuuid"]:
            return _rescale(job.rescales, one)
    raise RestError(404, f"job {job.details.job_id} has no rescale {call.path['rescaleuuid']}, or it is not kept")


def _state(rescale: Rescale) -> str | None:
    return None if rescale.end is None else rescale.end.state


def _counts(summary: RescalesSummary) -> dict[str, int]:
    running = sum(one.end is None for one in summary.history)
    return {**{state.lower(): summary.counts.get(state, 0) for state in _ENDS}, "inProgress": running}


def _rescale(summary: RescalesSummary, rescale: Rescale) -> dict[str, Json]:
    """Return a change in the form of Flink's `JobRescaleDetails`."""
    return {
        "rescaleUuid": rescale.id,
        "resourceRequirementsUuid": rescale.requirements_id,
        "rescaleAttemptId": rescale.attempt,
        "vertices": {vertex: _vertex(rescale, vertex, *names) for vertex, names in summary.vertices.items()},
        "slots": {group: _slots(summary, rescale, group) for group in _groups(summary)},
        "schedulerStates": _states(rescale),
        "startTimestampInMillis": rescale.begun_ms,
        "endTimestampInMillis": rescale.ended_ms,
        "terminalState": _state(rescale),
        "triggerCause": rescale.cause.name,
        "terminatedReason": None if rescale.end is None else rescale.end.name,
    }


def _vertex(rescale: Rescale, vertex: str, name: str, group: str) -> dict[str, Json]:
    return {
        "jobVertexId": vertex,
        "jobVertexName": name,
        "slotSharingGroupId": group,
        "slotSharingGroupName": group,
        "desiredParallelism": rescale.desired[vertex],
        "sufficientParallelism": rescale.sufficient[vertex],
        "preRescaleParallelism": rescale.before[vertex],
        "postRescaleParallelism": rescale.after[vertex],
    }


def _groups(summary: RescalesSummary) -> list[str]:
    return list(dict.fromkeys(group for _, group in summary.vertices.values()))


def _slots(summary: RescalesSummary, rescale: Rescale, group: str) -> dict[str, Json]:
    members = [vertex for vertex, (_, found) in summary.vertices.items() if found == group]
    desired, sufficient, before, after = (
        max(parallelism[vertex] for vertex in members)
        for parallelism in (rescale.desired, rescale.sufficient, rescale.before, rescale.after)
    )
    return {
        "slotSharingGroupId": group,
        "slotSharingGroupName": group,
        "requestResourceProfile": _UNKNOWN_PROFILE,
        "desiredSlots": desired,
        "minimalRequiredSlots": sufficient,
        "preRescaleSlots": before,
        "postRescaleSlots": after,
        "acquiredResourceProfile": _UNKNOWN_PROFILE,
    }


def _states(rescale: Rescale) -> list[dict[str, Json]]:
    """Return the states of the job during a change; the last one ends with it."""
    ends = [entered for _, entered in rescale.states[1:]] + [rescale.ended_ms]
    return [
        {
            "state": state,
            "enterTimestampInMillis": entered,
            "leaveTimestampInMillis": left,
            "durationInMillis": None if left is None else left - entered,
            "stringifiedException": rescale.error if number == len(ends) - 1 else None,
        }
        for number, ((state, entered), left) in enumerate(zip(rescale.states, ends, strict=True))
    ]


_JOB = "/jobs/{jobid}"
ROUTES = (
    Route("GET", f"{_JOB}/resource-requirements", _requirements),
    Route("PUT", f"{_JOB}/resource-requirements", _require, "submit"),
    Route("GET", f"{_JOB}/rescales/config", _config),
    Route("GET", f"{_JOB}/rescales/overview", _overview),
    Route("GET", f"{_JOB}/rescales/history", _history),
    Route("GET", f"{_JOB}/rescales/summary", _summary),
    Route("GET", f"{_JOB}/rescales/details/{{rescaleuuid}}", _details),
)
