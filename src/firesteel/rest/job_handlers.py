"""Endpoints of jobs: list, status, submission and termination."""

from __future__ import annotations

import base64
import pickle
from typing import Any

from firesteel.common.checks import with_article
from firesteel.common.files.file_systems import Files
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_IGNORE_UNCLAIMED, RECOVERY_PATH
from firesteel.graph.job_graph import JobGraph
from firesteel.rest import checkpoint_messages, job_messages
from firesteel.rest.cluster import job_id_of, now_ms
from firesteel.rest.java_throwable import failure_cause
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import BOOLEAN, FORM, PATH, STRING, TRIGGER_ID, Accepted, Answer, Call, Route, Schema
from firesteel.runtime.dispatcher.dispatcher_gateway import DuplicateJobSubmissionError, JobNotFoundError
from firesteel.runtime.dispatcher.job_submission import JobSubmissionError
from firesteel.runtime.jobmaster.data_plane import ResultsLostError
from firesteel.runtime.thread_pools import DISPOSALS, REQUESTED_FILES, SUBMISSIONS


async def _ids(call: Call) -> job_messages.Body:
    overview = await (await call.cluster.dispatcher()).request_overview()
    return {"jobs": [{"id": job.job_id, "status": job.status.name} for job in overview.jobs]}


async def _overview(call: Call) -> Answer:
    overview = await (await call.cluster.dispatcher()).request_overview()
    now = now_ms()
    return {"jobs": [job_messages.job_overview(job, job.job_type, now) for job in overview.jobs]}


async def _details(call: Call) -> job_messages.Body:
    return job_messages.job_details(await call.cluster.job(call.path["jobid"]), now_ms())


async def _plan(call: Call) -> job_messages.Body:
    return {"plan": (await call.cluster.job(call.path["jobid"])).plan}


async def _config(call: Call) -> Answer:
    return job_messages.job_config(await call.cluster.job(call.path["jobid"]))


async def _status(call: Call) -> Answer:
    try:
        status = await (await call.cluster.dispatcher()).request_job_status(job_id_of(call.path["jobid"]))
    except JobNotFoundError as error:
        raise RestError(404, str(error)) from None
    return {"status": status.name}


async def _exceptions(call: Call) -> Answer:
    text = call.query.get("maxExceptions", "20")
    if not text.isdecimal():
        raise RestError(400, f"maxExceptions is {text!r}, expected a number")
    job = await call.cluster.job(call.path["jobid"])
    size = job_messages.exception_history_size(job, call.cluster.configuration)
    return job_messages.job_exceptions(job, int(text), size)


async def _accumulators(call: Call) -> Answer:
    await call.cluster.job(call.path["jobid"])
    return {"job-accumulators": [], "user-task-accumulators": [], "serialized-user-task-accumulators": {}}


async def _execution_result(call: Call) -> job_messages.Body:
    # A client polls this until the job has ended: a cached answer would add seconds to each short job.
    job = await call.cluster.job(call.path["jobid"], fresh=True)
    details = job.details
    if not details.status.is_globally_terminal:
        return {"status": {"id": "IN_PROGRESS"}, "job-execution-result": None}
    outcome = {"FINISHED": "SUCCEEDED"}.get(details.status.name, details.status.name)
    result: dict[str, Any] = {
        "id": details.job_id,
        "name": details.name,
        "application-status": outcome,
        "accumulator-results": {},
        "net-runtime": details.duration_ms,
        "application-id": details.job_id,
        "start-time": details.start_ms,
        "end-time": details.end_ms,
    }
    if job.result.failure is not None:
        result["failure-cause"] = failure_cause(job.result.failure)
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


async def _cancel(call: Call) -> Answer:
    mode = call.query.get("mode", "cancel")
    if mode != "cancel":
        raise RestError(
            308, f'The termination mode "{mode}" has been removed: use /jobs/:jobid/stop to stop with a savepoint'
        )
    job = await call.cluster.job(call.path.get("jobid") or call.path["applicationid"], fresh=True)
    if job.details.status.is_globally_terminal:
        status = job.details.status.name
        raise RestError(409, f"Job cancellation failed because the job is already in another terminal state {status}")
    await (await call.cluster.dispatcher()).cancel_job(job.details.job_id)
    return Accepted({})


async def _client_heartbeat(call: Call) -> Answer:
    """Accept the heartbeat of a client; it has no effect, because jobs do not end with their clients."""
    await call.cluster.job(call.path["jobid"])
    return Accepted({})


async def _submit(call: Call) -> Answer:
    name = call.body.get("executionPlanFileName")
    if name is None:
        raise RestError(400, "The executionPlanFileName field must not be omitted or be null.")
    if name not in call.files:
        raise RestError(400, f"no file {name!r} was uploaded; found: {', '.join(call.files) or 'none'}")
    try:
        # Unpickling runs code, which only senders who may submit jobs reach. The thread keeps the server responsive.
        job_graph = await SUBMISSIONS.run(pickle.loads, call.files[name])
    except (Exception, SystemExit) as error:  # imports the user's modules
        raise RestError(400, f"cannot read the job graph {name!r}: {type(error).__name__}: {error}") from error
    if not isinstance(job_graph, JobGraph):
        raise RestError(400, f"the file {name!r} contains {with_article(type(job_graph))}, expected a JobGraph")
    job_graph.artifacts |= {file: data for file, data in call.files.items() if file != name}
    _submit_again(job_graph, call.body.get("jobId"), call.body.get("savepointPath"))
    try:
        dispatcher = await call.cluster.dispatcher()
        running = [job.job_id for job in (await dispatcher.request_overview()).jobs if job.end_ms is None]
        with call.share.submitting(job_graph.job_id, running):
            await dispatcher.submit_job(job_graph)
    except DuplicateJobSubmissionError as error:
        raise RestError(409, str(error)) from error
    except JobSubmissionError as error:
        raise RestError(400, str(error)) from error
    return Accepted({"jobUrl": f"/jobs/{job_graph.job_id}"})


def _submit_again(job_graph: JobGraph, job_id: str | None, savepoint: str | None) -> None:
    """Let the graph of a former job start as another one, from its savepoint."""
    if job_id is not None:
        job_graph.job_id = job_id_of(job_id)
    if savepoint is not None:
        # They were chosen for the savepoint with which the former job had begun.
        for option in (RECOVERY_IGNORE_UNCLAIMED, RECOVERY_CLAIM_MODE):
            job_graph.configuration.pop(option.key, None)
        job_graph.configuration[RECOVERY_PATH.key] = savepoint


async def _job_graph(call: Call) -> Answer:
    """Return the graph of a job as it can be submitted again; it contains the code of users."""
    try:
        pickled = await (await call.cluster.dispatcher()).request_job_graph(job_id_of(call.path["jobid"]))
    except JobNotFoundError as error:
        raise RestError(404, str(error)) from None
    return {"serializedJobGraph": base64.b64encode(pickled).decode()}


async def _coordinate(call: Call) -> Answer:
    """Deliver a coordination request.

    Instead of Java objects the bytes are a `CollectRequest` and a pickled `CollectResponse`.
    """
    try:
        call.share.check_results()
        request = base64.b64decode(call.body.get("serializedCoordinationRequest") or "", validate=True)
        dispatcher = await call.cluster.dispatcher()
        job_id = job_id_of(call.path["jobid"])
        answer = await dispatcher.deliver_coordination_request(job_id, call.path["operatoruid"], request)
    except JobNotFoundError as error:
        raise RestError(404, str(error)) from None
    except ResultsLostError as error:
        raise RestError(410, str(error)) from None
    except ValueError as error:
        raise RestError(400, f"cannot read serializedCoordinationRequest: {error}") from None
    call.share.sent(len(answer))
    return {"serializedCoordinationResult": base64.b64encode(answer).decode()}


async def _savepoint(call: Call) -> Answer:
    job_id, directory = job_id_of(call.path["jobid"]), call.body.get("target-directory")
    cancels = bool(call.body.get("cancel-job", False))

    async def take() -> str:
        dispatcher = await call.cluster.dispatcher()
        if cancels:
            return await dispatcher.cancel_with_savepoint(job_id, directory)
        return await dispatcher.trigger_savepoint(job_id, directory)

    return Accepted({"request-id": call.operations.trigger(job_id, call.body.get("triggerId"), take)})


async def _stop(call: Call) -> Answer:
    job_id, directory = job_id_of(call.path["jobid"]), call.body.get("targetDirectory")
    drains = bool(call.body.get("drain", False))

    async def stop() -> str:
        return await (await call.cluster.dispatcher()).stop_with_savepoint(job_id, directory, drains)

    return Accepted({"request-id": call.operations.trigger(job_id, call.body.get("triggerId"), stop)})


async def _savepoint_status(call: Call) -> Answer:
    return call.operations.status(job_id_of(call.path["jobid"]), call.path["triggerid"], "location")


async def _dispose(call: Call) -> Answer:
    named = call.body.get("savepoint-path")
    if not isinstance(named, str):
        raise RestError(400, f"savepoint-path is {named!r}, expected the path of a savepoint")
    files = Files(call.cluster.configuration)
    path = await REQUESTED_FILES.run(files.path, files.resolve(named))

    async def dispose() -> None:
        await DISPOSALS.run(call.cluster.dispose_savepoint, path)

    return Accepted({"request-id": call.operations.trigger("dispose", None, dispose)}, status=200)


async def _disposal_status(call: Call) -> Answer:
    return call.operations.status("dispose", call.path["triggerid"], None)


async def _checkpoints(call: Call) -> Answer:
    return checkpoint_messages.checkpoints(await call.cluster.job(call.path["jobid"]))


async def _checkpoint(call: Call) -> Answer:
    job_id, checkpoint_type = job_id_of(call.path["jobid"]), call.body.get("checkpointType") or "CONFIGURED"

    async def take() -> int:
        return await (await call.cluster.dispatcher()).trigger_checkpoint(job_id, checkpoint_type == "FULL")

    return Accepted({"request-id": call.operations.trigger(f"checkpoint {job_id}", call.body.get("triggerId"), take)})


async def _checkpoint_status(call: Call) -> Answer:
    kind = f"checkpoint {job_id_of(call.path['jobid'])}"
    return call.operations.status(kind, call.path["triggerid"], "checkpointId", "failureCause")


async def _checkpoint_config(call: Call) -> Answer:
    return checkpoint_messages.checkpoint_config(await call.cluster.job(call.path["jobid"]))


async def _checkpoint_subtasks(call: Call) -> Answer:
    job = await call.cluster.job(call.path["jobid"])
    return checkpoint_messages.checkpoint_subtasks(job, call.number("checkpointid"), call.path["vertexid"])


async def _checkpoint_details(call: Call) -> Answer:
    return checkpoint_messages.checkpoint_details(
        await call.cluster.job(call.path["jobid"]), call.number("checkpointid")
    )


_FORMAT: Schema = {"type": "string", "enum": ["CANONICAL", "NATIVE"]}
_CHECKPOINT_TYPE: Schema = {"type": "string", "enum": ["CONFIGURED", "FULL", "INCREMENTAL"]}
_SAVEPOINT_BODY = {
    "target-directory": PATH,
    "cancel-job": BOOLEAN,
    "formatType": _FORMAT,
    "triggerId": TRIGGER_ID,
}
_STOP_BODY = {"targetDirectory": PATH, "drain": BOOLEAN, "formatType": _FORMAT, "triggerId": TRIGGER_ID}
_SUBMIT_BODY = {"executionPlanFileName": STRING, "jobId": STRING, "savepointPath": PATH}
_MODE = {"mode": {"type": "string", "enum": ["cancel"]}}

ROUTES = (
    Route("GET", "/jobs", _ids),
    Route("POST", "/jobs", _submit, "submit", body=_SUBMIT_BODY, consumes=FORM, status=202, runs_code=True),
    Route("GET", "/jobs/overview", _overview),
    Route("GET", "/jobs/{jobid}", _details),
    Route("PATCH", "/jobs/{jobid}", _cancel, "submit", query=_MODE, status=202, cancels=True),
    Route("GET", "/jobs/{jobid}/yarn-cancel", _cancel, "submit", status=202, cancels=True),
    Route("POST", "/applications/{applicationid}/cancel", _cancel, "submit", status=202, cancels=True),
    Route("PATCH", "/jobs/{jobid}/clientHeartbeat", _client_heartbeat, "submit", status=202),
    Route("GET", "/jobs/{jobid}/plan", _plan),
    Route("GET", "/jobs/{jobid}/config", _config),
    Route("GET", "/jobs/{jobid}/status", _status),
    Route("GET", "/jobs/{jobid}/exceptions", _exceptions, query={"maxExceptions": {"type": "integer", "minimum": 0}}),
    Route("GET", "/jobs/{jobid}/accumulators", _accumulators),
    Route(
        "POST",
        "/jobs/{jobid}/coordinators/{operatoruid}",
        _coordinate,
        "submit",
        body={"serializedCoordinationRequest": STRING},
    ),
    Route("GET", "/jobs/{jobid}/execution-result", _execution_result),
    Route("GET", "/firesteel/jobs/{jobid}/job-graph", _job_graph, "submit", runs_code=True),
    Route("POST", "/jobs/{jobid}/savepoints", _savepoint, "submit", body=_SAVEPOINT_BODY, status=202),
    Route("GET", "/jobs/{jobid}/savepoints/{triggerid}", _savepoint_status),
    Route("POST", "/jobs/{jobid}/stop", _stop, "submit", body=_STOP_BODY, status=202),
    Route("POST", "/savepoint-disposal", _dispose, "submit", body={"savepoint-path": PATH}),
    Route("GET", "/savepoint-disposal/{triggerid}", _disposal_status),
    Route("GET", "/jobs/{jobid}/checkpoints", _checkpoints),
    Route(
        "POST",
        "/jobs/{jobid}/checkpoints",
        _checkpoint,
        "submit",
        body={"checkpointType": _CHECKPOINT_TYPE, "triggerId": TRIGGER_ID},
        status=202,
    ),
    Route("GET", "/jobs/{jobid}/checkpoints/config", _checkpoint_config),
    Route("GET", "/jobs/{jobid}/checkpoints/{triggerid}", _checkpoint_status),
    Route("GET", "/jobs/{jobid}/checkpoints/details/{checkpointid}", _checkpoint_details),
    Route("GET", "/jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}", _checkpoint_subtasks),
)
