"""Pipelined regions, against those that Flink 2.3 computed (scenario M09)."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.graph.parallelism import resolve_parallelism
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.pipelined_region import pipelined_regions
from tests.runtime.golden_data import golden
from tests.runtime.helpers import job_graph


@pytest.mark.parametrize("case", golden("regions"), ids=lambda case: case["name"])
def test_regions_are_those_of_flink(case: dict[str, Any]) -> None:  # M09
    job = job_graph(*((v["name"], v["parallelism"], v["inputs"]) for v in case["vertices"]))
    resolve_parallelism(job, 1)
    regions = pipelined_regions(ExecutionGraph(job, ManualClock().now_ms))
    named = [f"[{', '.join(sorted(f'{v.job_vertex.name}#{v.subtask_index}' for v in region))}]" for region in regions]
    assert sorted(named) == sorted(case["execution_regions"])
