"""Response times of the REST API for a dashboard's requests, and the memory of a completed job.

    python benchmarks/bench_rest.py [--quick]

A JobManager process has 200 jobs of 10 to 50 vertices; a client in another process requests every endpoint of
Flink's dashboard in turn, of all jobs. Dispatcher, ResourceManager, JobMasters, TaskExecutors and the REST server are
the real ones; the tasks do nothing but report their metrics every second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import harness
from simulated_cluster import EndlessQuery, SimulatedCluster, chain_of

from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.server import RestServer
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway

JOBS, RUNNING_JOBS = 200, 120
VERTICES, PARALLELISM = range(10, 51, 10), 2
SLOTS_PER_TASK_EXECUTOR = 10
RATE = 50
SECONDS = 200
REPORT_S = 1.0
CHECKPOINTS = 10
GOAL_MS = 100.0

TEXT = f"""\
One JobManager's process knows {JOBS} jobs of {VERTICES[0]} to {VERTICES[-1]} vertices with {PARALLELISM} subtasks each:
{RUNNING_JOBS} run, the others are over. A client in another process asks {RATE} times a second, for all endpoints that
Flink's dashboard asks for in turn, of all jobs and vertices; a request counts from the moment at which it was due,
whether others are answered or not. How late the client itself was is the first row: so much is the machine's.
Dispatcher, JobMasters, ResourceManager, TaskExecutors and REST server are the real ones on one loop; tasks run
nothing, and each running job reports the figures of all its subtasks every {REPORT_S:g} s. Goal: each endpoint within
{GOAL_MS:g} ms at p99."""
MEMORY_TEXT = (
    "What the JobManager's process keeps of a job that is over: what it grew by over 50 of them, by tracemalloc."
)

_JOB = "/jobs/{job}"
_VERTEX = "/jobs/{job}/vertices/{vertex}"
_TASK_MANAGER = "/taskmanagers/{task_manager}"
ENDPOINTS = (
    *("/config", "/overview", "/jobs/overview", "/applications/overview", "/jars"),
    *("/applications/{job}", "/applications/{job}/exceptions"),
    *(f"/jobmanager/{name}" for name in ("config", "environment", "log", "logs", "metrics", "profiler", "stdout")),
    *(_JOB, f"{_JOB}/config", f"{_JOB}/exceptions"),
    *(f"{_JOB}/checkpoints", f"{_JOB}/checkpoints/config", f"{_JOB}/checkpoints/details/{CHECKPOINTS}"),
    *(_VERTEX, f"{_VERTEX}/accumulators", f"{_VERTEX}/backpressure", f"{_VERTEX}/flamegraph", f"{_VERTEX}/metrics"),
    *(
        f"{_VERTEX}/subtasks/accumulators",
        f"{_VERTEX}/subtasks/metrics",
        f"{_VERTEX}/subtasks/metrics?get=numRecordsIn",
    ),
    *(f"{_VERTEX}/taskmanagers", f"{_VERTEX}/watermarks"),
    *("/taskmanagers", _TASK_MANAGER),
    *(f"{_TASK_MANAGER}/{name}" for name in ("log", "logs", "metrics", "profiler", "stdout")),
)
"""Those that endpoints.md of Flink 2.3 calls the dashboard's, but for `rescales`, which there are none of."""

LATENESS = "the client's own clock"
"""How late a loop is that waits for the time only: what others on the machine take from all."""

_METRICS = {
    **dict.fromkeys(("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut", "accumulateBusyTimeMs"), 0.0),
    "currentInputWatermark": 1.7e12,
    **{f"operator_{i}.numRecords{way}": 0.0 for i in range(3) for way in ("In", "Out")},
}


# --- the JobManager's process --------------------------------------------------------------------------------------


async def _cluster(jobs: int) -> SimulatedCluster:
    """Return a cluster that runs a number of jobs."""
    collect_garbage_rarely()
    cluster = SimulatedCluster()
    await cluster.start(jobs * PARALLELISM // SLOTS_PER_TASK_EXECUTOR, SLOTS_PER_TASK_EXECUTOR)
    return cluster


async def _submit(cluster: SimulatedCluster, names: range, vertices: list[int]) -> None:
    """Submit jobs and return once all their tasks run, with metrics and checkpoints."""
    cluster.data_plane.expect(len(names))
    for name, count in zip(names, itertools.cycle(vertices), strict=False):
        await cluster.gateway.submit_job(chain_of(f"job-{name}", count, PARALLELISM))
    await cluster.data_plane.all_running.wait()
    for query in cluster.data_plane.queries[-len(names) :]:
        _report(query, 1)
        operators = {
            vertex.id: dict.fromkeys(range(PARALLELISM), 500) for vertex in query.descriptor.job_graph.vertices
        }
        for number in range(1, CHECKPOINTS + 1):
            path = f"/checkpoints/{query.descriptor.job_id}/chk-{number}"
            query.listener.checkpoint_completed(CheckpointStats(number, False, 1, 50, path, operators))


def _report(query: EndlessQuery, turn: int) -> None:
    metrics = {name: value + turn for name, value in _METRICS.items()}
    query.listener.subtasks_progressed(
        [
            SubtaskProgress(one.vertex_id, one.subtask_index, turn * 1_000, turn * 1_000, False, metrics)
            for one in query.descriptor.subtasks
        ]
    )


async def _report_for_ever(queries: list[EndlessQuery]) -> None:
    """Let each query report once per `REPORT_S`, one after the other."""
    start_s = time.monotonic()
    for number, query in enumerate(itertools.cycle(queries)):
        await asyncio.sleep(start_s + number * REPORT_S / len(queries) - time.monotonic())
        _report(query, 1 + number // len(queries))


async def _end(cluster: SimulatedCluster, queries: list[EndlessQuery]) -> None:
    for query in queries:
        query.listener.query_finished()
        await cluster.gateway.request_job_result(query.descriptor.job_id)


async def _serve(log_directory: Path) -> None:
    """Print the address and the ids on standard output, and serve until standard input ends."""
    cluster = await _cluster(JOBS)
    await _submit(cluster, range(JOBS), list(VERTICES))
    await _end(cluster, cluster.data_plane.queries[RUNNING_JOBS:])
    manager = await cluster.leader(RESOURCE_MANAGER, ResourceManagerGateway)

    async def gateway(of: object) -> object:
        return of

    (log_directory / "jobmanager.log").write_text("a line of the log\n" * 10_000)
    (log_directory / "jobmanager.out").touch()
    view = Cluster(
        lambda: gateway(cluster.gateway), lambda: gateway(manager), {"parallelism.default": "2"}, log_directory
    )
    server = RestServer(view, Operations(asyncio.ensure_future), {"rest.port": "0"})
    await server.start()
    gc.collect()
    print(json.dumps({"address": server.address}), flush=True)
    reporting = asyncio.ensure_future(_report_for_ever(cluster.data_plane.queries[:RUNNING_JOBS]))
    await asyncio.to_thread(sys.stdin.read)
    reporting.cancel()
    await server.stop()


# --- the client ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Yield the address of a JobManager in a separate process."""
    with tempfile.TemporaryDirectory() as logs:
        command = [sys.executable, __file__, "--serve", logs]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"]


async def ask(address: str, seconds: float) -> dict[str, list[float]]:
    """Return the response times in ms by endpoint."""
    took_ms: dict[str, list[float]] = {name: [] for name in (LATENESS, *ENDPOINTS)}
    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(limit=0)) as session:
        paths = await _paths(session)

        async def one(endpoint: str, path: str, due_s: float) -> None:
            async with session.get(path) as answer:
                await answer.read()
                if answer.status != 200 and not path.endswith(f"/details/{CHECKPOINTS}"):
                    raise SystemExit(f"{path} was answered with {answer.status}: {await answer.text()}")
            took_ms[endpoint].append((time.perf_counter() - due_s) * 1e3)

        start_s, asked = time.perf_counter(), []
        for number in range(int(seconds * RATE)):
            due_s = start_s + number / RATE
            await asyncio.sleep(due_s - time.perf_counter())
            took_ms[LATENESS].append((time.perf_counter() - due_s) * 1e3)
            asked.append(asyncio.ensure_future(one(*next(paths), due_s)))
        await asyncio.gather(*asked)
    return took_ms


async def _paths(session: aiohttp.ClientSession) -> Iterator[tuple[str, str]]:
    """Yield endpoints in turn, each for some job and vertex."""

    async def get(path: str) -> dict[str, list[dict[str, str]]]:
        async with session.get(path) as answer:
            found: dict[str, list[dict[str, str]]] = await answer.json()
            return found

    jobs = {job["jid"]: await get(f"/jobs/{job['jid']}") for job in (await get("/jobs/overview"))["jobs"]}
    vertices = {id: [vertex["id"] for vertex in job["vertices"]] for id, job in jobs.items()}
    task_managers = [one["id"] for one in (await get("/taskmanagers"))["taskmanagers"]]
    chance = random.Random(0)

    def paths() -> Iterator[tuple[str, str]]:
        for endpoint in itertools.cycle(ENDPOINTS):
            job = chance.choice(list(vertices))
            vertex, task_manager = chance.choice(vertices[job]), chance.choice(task_managers)
            yield endpoint, endpoint.format(job=job, vertex=vertex, task_manager=task_manager)

    return paths()


# --- memory --------------------------------------------------------------------------------------------------------


def kept_kb(vertices: int) -> float:
    """Return the memory in KB that the process keeps for a completed job with this number of vertices."""
    return asyncio.run(_kept_kb(vertices))


async def _kept_kb(vertices: int) -> float:
    jobs = 50
    cluster = await _cluster(jobs)
    for names in (range(-jobs, 0), range(jobs)):
        gc.collect()
        if names.start == 0:
            tracemalloc.start()
        await _submit(cluster, names, [vertices])
        await _end(cluster, cluster.data_plane.queries)
        cluster.data_plane.queries.clear()
        await asyncio.sleep(1)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / 1024 / jobs


# --- report --------------------------------------------------------------------------------------------------------


def _row(name: str, took_ms: list[float]) -> list[str]:
    ordered = sorted(took_ms)
    figures = (statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1])
    return [name, str(len(ordered)), *(f"{figure:.1f}" for figure in figures)]


def main() -> None:
    """Measure and store the tables."""
    if harness.answer_call({"kept_kb": kept_kb}):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter, without leaving a result")
    parser.add_argument("--serve", metavar="DIRECTORY", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(_serve(options.serve))
        return
    with serving() as address:
        took_ms = asyncio.run(ask(address, SECONDS / 10 if options.quick else SECONDS))
    late_ms = took_ms.pop(LATENESS)
    rows = [_row(LATENESS, late_ms), _row("all endpoints", [one for found in took_ms.values() for one in found])]
    rows += [_row(f"`{endpoint}`", found) for endpoint, found in took_ms.items()]
    memory = [[str(count), f"{harness.apart('kept_kb', count):.1f}"] for count in VERTICES]
    lines = [
        *("# REST", "", TEXT, "", f"{harness.environment_line()}. {harness.versions_line()}. {RATE} requests/s.", ""),
        *harness.table("endpoint | requests | p50 ms | p99 ms | max ms", rows),
        *("", MEMORY_TEXT, "", *harness.table(f"vertices, {PARALLELISM} subtasks each | KB", memory), ""),
    ]
    if options.quick:
        print("\n".join(lines))
    else:
        harness.write_report("REST", "\n".join(lines))


if __name__ == "__main__":
    main()
