"""Time and memory to build large graphs, compared with Flink's own Java classes.

    python benchmarks/bench_graphs.py [--quick]

Two vertices of parallelism N: time for the ExecutionGraph and for its pipelined regions, and the memory of both, for
N = 100 to 100,000. Each case runs in a separate process. Then job graphs: chains of up to 20,000 vertices, and up to
4,000 vertices in fully meshed layers, from StreamGraph to JobGraph and sorted. Figures per subtask, vertex or edge show
whether cost grows linearly.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable

import harness

from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.graph.job_graph import (
    DistributionPattern,
    IntermediateDataSet,
    JobEdge,
    JobGraph,
    JobVertex,
    Partitioner,
    ResultPartitionType,
    SlotSharingGroup,
)
from firesteel.graph.job_vertex import topological_order
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.graph.stream_graph import StreamGraph
from firesteel.graph.stream_node import StreamNode
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.pipelined_region import pipelined_regions

RUNS = 5
EDGES = [
    ("ALL_TO_ALL", "PIPELINED_BOUNDED", 1.0),
    ("ALL_TO_ALL", "BLOCKING", 1.0),
    ("POINTWISE", "PIPELINED_BOUNDED", 1.0),
    ("POINTWISE", "BLOCKING", 1.0),
    ("POINTWISE", "PIPELINED_BOUNDED", 2 / 3),
    ("POINTWISE", "BLOCKING", 2 / 3),
]
FLINK_MS = {
    ("ALL_TO_ALL", "PIPELINED_BOUNDED", 1.0): (125, 22),
    ("ALL_TO_ALL", "BLOCKING", 1.0): (214, 87),
    ("POINTWISE", "PIPELINED_BOUNDED", 1.0): (192, 60),
}
"""Flink 2.3's Java classes at N = 10,000 on a machine of this kind, warmed up: graph, topology and regions."""
FLINK_MB = 34  # ALL_TO_ALL, pipelined


def two_vertices(pattern: str, result_type: str, up: int, down: int) -> JobGraph:
    """Return a job of two vertices and one edge."""
    group = SlotSharingGroup("default", ["a" * 32, "b" * 32])
    producer = JobVertex("a" * 32, "a", up, slot_sharing_group=group)
    consumer = JobVertex("b" * 32, "b", down, slot_sharing_group=group)
    kind = DistributionPattern[pattern]
    data_set = IntermediateDataSet("c" * 32, producer, ResultPartitionType[result_type], kind)
    partitioner = Partitioner("REBALANCE" if pattern == "ALL_TO_ALL" else "RESCALE")
    edge = JobEdge(data_set, consumer, 0, partitioner, kind, partitioner.name, 1, 2)
    producer.produced_data_sets.append(data_set)
    data_set.consumers.append(edge)
    consumer.inputs.append(edge)
    job = JobGraph("d" * 32, "bench", vertices=[producer, consumer], slot_sharing_groups=[group])
    for vertex in job.vertices:
        vertex.max_parallelism = max(up, down)  # above Flink's limit of 32,768 where N is 100,000
    resolve_parallelism(job, 1)
    return job


def execution_graph_figures(pattern: str, result_type: str, up: int, down: int) -> tuple[float, float, float]:
    """Return medians of the ms for the graph, the ms for its regions, and the MB of both; the first run counts."""
    collect_garbage_rarely()  # As in a JobManager.
    job = two_vertices(pattern, result_type, up, down)
    built_ms, regions_ms = [], []
    gc.collect()
    before_kb = _resident_kb()
    for _ in range(RUNS if up < 100_000 else 3):
        graph = regions = None
        gc.collect()
        start = time.perf_counter()
        graph = ExecutionGraph(job, lambda: 0)
        middle = time.perf_counter()
        regions = pipelined_regions(graph)
        end = time.perf_counter()
        built_ms.append((middle - start) * 1e3)
        regions_ms.append((end - middle) * 1e3)
    used_mb = (_resident_kb() - before_kb) / 1024
    assert graph is not None
    assert regions is not None
    return statistics.median(built_ms), statistics.median(regions_ms), used_mb


def _resident_kb() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def chain_of_vertices(vertices: int) -> StreamGraph:
    """Return operators in a row, none of them chained."""
    graph = StreamGraph(chaining_enabled=False)
    graph.source_ids = [1]
    for node_id in range(1, vertices + 1):
        graph.add_node(StreamNode(node_id, f"op{node_id}", 1))
        if node_id > 1:
            graph.add_edge(node_id - 1, node_id, 0, None)
    return graph


def meshed_layers(vertices: int, width: int) -> StreamGraph:
    """Return layers of operators, each connected with all of the next layer."""
    graph = StreamGraph(chaining_enabled=False)
    for node_id in range(1, vertices + 1):
        graph.add_node(StreamNode(node_id, f"op{node_id}", 1))
        layer = (node_id - 1) // width
        if layer == 0:
            graph.source_ids.append(node_id)
        for source in range((layer - 1) * width + 1, layer * width + 1) if layer else ():
            graph.add_edge(source, node_id, 0, None)
    return graph


def job_graph_figures(build: Callable[..., StreamGraph], *sizes: int) -> tuple[float, float, int, int]:
    """Return the ms to translate, the ms to sort alone, and the numbers of vertices and edges."""
    collect_garbage_rarely()
    graph = build(*sizes)
    start = time.perf_counter()
    job = graph.get_job_graph()
    middle = time.perf_counter()
    topological_order(job.vertices)
    end = time.perf_counter()
    edges = sum(len(vertex.inputs) for vertex in job.vertices)
    return (middle - start) * 1e3, (end - middle) * 1e3, len(job.vertices), edges


def apart(function: Callable[..., tuple[float, ...]], *arguments: object) -> tuple[float, ...]:
    """Return the result of a function in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def execution_graph_rows(sizes: list[int]) -> list[list[str]]:
    """Return a table row per edge and size."""
    rows = []
    for pattern, result_type, ratio in EDGES:
        for n in sizes:
            down = round(n * ratio)
            graph_ms, regions_ms, used_mb = apart(execution_graph_figures, pattern, result_type, n, down)
            flink = FLINK_MS.get((pattern, result_type, ratio)) if n == 10_000 else None
            rows.append(
                [
                    f"{pattern} {result_type}",
                    f"{n:,} -> {down:,}",
                    f"{graph_ms:.1f}",
                    f"{regions_ms:.1f}",
                    f"{used_mb:.1f}",
                    f"{(graph_ms + regions_ms) * 1e3 / (n + down):.2f}",
                    f"{flink[0]} + {flink[1]} ms: {(graph_ms + regions_ms) / sum(flink):.2f}" if flink else "",
                ]
            )
            print(" | ".join(rows[-1]), flush=True)
    return rows


def job_graph_rows() -> list[list[str]]:
    """Return a table row per shape and size."""
    cases = [("chain", chain_of_vertices, (size,)) for size in (1_000, 10_000, 20_000)]
    cases += [("meshed layers", meshed_layers, (size, 50)) for size in (500, 1_000, 2_000, 4_000)]
    rows = []
    for shape, build, sizes in cases:
        translate_ms, sort_ms, vertices, edges = apart(job_graph_figures, build, *sizes)
        per_element_us = translate_ms * 1e3 / (vertices + edges)
        rows.append(
            [shape, f"{vertices:,}", f"{edges:,}", f"{translate_ms:.0f}", f"{sort_ms:.1f}", f"{per_element_us:.1f}"]
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Run all cases and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to N = 10,000, without leaving a result")
    quick = parser.parse_args().quick
    sizes = [100, 1_000, 10_000] if quick else [100, 1_000, 10_000, 100_000]
    execution_rows = execution_graph_rows(sizes)
    job_rows = job_graph_rows()
    if quick:
        return
    lines = [
        "# Graphs",
        "",
        "Two vertices of parallelism N, one edge: time for the ExecutionGraph and for its pipelined regions (median of",
        f"{RUNS} in a fresh process), memory of both. Flink's Java classes, warmed up, on such a machine: {FLINK_MB}",
        "MB for 10,000 -> 10,000 ALL_TO_ALL pipelined; times in the last column; two to three times that in a fresh",
        "JVM.",
        "",
        f"{harness.environment_line()}. {harness.versions_line()}.",
        "",
        *_table("edge | N | graph ms | regions ms | MB | us per subtask | Flink's ms: ratio", execution_rows),
        "",
        "From StreamGraph to JobGraph, nothing chained:",
        "",
        *_table("shape | vertices | edges | translate ms | sort ms | us per vertex and edge", job_rows),
        "",
    ]
    harness.write_report("Graphs", "\n".join(lines))


def _table(header: str, rows: list[list[str]]) -> list[str]:
    columns = header.count("|") + 1
    return [f"| {header} |", "|---" * 2 + "|--:" * (columns - 2) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


if __name__ == "__main__":
    main()
