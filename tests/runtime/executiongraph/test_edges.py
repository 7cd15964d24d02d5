"""Edges between subtasks, against those that Flink 2.3 built."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.parallelism import resolve_parallelism
from tests.runtime.golden_data import golden
from tests.runtime.helpers import job_graph


@pytest.mark.parametrize("file", ["edges_1_12", "edges_large", "edges_by_result_type"])
def test_edges_are_those_of_flink(file: str) -> None:
    for expected in golden(file):
        assert edges_of(expected["up"], expected["down"], expected["pattern"], expected["result_type"]) == expected


def edges_of(up: int, down: int, pattern: str, result_type: str) -> dict[str, Any]:
    job = job_graph(("a", up, []), ("b", down, [("a", pattern, result_type)]))
    resolve_parallelism(job, 1)
    graph = ExecutionGraph(job, ManualClock().now_ms)
    producer, consumer = graph.job_vertices.values()
    (result,) = graph.results.values()
    number = {id(group): index for index, group in enumerate(result.groups)}
    return {
        "up": up,
        "down": down,
        "pattern": pattern,
        "result_type": result_type,
        "max_edges_to_target": max(len(group.consumers.subtasks) for group in result.groups),
        "consumed_partition_groups": [list(group.consumed.partitions) for group in result.groups],
        "down_subtasks": [
            [
                [number[id(group)] for group in subtask.consumed],
                [
                    [
                        [group.consumed.partitions[0], group.consumed.partitions[-1]],
                        [group.consumed_subpartition(subtask.subtask_index)] * 2,
                    ]
                    for group in subtask.consumed
                ],
            ]
            for subtask in consumer.vertices
        ],
        "consumer_vertex_groups": [list(group.consumers.subtasks) for group in result.groups],
        "up_partitions": [
            [
                [number[id(group)] for group in partition.groups],
                sum(len(g.consumers.subtasks) for g in partition.groups),
            ]
            for partition in producer.results[0].partitions
        ],
    }
