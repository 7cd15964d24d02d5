"""Archives of ended jobs: the answers of the REST API about a job, as a file that Flink's history server reads, too.

Flink: `runtime.history.FsJobArchivist` and `webmonitor.history.JsonArchivist`. A file has the name of the job's id and
one JSON object: `{"archive": [{"path": "/jobs/<id>", "json": "<the answer as text>"}, ...]}`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final, cast

from firesteel.common.files.durability import make_directory
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, size_of
from firesteel.common.json_types import Json
from firesteel.rest import checkpoint_messages, job_handlers, rescale_handlers, vertex_handlers
from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Call, Handler, Route
from firesteel.runtime.dispatcher.dispatcher_gateway import ClusterOverview, DispatcherGateway
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway, ResourceOverview

__all__ = ["NOT_ARCHIVED", "OVERVIEW", "archived_answers", "archived_routes", "read_archive", "write_archive"]

OVERVIEW: Final = "/jobs/overview"

NOT_ARCHIVED: Final = {
    "/jobs/{jobid}/yarn-cancel": "it changes the job",
    "/jobs/{jobid}/savepoints/{triggerid}": "the operation is over",
    "/jobs/{jobid}/checkpoints/{triggerid}": "the operation is over",
    "/jobs/{jobid}/execution-result": "it is for the client that waits for the job",
    "/jobs/{jobid}/resource-requirements": "they are those of a running job",
    "/jobs/{jobid}/vertices/{vertexid}/backpressure": "it is that of a running job",
    "/jobs/{jobid}/vertices/{vertexid}/flamegraph": "it is that of a running job",
    "/firesteel/jobs/{jobid}/job-graph": "it contains code",
}
"""Which GET requests about a job an archive does not answer, and why; those of metrics and logs neither."""

_ROUTES: Final = (*job_handlers.ROUTES, *vertex_handlers.ROUTES, *rescale_handlers.ROUTES)


def archived_routes() -> list[Route]:
    """Return the routes whose answers an archive contains."""
    about_jobs = (route for route in _ROUTES if route.method == "GET" and "/jobs/{jobid}" in route.path)
    return [route for route in about_jobs if route.path not in NOT_ARCHIVED]


async def archived_answers(job: ArchivedExecutionGraph, configuration: Mapping[str, str]) -> dict[str, Json]:
    """Return the answers about a job, by path."""
    cluster = Cluster(_OneJob(job).gateway, _no_resources, configuration)
    job_id = job.details.job_id
    answers = {OVERVIEW: await _answer(Route("GET", OVERVIEW, _handler(OVERVIEW)), cluster, {})}
    choices = _choices(job)
    for route in archived_routes():
        for values in _values(route, job, choices):
            path = route.path.format(jobid=job_id, **values)
            answers[path] = await _answer(route, cluster, {"jobid": job_id, **values})
    return answers


def _handler(path: str) -> Handler:
    return next(route.handler for route in _ROUTES if route.path == path)


async def _answer(route: Route, cluster: Cluster, path: dict[str, str]) -> Json:
    try:
        return cast("Json", await route.handler(Call(cluster, Operations(asyncio.create_task), path)))
    except RestError as error:  # As Flink does: what a page asks for has an answer.
        return {"errors": [str(error)]}


def _choices(job: ArchivedExecutionGraph) -> dict[str, list[str]]:
    """Return the values of each parameter that depends on no other one."""
    return {
        "vertexid": [vertex["id"] for vertex in job.graph.get("vertices", [])],
        "checkpointid": [str(one["id"]) for one in checkpoint_messages.checkpoints(job)["history"]],
        "rescaleuuid": [one.id for one in job.rescales.history],
    }


def _values(route: Route, job: ArchivedExecutionGraph, choices: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    """Yield all values of a route's parameters beside the job's id."""
    names = [name for name in re.findall(r"\{(\w+)\}", route.path) if name != "jobid"]
    if "subtaskindex" in names:
        for vertex in job.graph.get("vertices", []):
            for index, subtask in enumerate(vertex["subtasks"]):
                yield {"vertexid": vertex["id"], "subtaskindex": str(index), "attempt": str(subtask["attempt"])}
        return
    for chosen in product(*(choices[name] for name in names)):
        yield dict(zip(names, chosen, strict=True))


class _OneJob:
    """A Dispatcher that knows one job, which has ended."""

    def __init__(self, job: ArchivedExecutionGraph) -> None:
        self._job = job

    async def gateway(self) -> DispatcherGateway:
        return cast("DispatcherGateway", self)  # which is asked nothing else

    async def request_job(self, job_id: str) -> ArchivedExecutionGraph:
        return self._job

    async def request_job_status(self, job_id: str) -> JobStatus:
        return self._job.details.status

    async def request_overview(self) -> ClusterOverview:
        return ClusterOverview.of((self._job.details.overview(),), ResourceOverview(0, 0, 0))


async def _no_resources() -> ResourceManagerGateway:
    raise RestError(404, "an archive has no TaskManagers")


def write_archive(job: ArchivedExecutionGraph, directory: str, configuration: Mapping[str, str]) -> None:
    """Write the archive of an ended job; one that is there, of a leader that was lost meanwhile, stays. Blocks.

    Args:
        job: The job.
        directory: The directory, a path or a URI.
        configuration: The cluster's, with options of file systems.

    Raises:
        OSError: the file cannot be written.
    """
    answers = asyncio.run(archived_answers(job, configuration))
    content = {"archive": [{"path": path, "json": json.dumps(answer)} for path, answer in answers.items()]}
    files = Files(configuration)
    target = files.path(files.resolve(directory)) / job.details.job_id
    if size_of(target) is None:
        _write(target, json.dumps(content).encode())


def _write(target: AnyPath, data: bytes) -> None:
    if not isinstance(target, Path):
        target.write_bytes(data)
        return
    make_directory(target.parent)
    hidden = target.with_name(f".{target.name}.part")  # Flink's history server leaves other names than ids alone.
    hidden.write_bytes(data)
    # The history server may look at any moment, and must not find half an archive.
    hidden.rename(target)


def read_archive(path: AnyPath) -> dict[str, str]:
    """Return the answers in an archive as JSON texts, by path. Blocks.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no archive.
    """
    try:
        answers = {entry["path"]: entry["json"] for entry in json.loads(path.read_bytes())["archive"]}
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is no archive of a job: {error!r}") from None
    for asked, answer in answers.items():
        if not isinstance(asked, str) or not isinstance(answer, str):
            raise ValueError(f"{path} is no archive of a job: the answer to {asked!r} is no text")
    return answers
