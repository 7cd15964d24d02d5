"""Cost of bringing jobs from their submission to running tasks; the tasks do nothing.

    python benchmarks/bench_scheduling.py [--quick]

One job of two ALL_TO_ALL vertices of 10, 1,000 and 10,000 subtasks each, in as many slots, ten per TaskExecutor; then
1,000 jobs of 2 x 2 subtasks submitted at once, while the Dispatcher is asked for the status of jobs every few
milliseconds. Dispatcher, ResourceManager, JobMasters and TaskExecutors are the real ones, on one loop and so one core.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable

import harness
from simulated_cluster import SimulatedCluster, chain_of

from firesteel.common.garbage_collection import collect_garbage_rarely

RUNS = 3
SLOTS_PER_TASK_EXECUTOR = 10
GOAL_CPU_S = 5.0
GOAL_LATENCY_MS = 50.0
PROBE_INTERVAL_S = 0.005
OVERVIEW_INTERVAL_S = 0.25

Figures = dict[str, float]

ONE_JOB = f"""\
From the submission of a job to the moment at which all its tasks are reported RUNNING. Two vertices, ALL_TO_ALL, in as
many slots as each has subtasks, {SLOTS_PER_TASK_EXECUTOR} per TaskExecutor. Dispatcher, ResourceManager, JobMaster and
TaskExecutors are the real ones, in one process on one core, with calls in memory; the tasks run nothing. A call is a
message and its answer. Memory is what the peak of the process grew by. Goal: 2 x 10,000 in at most {GOAL_CPU_S:g} s of
CPU, and a cost per subtask that does not grow."""
MANY_JOBS = f"""\
Small jobs of 2 x 2 subtasks, all submitted at once. Until all tasks run the Dispatcher is asked for the status of a
running job every {PROBE_INTERVAL_S * 1e3:g} ms, and every {OVERVIEW_INTERVAL_S * 1e3:g} ms for the overview, for which
it asks the JobMasters of all jobs. A request counts from the moment at which it was due. Goal: a status within
{GOAL_LATENCY_MS:g} ms."""


def one_job(parallelism: int) -> Figures:
    """Return the figures of a job of 2 x `parallelism` subtasks."""
    return asyncio.run(_one_job(parallelism))


async def _one_job(parallelism: int) -> Figures:
    collect_garbage_rarely()
    cluster = SimulatedCluster()
    await cluster.start(max(1, parallelism // SLOTS_PER_TASK_EXECUTOR), SLOTS_PER_TASK_EXECUTOR)
    cluster.data_plane.expect(1)
    calls, before_kb = cluster.rpc.calls.total(), _peak_kb()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    await cluster.gateway.submit_job(chain_of("bench", 2, parallelism))
    await cluster.data_plane.all_running.wait()
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    _check(cluster)
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "calls": cluster.rpc.calls.total() - calls,
        "memory_mb": (_peak_kb() - before_kb) / 1024,
    }


def many_jobs(jobs: int) -> Figures:
    """Return the figures of many small concurrent jobs, with the Dispatcher's response times in the meantime."""
    return asyncio.run(_many_jobs(jobs))


async def _many_jobs(jobs: int) -> Figures:
    collect_garbage_rarely()
    cluster = SimulatedCluster()
    await cluster.start(jobs * 2 // SLOTS_PER_TASK_EXECUTOR, SLOTS_PER_TASK_EXECUTOR)
    cluster.data_plane.expect(jobs)
    graphs = [chain_of(f"bench-{number}", 2, 2) for number in range(jobs)]
    asked = graphs[0].job_id
    await cluster.gateway.submit_job(graphs[0])
    statuses = asyncio.ensure_future(
        _probe(PROBE_INTERVAL_S, lambda: cluster.gateway.request_job_status(asked), cluster.data_plane.all_running)
    )
    overviews = asyncio.ensure_future(
        _probe(OVERVIEW_INTERVAL_S, lambda: cluster.gateway.request_overview(), cluster.data_plane.all_running)
    )
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    await asyncio.gather(*(cluster.gateway.submit_job(graph) for graph in graphs[1:]))
    submitted_s = time.perf_counter() - wall_s
    await cluster.data_plane.all_running.wait()
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    _check(cluster)
    status_ms, overview_ms = sorted(await statuses), sorted(await overviews)
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "submitted_s": submitted_s,
        "requests": len(status_ms),
        "p50_ms": statistics.median(status_ms),
        "p99_ms": status_ms[int(len(status_ms) * 0.99)],
        "max_ms": status_ms[-1],
        "overview_p50_ms": statistics.median(overview_ms),
        "overview_max_ms": overview_ms[-1],
    }


async def _probe(interval_s: float, ask: Callable[[], asyncio.Future[object]], end: asyncio.Event) -> list[float]:
    """Milliseconds that the answers took to requests made every `interval_s`, also while others are unanswered."""
    took_ms: list[float] = []

    def answered(start_s: float) -> None:
        took_ms.append((time.perf_counter() - start_s) * 1e3)

    asked = []
    next_s = time.perf_counter()
    while not end.is_set():
        # A request that a busy loop made late has waited since it was due.
        request, due_s = ask(), next_s
        request.add_done_callback(lambda _, due_s=due_s: answered(due_s))
        asked.append(request)
        next_s = max(next_s + interval_s, time.perf_counter() - interval_s)
        await asyncio.sleep(next_s - time.perf_counter())
    await asyncio.gather(*asked)
    return took_ms


def _check(cluster: SimulatedCluster) -> None:
    if cluster.errors:
        raise SystemExit(f"the cluster failed: {cluster.errors[0]!r}")


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _on_one_core() -> None:
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def apart(function: Callable[[int], Figures], argument: int) -> Figures:
    """Medians, and the worst of maxima, of what the function gives in fresh processes, each on one core."""
    found = []
    for _ in range(RUNS):
        with multiprocessing.get_context("spawn").Pool(1, _on_one_core) as pool:
            found.append(pool.apply(function, (argument,)))
    return {
        name: (max if name.endswith("max_ms") else statistics.median)([figures[name] for figures in found])
        for name in found[0]
    }


def one_job_rows(sizes: list[int]) -> list[list[str]]:
    """A row per size."""
    rows = []
    for size in sizes:
        figures = apart(one_job, size)
        subtasks = 2 * size
        rows.append(
            [
                f"2 x {size:,}",
                f"{figures['wall_s']:.3f}",
                f"{figures['cpu_s']:.3f}",
                f"{figures['cpu_s'] * 1e6 / subtasks:.0f}",
                f"{figures['calls']:,.0f}",
                f"{figures['calls'] / subtasks:.2f}",
                f"{figures['memory_mb']:.1f}",
                f"{figures['memory_mb'] * 1024 / subtasks:.1f}",
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def many_jobs_row(jobs: int) -> list[str]:
    """The row of many small jobs."""
    figures = apart(many_jobs, jobs)
    row = [
        f"{jobs:,}",
        f"{figures['submitted_s']:.2f}",
        f"{figures['wall_s']:.2f}",
        f"{figures['cpu_s']:.2f}",
        f"{figures['requests']:,.0f}",
        f"{figures['p50_ms']:.1f}",
        f"{figures['p99_ms']:.1f}",
        f"{figures['max_ms']:.1f}",
        f"{figures['overview_p50_ms']:.0f}",
        f"{figures['overview_max_ms']:.0f}",
    ]
    print(" | ".join(row), flush=True)
    return row


def main() -> None:
    """Run all cases and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller, without leaving a result")
    quick = parser.parse_args().quick
    job_rows = one_job_rows([10, 100, 1_000] if quick else [10, 100, 1_000, 10_000])
    small_jobs_row = many_jobs_row(100 if quick else 1_000)
    if quick:
        return
    lines = [
        "# Scheduling",
        "",
        ONE_JOB,
        "",
        f"{harness.environment_line()}. {harness.versions_line()}. Median of {RUNS} fresh processes, maxima of all.",
        "",
        *harness.table(
            "subtasks | wall s | CPU s | us per subtask | calls | per subtask | MB | KB per subtask", job_rows
        ),
        "",
        MANY_JOBS,
        "",
        *harness.table(
            "jobs | all taken s | all running s | CPU s | status requests | p50 ms | p99 ms | max ms"
            " | overview p50 ms | max ms",
            [small_jobs_row],
        ),
        "",
    ]
    harness.write_report("Scheduling", "\n".join(lines))


if __name__ == "__main__":
    main()
