"""Generated requests, from the API's own document: no request may make the server fail."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as hypothesis_seed
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from firesteel.runtime.failure import TaskFailure
from tests.rest.rest_cluster import Rest, serving
from tests.runtime.helpers import an_id, job_graph, settle

CHECKS = [not_a_server_error, content_type_conformance, status_code_conformance]
KNOWN_SHARE = 0.8


async def some_jobs(rest: Rest) -> list[str]:
    """One that failed, one that was cancelled and one that runs, so that there is something to ask about."""
    for name in ("failed", "cancelled", "runs"):
        await rest.cluster.submit(job_graph(("a", 2, []), name=name))
        if name == "failed":
            await rest.cluster.fail_query(TaskFailure("ValueError: bad"))
        elif name == "cancelled":
            await rest.cluster.gateway.cancel_job(an_id(name))
            await settle()
    return [an_id(name) for name in ("failed", "cancelled", "runs")]


def fuzz(url: str, job_ids: list[str], examples: int, seed: int) -> None:
    """Call all endpoints with a number of requests each, most of them about existing jobs.

    Raises:
        FailureGroup: an answer says that the server failed, or is none that the document tells of.
    """
    known = {"jobid": job_ids, "applicationid": job_ids, "vertexid": [an_id("a")], "taskmanagerid": ["tm"]}
    choices = random.Random(seed)
    for found in schemathesis.openapi.from_url(f"{url}/openapi.json").get_all_operations():
        operation = found.ok()

        def call(case: Any) -> None:
            for name in case.path_parameters or {}:
                if name in known and choices.random() < KNOWN_SHARE:
                    case.path_parameters[name] = choices.choice(known[name])
            case.call_and_validate(checks=CHECKS)

        limits = settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        hypothesis_seed(seed)(limits(given(case=operation.as_strategy())(call)))()


async def run(examples: int, seed: int, directory: Path) -> None:
    """Start a cluster with some jobs and fuzz it."""
    async with serving(directory) as rest:
        job_ids = await some_jobs(rest)
        await asyncio.to_thread(fuzz, rest.server.address, job_ids, examples, seed)


def api_failed(examples: int = 50) -> bool:
    """Return whether a request made the server fail, and print the request."""
    seed = random.randrange(2**32)
    try:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(run(examples, seed, Path(directory)))
    except (Exception, BaseExceptionGroup) as error:
        print(f"fuzzing the REST API with seed {seed}: {error}")
        return True
    return False
