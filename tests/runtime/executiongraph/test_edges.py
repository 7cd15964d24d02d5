"""Edges between subtasks, against those that Flink 2.3 built."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.graph.parallelism import resolve_parallelism
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from tests.runtime.golden_data import golden
from tests.runtime.helpers import job_graph


@pytest.mark.parametrize("file", ["edges_1_12", "edges_large", "edges_by_result_type"])
def test_edges_are_those_of_flink(file: str) -> None:
    for expected in golden(file):
        assert edges_of(expected["up"], expected["down"], expected["pattern"], expected["result_type"]) == expected


def edges_of(up: int, down: int, pattern: str, result_type: str) -> dict[str, Any]:
    job = job_graph(("a", up, []), ("b", down, [("a", pattern, result_type)]))
    resolve_parallelism(job, 1)
    (edge,) = ExecutionGraph(job, ManualClock().now_ms).to_dict()["edges"]
    del edge["source"], edge["target"]
    return edge
