"""The REST API over real endpoints: what Flink's clients send, and what they get."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import cloudpickle
import pytest

from firesteel.rest.server import ROUTES, RestServer
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.options import InvalidOptionError
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import job_graph, settle

RECORDED = Path(__file__).parents[3] / "shared" / "rest" / "recorded"
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
    listener.checkpoint_completed(CheckpointStats(2, False, 10, 4, "/checkpoints/chk-2", {"x": 100}))
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
}
NOT_SERVED = {".aggregated.status-duration", ".aggregated.metrics", ".status-duration", ".jvm.options[]", ".jobs."}
"""Parts of recorded answers that say what firesteel does not measure, or what this job has not."""


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded answers are not there")
@pytest.mark.parametrize("name", COMPARED)
async def test_answers_have_the_fields_of_flinks(rest: Rest, name: str) -> None:
    job_id = await running(rest)
    vertex = (await rest.get(f"/jobs/{job_id}"))["vertices"][0]["id"]
    ours = keys_of(await rest.get(COMPARED[name].format(job=job_id, vertex=vertex)))
    recorded = keys_of(json.loads((RECORDED / f"{name}.json").read_text())["body"])
    missing = {key for key in recorded - ours if not any(part in key for part in NOT_SERVED)}
    assert missing == set()


async def test_everything_is_under_v1_too_and_a_get_may_carry_a_body(rest: Rest) -> None:
    await running(rest)
    assert await rest.get("/v1/jobs") == await rest.get("/jobs")
    status, body = await rest.call("GET", "/jobs/overview", data=b"{}", headers={"Content-Type": "application/json"})
    assert (status, len(body["jobs"])) == (200, 1)


async def test_answers_may_be_read_by_other_pages(rest: Rest) -> None:
    async with rest.session.get(f"{rest.server.address}/overview") as answer:
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
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
        ("/jobs/{job}/exceptions?maxExceptions=many", 400),
    ],
)
async def test_what_can_not_be_found_is_told_in_the_same_form(rest: Rest, path: str, status: int) -> None:
    job_id = await running(rest)
    vertex = (await rest.get(f"/jobs/{job_id}"))["vertices"][0]["id"]
    found, body = await rest.call("GET", path.format(job=job_id, vertex=vertex))
    assert found == status
    assert list(body) == ["errors"]
    assert body["errors"][0]


async def test_a_job_is_submitted_cancelled_and_its_end_is_told(rest: Rest) -> None:
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


@pytest.mark.parametrize(
    ("request_body", "content", "message"),
    [
        ({}, b"", "executionPlanFileName field must not be omitted"),
        ({"executionPlanFileName": "other"}, b"", "no file 'other' was uploaded; found: plan"),
        ({"executionPlanFileName": "plan"}, b"what", "can't be read"),
        ({"executionPlanFileName": "plan"}, pickle.dumps([1]), "holds a list, expected a JobGraph"),
    ],
)
async def test_what_is_no_job_is_refused(rest: Rest, request_body: Any, content: bytes, message: str) -> None:
    form = aiohttp.FormData()
    form.add_field("request", json.dumps(request_body), content_type="application/json")
    form.add_field("file_0", content, filename="plan")
    status, body = await rest.call("POST", "/jobs", data=form)
    assert status == 400
    assert message in body["errors"][0]


async def test_an_operation_that_fails_tells_why_and_one_id_is_one_operation(rest: Rest) -> None:
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


async def test_a_savepoint_is_disposed_of(rest: Rest, tmp_path: Path) -> None:
    savepoint = tmp_path / "savepoint-1"
    savepoint.mkdir()
    for expected in ("failure-cause", None):
        _, body = await rest.call("POST", "/savepoint-disposal", json={"savepoint-path": f"file://{savepoint}"})
        await settle()
        while (status := await rest.get(f"/savepoint-disposal/{body['request-id']}"))["operation"] is None:
            pass
        assert list(status["operation"]) == ([expected] if expected else [])
        (savepoint / "_metadata").touch() if savepoint.exists() else None
    assert not savepoint.exists()


async def test_failures_are_listed_with_the_users_frame_first(rest: Rest) -> None:
    job_id = await running(rest)
    failure = TaskFailure("ValueError: bad", operator_name="Map", subtask_index=1, parallelism=2, vertex_name="a")
    await rest.cluster.fail_query(failure)
    (entry, *_) = (await rest.get(f"/jobs/{job_id}/exceptions"))["exceptionHistory"]["entries"]
    assert entry["stacktrace"].startswith("operator 'Map' (subtask 2/2) failed: ValueError: bad")


async def test_roles_are_told_apart_by_tokens(make_rest: Callable[..., Any]) -> None:
    rest = await make_rest(**{"security.rest.token.view": "see", "security.rest.token.submit": "do"})
    job_id = await running(rest)

    async def status(method: str, path: str, token: str | None) -> int:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return int((await rest.call(method, path, headers=headers))[0])

    assert [await status("GET", "/overview", token) for token in (None, "what", "see", "do")] == [401, 401, 200, 200]
    assert [await status("PATCH", f"/jobs/{job_id}", token) for token in (None, "see", "do")] == [401, 403, 202]


async def test_secrets_are_masked(make_rest: Callable[..., Any]) -> None:
    rest = await make_rest(**{"security.rest.token.view": "hush", "s3.secret-key": "hush", "parallelism.default": "2"})
    _, options = await rest.call("GET", "/jobmanager/config", headers={"Authorization": "Bearer hush"})
    assert {option["key"]: option["value"] for option in options} == {
        "parallelism.default": "2",
        "s3.secret-key": "******",
        "security.rest.token.view": "******",
    }


def test_no_listening_beyond_this_machine_without_tokens() -> None:
    with pytest.raises(InvalidOptionError, match=r"rest\.bind-address is '0\.0\.0\.0'.*security\.rest\.token\.admin"):
        RestServer(None, None, {"rest.bind-address": "0.0.0.0"})  # type: ignore[arg-type]


def test_no_route_is_there_twice() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
