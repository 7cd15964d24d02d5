"""The REST API over real endpoints, with the requests of Flink's clients."""

from __future__ import annotations

import asyncio
import errno
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import cloudpickle
import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.server import ROUTES, RestServer
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.dispatcher.job_submission import JobSubmissionError
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from firesteel.runtime.rpc import EndpointStoppedError, FencingTokenError, RpcConnectionError
from firesteel.task.checkpoint_metadata import write_savepoint_metadata
from tests.entrypoint.savepoints import savepoint_of
from tests.flink_recordings.recordings import recorded_answer
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import an_id, job_graph, settle

UNKNOWN = "0" * 32


def a_job(name: str = "job") -> Any:
    job = job_graph(("a", 2, []), ("b", 2, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]), name=name)
    job.insertion_order = [vertex.id for vertex in reversed(job.vertices)]
    return job


async def running(rest: Rest) -> str:
    job = a_job()
    await rest.cluster.submit(job)
    listener = rest.cluster.query.listener
    listener.checkpoint_restored(RestoredCheckpoint(1, True, "/savepoints/one", 5))
    written, held = {"x": {0: 60, 1: 40}}, {"x": {0: 600, 1: 400}}
    listener.checkpoint_completed(CheckpointStats(2, False, 10, 4, "/checkpoints/chk-2", written, held))
    listener.checkpoint_completed(CheckpointStats(3, True, 10, 4, "/savepoints/two", held, held))
    await settle()
    return str(job.job_id)


def keys_of(value: Any, path: str = "") -> set[str]:
    """The paths of all fields; ids that are keys are written as `*`, lists by their first element."""
    if isinstance(value, dict):
        found = set()
        for key, item in value.items():
            name = f"{path}.{'*' if len(key) == 32 else key}"
            found |= {name} | keys_of(item, name)
        return found
    return keys_of(value[0], f"{path}[]") if isinstance(value, list) and value else set()


COMPARED = {
    "GET_overview": "/overview",
    "GET_config": "/config",
    "GET_jobs": "/jobs",
    "GET_jobs_overview": "/jobs/overview",
    "GET_jobs_jobid": "/jobs/{job}",
    "GET_jobs_jobid_plan": "/jobs/{job}/plan",
    "GET_jobs_jobid_status": "/jobs/{job}/status",
    "GET_jobs_jobid_config": "/jobs/{job}/config",
    "GET_jobs_jobid_accumulators": "/jobs/{job}/accumulators",
    "GET_jobs_jobid_checkpoints_config": "/jobs/{job}/checkpoints/config",
    "GET_jobs_jobid_checkpoints_details_checkpointid": "/jobs/{job}/checkpoints/details/2",
    "GET_jobs_jobid_checkpoints_details_checkpointid_subtasks_vertexid": (
        "/jobs/{job}/checkpoints/details/2/subtasks/{vertex}"
    ),
    "GET_jobs_jobid_vertices_vertexid": "/jobs/{job}/vertices/{vertex}",
    "GET_jobs_jobid_vertices_vertexid_subtasktimes": "/jobs/{job}/vertices/{vertex}/subtasktimes",
    "GET_jobs_jobid_vertices_vertexid_taskmanagers": "/jobs/{job}/vertices/{vertex}/taskmanagers",
    "GET_jobs_jobid_vertices_vertexid_accumulators": "/jobs/{job}/vertices/{vertex}/accumulators",
    "GET_jobs_jobid_vertices_vertexid_subtasks_accumulators": "/jobs/{job}/vertices/{vertex}/subtasks/accumulators",
    "GET_jobs_jobid_vertices_vertexid_backpressure": "/jobs/{job}/vertices/{vertex}/backpressure",
    "GET_jobs_jobid_vertices_vertexid_flamegraph": "/jobs/{job}/vertices/{vertex}/flamegraph",
    "GET_jobs_jobid_vertices_vertexid_subtasks_subtaskindex": "/jobs/{job}/vertices/{vertex}/subtasks/0",
    "GET_jobs_jobid_vertices_vertexid_subtasks_subtaskindex_attempts_attempt": (
        "/jobs/{job}/vertices/{vertex}/subtasks/0/attempts/0"
    ),
    "GET_taskmanagers": "/taskmanagers",
    "GET_applications_overview": "/applications/overview",
    "GET_applications_applicationid": "/applications/{job}",
    "GET_jobmanager_environment": "/jobmanager/environment",
    "GET_jobmanager_thread_dump": "/jobmanager/thread-dump",
    "GET_jobs_jobid_exceptions": "/jobs/{job}/exceptions",
    "GET_jobs_jobid_vertices_vertexid_watermarks": "/jobs/{job}/vertices/{vertex}/watermarks",
    "GET_jobs_jobid_vertices_vertexid_metrics": "/jobs/{job}/vertices/{vertex}/metrics",
    "GET_jobs_jobid_vertices_vertexid_subtasks_metrics": "/jobs/{job}/vertices/{vertex}/subtasks/metrics",
    "GET_jobs_jobid_checkpoints": "/jobs/{job}/checkpoints",
    "GET_jobmanager_logs": "/jobmanager/logs",
    "GET_jobmanager_profiler": "/jobmanager/profiler",
    "GET_taskmanagers_taskmanagerid": "/taskmanagers/tm",
    "GET_taskmanagers_taskmanagerid_logs": "/taskmanagers/tm/logs",
    "GET_taskmanagers_taskmanagerid_thread_dump": "/taskmanagers/tm/thread-dump",
    "GET_taskmanagers_taskmanagerid_profiler": "/taskmanagers/tm/profiler",
    "GET_applications_applicationid_exceptions": "/applications/{job}/exceptions",
    "GET_jobs_jobid_vertices_vertexid_subtasks_subtaskindex_attempts_attempt_accumulators": (
        "/jobs/{job}/vertices/{vertex}/subtasks/0/attempts/0/accumulators"
    ),
    "GET_datasets": "/datasets",
}
NOT_SERVED = (
    ".status-duration.INITIALIZING",
    ".jvm.options[]",
    "garbageCollectors[]",
    "concurrentExceptions[]",
    ".latest.failed.",
)
"""Parts of recorded answers that say what firesteel does not measure, or what these jobs have not."""
EMPTY = {
    "RUNNING": (".entries[].", ".jobs.RESTARTING"),
    "FINISHED": (".entries[].", ".jobs.RESTARTING", ".allocatedSlots[]"),
    "FAILED": (".jobs.RESTARTING", ".allocatedSlots[]"),
    "CANCELED": (".entries[].", ".jobs.RESTARTING", ".allocatedSlots[]"),
}
"""Fields that are empty for a job in that state."""


async def in_state(rest: Rest, state: str) -> str:
    job_id = await running(rest)
    metrics = {"numRecordsIn": 4, "currentInputWatermark": 77}
    progress = [SubtaskProgress(an_id("b"), index, 4, 0, False, metrics) for index in range(2)]
    rest.cluster.query.listener.subtasks_progressed(progress)
    await settle()
    if state == "FAILED":
        await rest.cluster.fail_query(TaskFailure("ValueError: bad", subtask_index=1, parallelism=2, vertex_name="a"))
    elif state == "FINISHED":
        await rest.cluster.finish_query()
    elif state == "CANCELED":
        await rest.cluster.gateway.cancel_job(job_id)
        await settle()
    assert (await rest.get(f"/jobs/{job_id}/status"))["status"] == state
    return job_id


@pytest.mark.parametrize("state", ["RUNNING", "FINISHED", "FAILED", "CANCELED"])
async def test_answers_have_the_fields_of_flinks(rest: Rest, state: str) -> None:
    job_id = await in_state(rest, state)
    wrong = {}
    for name, path in COMPARED.items():
        ours = keys_of(await rest.get(path.format(job=job_id, vertex=an_id("b"))))
        recorded = keys_of(recorded_answer(name)["body"])
        missing = {key for key in recorded - ours if not any(part in key for part in (*NOT_SERVED, *EMPTY[state]))}
        if missing:
            wrong[name] = sorted(missing)
    assert wrong == {}


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
async def test_requests_of_flinks_clients_are_accepted(rest: Rest, method: str) -> None:
    job_id = await running(rest)
    asked = {
        "GET": {f"/jobs/{job_id}/status": 200, f"/jobs/{job_id}": 200, f"/applications/{job_id}": 200, "/jars": 200},
        "POST": {
            f"/jobs/{job_id}/savepoints": 202,
            f"/jobs/{job_id}/checkpoints": 202,
            f"/jobs/{job_id}/stop": 202,
            f"/applications/{job_id}/cancel": 202,
        },
        "PATCH": {f"/jobs/{job_id}/clientHeartbeat": 202, f"/v1/jobs/{job_id}?mode=cancel": 202},
    }[method]
    for path, status in asked.items():
        found, _ = await rest.call(method, path, data=b"{}", headers={"Content-Type": "application/json"})
        assert (path, found) == (path, status)


async def test_all_routes_exist_under_v1_and_get_requests_may_have_a_body(rest: Rest) -> None:
    await running(rest)
    assert await rest.get("/v1/jobs") == await rest.get("/jobs")
    status, body = await rest.call("GET", "/jobs/overview", data=b"{}", headers={"Content-Type": "application/json"})
    assert (status, len(body["jobs"])) == (200, 1)


@pytest.mark.parametrize("option", [None, "https://ours.example.org, https://other.example.org"])
async def test_answers_may_be_read_by_pages_that_an_option_names(make_rest: Callable[..., Any], option: str) -> None:
    rest = await make_rest(**({} if option is None else {"web.access-control-allow-origin": option}))
    origin = {"Origin": "https://ours.example.org"}
    async with rest.session.get(f"{rest.server.address}/overview", headers=origin) as answer:
        assert answer.status == (403 if option is None else 200)
        assert answer.headers.get("Access-Control-Allow-Origin") == (None if option is None else origin["Origin"])
        assert answer.headers["Content-Type"] == "application/json; charset=UTF-8"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        (f"/jobs/{UNKNOWN}", 404),
        ("/jobs/xyz", 400),
        (f"/jobs/{UNKNOWN}/savepoints/{UNKNOWN}", 404),
        ("/taskmanagers/nobody", 404),
        ("/jobs/{job}/vertices/" + UNKNOWN, 404),
        ("/jobs/{job}/vertices/{vertex}/subtasks/7", 404),
        ("/jobs/{job}/vertices/{vertex}/subtasks/x", 400),
        ("/jobs/{job}/checkpoints/details/77", 404),
        ("/jobs/{job}/checkpoints/details/77/subtasks/{vertex}", 404),
        (f"/jobs/{{job}}/checkpoints/details/2/subtasks/{UNKNOWN}", 404),
        ("/jobs/{job}/exceptions?maxExceptions=many", 400),
        ("/jobs/{job}/exceptions?maxExceptions=%C2%B2", 400),
    ],
)
async def test_not_found_errors_have_the_same_format(rest: Rest, path: str, status: int) -> None:
    job_id = await running(rest)
    vertex = (await rest.get(f"/jobs/{job_id}"))["vertices"][0]["id"]
    found, body = await rest.call("GET", path.format(job=job_id, vertex=vertex))
    assert found == status
    assert list(body) == ["errors"]
    assert body["errors"][0]


async def test_a_job_is_submitted_and_cancelled_and_its_end_is_reported(rest: Rest) -> None:
    job = a_job("submitted")
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("request", json.dumps({"executionPlanFileName": "plan"}), content_type="application/json")
    form.add_field("file_0", cloudpickle.dumps(job), filename="../../plan")
    status, body = await rest.call("POST", "/jobs", data=form)
    assert (status, body) == (202, {"jobUrl": f"/jobs/{job.job_id}"})
    assert (await rest.get(f"/jobs/{job.job_id}/execution-result"))["status"] == {"id": "IN_PROGRESS"}
    assert await rest.call("PATCH", f"/jobs/{job.job_id}") == (202, {})
    await settle()
    result = (await rest.get(f"/jobs/{job.job_id}/execution-result"))["job-execution-result"]
    assert (result["application-status"], result["id"]) == ("CANCELED", job.job_id)
    status, body = await rest.call("PATCH", f"/jobs/{job.job_id}?mode=cancel")
    assert (status, "already in another terminal state CANCELED" in body["errors"][0]) == (409, True)
    assert (await rest.call("PATCH", f"/jobs/{job.job_id}?mode=stop"))[0] == 308


def bounds(**of: tuple[object, object]) -> dict[str, object]:
    return {
        an_id(name): {"parallelism": {"lowerBound": lower, "upperBound": upper}} for name, (lower, upper) in of.items()
    }


async def test_the_parallelism_of_a_running_job_is_asked_for_and_changed(rest: Rest) -> None:
    job_id = await running(rest)
    path = f"/jobs/{job_id}/resource-requirements"
    before = await rest.get(path)
    assert (await rest.get(f"/jobs/{job_id}/rescales/overview"))["rescalesCounts"]["completed"] == 0
    wanted = {vertex: {"parallelism": {"lowerBound": 1, "upperBound": 1}} for vertex in before}
    assert await rest.call("PUT", path, json=wanted) == (200, {})
    await settle()
    rest.forget()
    assert await rest.get(path) == wanted
    assert {vertex["parallelism"] for vertex in (await rest.get(f"/jobs/{job_id}"))["vertices"]} == {1}
    [rescale] = await rest.get(f"/jobs/{job_id}/rescales/history")
    assert (rescale["terminalState"], rescale["triggerCause"]) == ("COMPLETED", "UPDATE_REQUIREMENT")
    assert [state["state"] for state in rescale["schedulerStates"]] == [
        "Restarting",
        "CreatingExecutionGraph",
        "Executing",
    ]
    overview = await rest.get(f"/jobs/{job_id}/rescales/overview")
    assert overview["latest"]["completed"] == rescale
    assert await rest.get(f"/jobs/{job_id}/rescales/details/{rescale['rescaleUuid']}") == rescale
    assert (await rest.get(f"/jobs/{job_id}/rescales/summary"))["rescalesCounts"]["completed"] == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (bounds(a=(1, 2)), "The request is incomplete, missing job vertex"),
        (bounds(a=(1, "2"), b=(1, 2)), "expected {"),
        (bounds(a=(True, 2), b=(1, 2)), "expected {"),
        (bounds(a=(1, True), b=(1, 2)), "expected {"),
        ({"a": 3}, "the requirements of vertex a are 3, expected {"),
    ],
)
async def test_wrong_requirements_are_refused(rest: Rest, body: dict[str, object], message: str) -> None:
    job_id = await running(rest)
    status, answer = await rest.call("PUT", f"/jobs/{job_id}/resource-requirements", json=body)
    assert (status, message in answer["errors"][0]) == (400, True), answer


async def test_a_job_that_does_not_run_has_no_requirements(rest: Rest) -> None:
    unknown = "0" * 32
    assert (await rest.call("GET", f"/jobs/{unknown}/resource-requirements"))[0] == 404
    assert (await rest.call("PUT", f"/jobs/{unknown}/resource-requirements", json=bounds(a=(1, 2))))[0] == 404
    job_id = await running(rest)
    assert (await rest.call("GET", f"/jobs/{job_id}/rescales/details/{unknown}"))[0] == 404


@pytest.mark.parametrize("name", ["config", "overview", "summary", "history", "details"])
async def test_rescales_are_answered_with_the_fields_of_flinks(rest: Rest, name: str) -> None:
    job_id = await running(rest)
    wanted = {vertex: {"parallelism": {"lowerBound": 1, "upperBound": 1}} for vertex in map(an_id, "ab")}
    await rest.call("PUT", f"/jobs/{job_id}/resource-requirements", json=wanted)
    await settle()
    rest.forget()
    [rescale] = await rest.get(f"/jobs/{job_id}/rescales/history")
    path = f"/jobs/{job_id}/rescales/{name}" + (f"/{rescale['rescaleUuid']}" if name == "details" else "")
    ours = await rest.get(path)
    assert set(ours[0] if name == "history" else ours) == FIELDS_OF_RESCALES[name]


FIELDS_OF_RESCALES = {
    "config": {
        "rescaleHistoryMax",
        "schedulerExecutionMode",
        "submissionResourceWaitTimeoutInMillis",
        "submissionResourceStabilizationTimeoutInMillis",
        "slotIdleTimeoutInMillis",
        "executingCooldownTimeoutInMillis",
        "executingResourceStabilizationTimeoutInMillis",
        "maximumDelayForTriggeringRescaleInMillis",
        "rescaleOnFailedCheckpointCount",
    },
    "overview": {"rescalesCounts", "latest"},
    "summary": {"rescalesCounts", "rescalesDurationStatsInMillis"}
    | {f"{state}RescalesDurationStatsInMillis" for state in ("completed", "ignored", "failed")},
    "details": (
        details := {
            "rescaleUuid",
            "resourceRequirementsUuid",
            "rescaleAttemptId",
            "vertices",
            "slots",
            "schedulerStates",
            "startTimestampInMillis",
            "endTimestampInMillis",
            "terminalState",
            "triggerCause",
            "terminatedReason",
        }
    ),
    "history": details,
}
"""Fields of Flink's answers, by the end of the path."""


@pytest.mark.parametrize(
    ("request_body", "content", "message"),
    [
        ({}, b"", "executionPlanFileName field must not be omitted"),
        ({"executionPlanFileName": "other"}, b"", "no file 'other' was uploaded; found: plan"),
        ({"executionPlanFileName": "plan"}, b"what", "cannot read the job graph 'plan'"),
        ({"executionPlanFileName": "plan"}, pickle.dumps([1]), "contains a list, expected a JobGraph"),
    ],
)
async def test_invalid_job_graphs_are_refused(rest: Rest, request_body: Any, content: bytes, message: str) -> None:
    form = aiohttp.FormData()
    form.add_field("request", json.dumps(request_body), content_type="application/json")
    form.add_field("file_0", content, filename="plan")
    status, body = await rest.call("POST", "/jobs", data=form)
    assert status == 400
    assert message in body["errors"][0]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RpcConnectionError("dispatcher", "refused"), 503),
        (EndpointStoppedError("dispatcher", "submit_job"), 503),
        (FencingTokenError("dispatcher", "submit_job", "a", "b"), 503),
        (StaleLeaderError("job graphs", "a"), 503),
        (JobSubmissionError("it has no vertices"), 400),
        (OSError("no answer"), 500),
    ],
)
async def test_what_a_lost_leader_may_have_taken_is_no_rejection(rest: Rest, error: Exception, expected: int) -> None:
    async def lose(job_graph: Any) -> None:
        raise error

    dispatcher: Any = rest.cluster.dispatcher._process
    dispatcher._persist_and_run = lose
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("request", json.dumps({"executionPlanFileName": "plan"}), content_type="application/json")
    form.add_field("file_0", cloudpickle.dumps(a_job("lost")), filename="plan")
    assert (await rest.call("POST", "/jobs", data=form))[0] == expected


async def test_a_failed_operation_reports_its_reason_and_trigger_ids_are_idempotent(rest: Rest) -> None:
    job_id = await running(rest)
    trigger = {"target-directory": "/full", "triggerId": "a" * 32}
    for _ in range(2):
        status, body = await rest.call("POST", f"/jobs/{job_id}/savepoints", json=trigger)
        assert (status, body) == (202, {"request-id": "a" * 32})
    await settle()
    status_of = await rest.get(f"/jobs/{job_id}/savepoints/{'a' * 32}")
    assert status_of["status"] == {"id": "COMPLETED"}
    cause = status_of["operation"]["failure-cause"]
    assert set(cause) == {"class", "stack-trace", "serialized-throwable"}
    assert "/full is full" in cause["stack-trace"]
    assert (await rest.call("POST", f"/jobs/{job_id}/stop", json={"triggerId": "?"}))[0] == 400


async def test_a_checkpoint_is_taken_once_by_trigger_id(rest: Rest) -> None:
    job_id = await running(rest)
    for checkpoint_type in ("CONFIGURED", "FULL", "INCREMENTAL", None):
        trigger = {"triggerId": "b" * 32, "checkpointType": checkpoint_type}
        status, body = await rest.call("POST", f"/jobs/{job_id}/checkpoints", json=trigger)
        assert (status, body) == (202, {"request-id": "b" * 32})
    await settle()
    answer = await rest.get(f"/jobs/{job_id}/checkpoints/{'b' * 32}")
    assert answer == {"status": {"id": "COMPLETED"}, "operation": {"checkpointId": 1}}
    assert rest.cluster.query.checkpoints == 1
    status, body = await rest.call("POST", f"/jobs/{job_id}/checkpoints", json={"checkpointType": "SOME"})
    assert (status, body["errors"][0]) == (
        400,
        "checkpointType is 'SOME'; allowed: CONFIGURED, FULL, INCREMENTAL or none",
    )
    assert (await rest.call("GET", f"/jobs/{job_id}/checkpoints/{UNKNOWN}"))[0] == 404


async def test_a_checkpoint_of_a_job_that_does_not_run_fails_in_the_background(rest: Rest) -> None:
    status, body = await rest.call("POST", f"/jobs/{UNKNOWN}/checkpoints", json={})
    assert status == 202
    await settle()
    answer = await rest.get(f"/jobs/{UNKNOWN}/checkpoints/{body['request-id']}")
    assert answer["operation"]["failureCause"]["stack-trace"].endswith(f"there is no job {UNKNOWN}")


async def test_a_savepoint_is_disposed_of(rest: Rest, tmp_path: Path) -> None:
    savepoint = tmp_path / "savepoint-1"
    (savepoint / "versions").mkdir(parents=True)
    (savepoint / "versions" / "0.full").touch()
    for expected in ("failure-cause", None):
        _, body = await rest.call("POST", "/savepoint-disposal", json={"savepoint-path": f"file://{savepoint}"})
        await settle()
        while (status := await rest.get(f"/savepoint-disposal/{body['request-id']}"))["operation"] is None:
            pass
        assert list(status["operation"]) == ([expected] if expected else [])
        write_savepoint_metadata(savepoint, savepoint_of("versions/0.full")) if savepoint.exists() else None
    assert not savepoint.exists()


async def test_failures_are_listed_with_the_users_frame_first(rest: Rest) -> None:
    job_id = await running(rest)
    failure = TaskFailure("ValueError: bad", operator_name="Map", subtask_index=1, parallelism=2, vertex_name="a")
    await rest.cluster.fail_query(failure)
    (entry, *_) = (await rest.get(f"/jobs/{job_id}/exceptions"))["exceptionHistory"]["entries"]
    assert entry["stacktrace"].startswith("operator 'Map' (subtask 2/2) failed: ValueError: bad")


@pytest.mark.parametrize("size", [None, 2])
async def test_each_restart_that_fails_alike_is_listed(make_rest: Callable[..., Any], size: int | None) -> None:
    options = {"restart-strategy.type": "exponential-delay"}
    options |= {} if size is None else {"web.exception-history-size": str(size)}
    rest = await make_rest(**options)
    job_id = await running(rest)
    failure = TaskFailure("ValueError: bad", operator_name="Map", subtask_index=1, parallelism=2, vertex_name="a")
    times = []
    for _ in range(3):
        times.insert(0, rest.cluster.clock.now_ms())
        await rest.cluster.fail_query(failure)
        for _ in range(20):  # the delay of the restart, and the slots
            await rest.cluster.advance(1)
        assert await rest.cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING
    history = (await rest.get(f"/jobs/{job_id}/exceptions"))["exceptionHistory"]
    assert [entry["timestamp"] for entry in history["entries"]] == times[:size]
    assert {entry["stacktrace"] for entry in history["entries"]} == {
        "operator 'Map' (subtask 2/2) failed: ValueError: bad"
    }
    limited = (await rest.get(f"/jobs/{job_id}/exceptions?maxExceptions=1"))["exceptionHistory"]
    assert (len(limited["entries"]), limited["truncated"]) == (1, True)


async def test_tokens_determine_roles(make_rest: Callable[..., Any]) -> None:
    see, do = "see" * 8, "do" * 8
    rest = await make_rest(**{"security.rest.token.view": see, "security.rest.token.submit": do})
    job_id = await running(rest)

    async def status(method: str, path: str, token: str | None) -> int:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return int((await rest.call(method, path, headers=headers))[0])

    assert [await status("GET", "/overview", token) for token in (None, "é", see, do)] == [401, 401, 200, 200]
    assert [await status("PATCH", f"/jobs/{job_id}", token) for token in (None, see, do)] == [401, 403, 202]


async def test_a_full_disk_is_shown_among_the_exceptions_of_a_job(rest: Rest) -> None:
    rest.cluster.data_plane.restore_error = OSError(errno.ENOSPC, "No space left on device")
    job_id = await rest.cluster.submit(job_graph(("a", 1, [])))
    (entry,) = (await rest.get(f"/jobs/{job_id}/exceptions"))["exceptionHistory"]["entries"]
    assert entry["exceptionName"] == "OSError"
    assert "could not be initialized; it is retried until it succeeds: [Errno 28] No space" in entry["stacktrace"]
    assert (await rest.get(f"/jobs/{job_id}"))["state"] == "INITIALIZING"


async def test_secrets_are_masked(make_rest: Callable[..., Any]) -> None:
    token = "hush" * 4
    rest = await make_rest(**{"security.rest.token.view": token, "s3.secret-key": "hush", "parallelism.default": "2"})
    _, options = await rest.call("GET", "/jobmanager/config", headers={"Authorization": f"Bearer {token}"})
    assert {option["key"]: option["value"] for option in options} == {
        "parallelism.default": "2",
        "s3.secret-key": "******",
        "security.rest.token.view": "******",
    }


SECRETS = (
    *("my.password", "a.secret", "fs.azure.account.key.store", "some.apikey", "some.api-key", "x.auth-params"),
    *("x.service-key", "x.token", "x.basic-auth", "x.jaas.config", "x.http-headers", "security.ssl.rest.key-password"),
    *("high-availability.zookeeper.client.authorization", "high-availability.zookeeper.client.authorization.digest"),
)
"""With Flink's words for what is to be hidden."""


async def test_no_answer_about_options_has_a_secret(
    make_rest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = dict.fromkeys(SECRETS, "hush")
    monkeypatch.setattr("sys.orig_argv", ["firesteel", *(f"{key}=hush" for key in SECRETS), "parallelism.default=2"])
    rest = await make_rest(**options)
    job_id = await rest.cluster.submit(job_graph(("a", 1, []), configuration=options))
    texts = [
        json.dumps(await rest.get(route.path.format(jobid=job_id, applicationid=job_id)))
        for route in ROUTES
        if re.search("/(config|environment)$", route.path)
    ]
    assert len(texts) >= 8
    assert [text for text in texts if "hush" in text] == []
    assert [text.count("******") for text in texts if "******" in text] == [len(SECRETS)] * 6
    assert sum("parallelism.default=2" in text for text in texts) == 2


def test_public_addresses_require_tokens() -> None:
    with pytest.raises(InvalidOptionError, match=r"rest\.bind-address is '0\.0\.0\.0'.*security\.rest\.token\.admin"):
        RestServer(None, None, {"rest.bind-address": "0.0.0.0"})  # type: ignore[arg-type]


def test_routes_are_unique() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


async def test_without_a_leader_requests_are_refused_until_the_next_one_is_elected(rest: Rest) -> None:
    await running(rest)
    rest.cluster.ha.revoke_leadership(DISPATCHER)
    await settle()
    asked = asyncio.ensure_future(rest.call("GET", "/jobs"))
    while not asked.done():
        await rest.cluster.advance(10)
    status, body = await asked
    assert (status, body["errors"][0].split(".")[0]) == (
        503,
        "Service temporarily unavailable due to an ongoing leader election",
    )
    rest.cluster.ha.grant_leadership(DISPATCHER)
    await settle()
    assert len((await rest.get("/jobs"))["jobs"]) == 1
