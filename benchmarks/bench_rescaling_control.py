"""What rescales and the autoscaler cost the control plane; tasks do nothing, and there is no state.

    python benchmarks/bench_rescaling_control.py [--quick]

A job of two ALL_TO_ALL vertices runs with half of the subtasks that there are slots for, ten slots per TaskExecutor. It
is rescaled to all of them and back, then its autoscaler looks at it every 100 ms while each of its subtasks reports
progress every 200 ms. Dispatcher, ResourceManager, JobMaster and TaskExecutors are the real ones, on one loop and core.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import harness
from bench_scheduling import SLOTS_PER_TASK_EXECUTOR, Figures, apart
from simulated_cluster import CountingDataPlane, SimulatedCluster, chain_of

from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress

AUTOSCALER = {
    "job.autoscaler.enabled": "true",
    "job.autoscaler.scaling.enabled": "false",
    "job.autoscaler.metrics.window": "1 s",
    "job.autoscaler.stabilization.interval": "0 s",
    "job.autoscaler.catch-up.duration": "1 s",
    "job.autoscaler.vertex.max-parallelism": "4000",
    "autoscaler.standalone.control-loop.interval": "100 ms",
}
RESCALING = {"jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 s"}
PROGRESS_S, LOOKS_S = 0.2, 4.0
_MOST_LOOKED_AT = 1_000
"""With 8,000 slots, the reports that come every 0.2 s alone would take nearly half a core."""
TEXT = f"""\
Two vertices, ALL_TO_ALL, {SLOTS_PER_TASK_EXECUTOR} slots per TaskExecutor; up is from half of the slots to all, down is
the way back. From the request until all tasks run again, with calls in memory; tasks do nothing and there is no state,
so a real rescale adds the checkpoint and the reading of state. With the autoscaler, which looks every 100 ms while all
subtasks report progress every {PROGRESS_S:g} s: the share of one core of both, and of the reports alone."""


def rescales(slots: int) -> Figures:
    """Return the figures of a job that is rescaled to so many slots and back."""
    return asyncio.run(_rescales(slots))


async def _rescales(slots: int) -> Figures:
    collect_garbage_rarely()
    cluster, graph = SimulatedCluster(), chain_of("bench", 2, slots // 2)
    await cluster.start(slots // SLOTS_PER_TASK_EXECUTOR, SLOTS_PER_TASK_EXECUTOR)
    graph.configuration |= RESCALING
    cluster.data_plane.expect(1)
    await cluster.gateway.submit_job(graph)
    await cluster.data_plane.all_running.wait()
    figures: Figures = {}
    for name, parallelism in (("up", slots), ("down", slots // 2)):
        bounds = {vertex.id: ParallelismBounds(1, parallelism) for vertex in graph.vertices}
        cluster.data_plane.expect(1)
        calls, wall_s, cpu_s = cluster.rpc.calls.total(), time.perf_counter(), time.process_time()
        await cluster.gateway.update_resource_requirements(graph.job_id, bounds)
        await cluster.data_plane.all_running.wait()
        figures |= {
            f"{name}_s": time.perf_counter() - wall_s,
            f"{name}_cpu_s": time.process_time() - cpu_s,
            f"{name}_calls": cluster.rpc.calls.total() - calls,
        }
    return figures


def looks(slots: int) -> Figures:
    """Return the figures of a job in so many slots with an autoscaler."""
    return asyncio.run(_looks(slots))


async def _looks(slots: int) -> Figures:
    shares = []
    for options in (AUTOSCALER, {}):
        cluster, graph = SimulatedCluster(), chain_of("bench", 2, slots)
        await cluster.start(slots // SLOTS_PER_TASK_EXECUTOR, SLOTS_PER_TASK_EXECUTOR)
        graph.configuration |= options
        cluster.data_plane.expect(1)
        await cluster.gateway.submit_job(graph)
        await cluster.data_plane.all_running.wait()
        shares.append(await _share(cluster.data_plane, graph))
        if options:
            decisions = await cluster.gateway.request_scaling_decisions(graph.job_id)
    return {"both": shares[0], "reports": shares[1], "decisions": len(decisions or ())}


async def _share(data_plane: CountingDataPlane, graph: JobGraph) -> float:
    """Return the share of a core that the reports of all subtasks take, and whoever looks at them."""
    query, read = data_plane.queries[-1], 0
    source = graph.vertices[0]
    begin_s, cpu_s = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin_s < LOOKS_S:
        read += 100
        query.listener.subtasks_progressed(
            [
                SubtaskProgress(
                    vertex.id,
                    index,
                    read,
                    read,
                    False,
                    {"source.totalRecordsRead": read, "source.pendingRecords": 10_000},
                )
                for vertex in graph.vertices
                for index in range(source.parallelism)
            ]
        )
        query.listener.batch_ended(BatchTimes(1, {"operators": PROGRESS_S}))
        await asyncio.sleep(PROGRESS_S)
    return (time.process_time() - cpu_s) / (time.perf_counter() - begin_s)


def main() -> None:
    """Run all sizes and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller, without leaving a result")
    quick = parser.parse_args().quick
    rows = []
    for slots in [20, 100] if quick else [20, 100, 1_000, 8_000]:
        found = apart(rescales, slots) | (apart(looks, slots) if slots <= _MOST_LOOKED_AT else {})
        up, down = (
            [f"{found[f'{name}_s']:.3f}", f"{found[f'{name}_cpu_s']:.3f}", f"{found[f'{name}_calls']:,.0f}"]
            for name in ("up", "down")
        )
        looked = [f"{found[name]:.1%}" if name in found else "" for name in ("both", "reports")]
        rows.append([f"{slots:,}", *up, *down, *looked])
        print(" | ".join(rows[-1]), flush=True)
    if quick:
        return
    head = "slots | up s | CPU s | calls | down s | CPU s | calls | reports and autoscaler | reports alone"
    lines = [
        "# Rescales and the autoscaler in the control plane",
        "",
        TEXT,
        "",
        f"{harness.environment_line()}. {harness.versions_line()}.",
        "",
        *harness.table(head, rows),
        "",
    ]
    harness.write_report("Rescaling control", "\n".join(lines))


if __name__ == "__main__":
    main()
