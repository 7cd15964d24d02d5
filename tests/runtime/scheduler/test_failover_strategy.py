"""The subtasks that are restarted after a failure, compared with Flink 2.3 (scenarios P)."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.failover_strategy import failover_strategy
from firesteel.runtime.scheduler.topology import SchedulingTopology
from tests.runtime.golden_data import golden
from tests.runtime.helpers import job_graph

BAD = TaskFailure("bad")


@pytest.mark.parametrize("case", golden("regions"), ids=lambda case: case["name"])
def test_regions_restart_as_in_flink(case: dict[str, Any]) -> None:  # P01 P03 P04
    job = job_graph(*((v["name"], v["parallelism"], v["inputs"]) for v in case["vertices"]))
    resolve_parallelism(job, 1)
    graph = ExecutionGraph(job, ManualClock().now_ms)
    strategy = failover_strategy("region", graph, SchedulingTopology(graph))
    named = {f"{vertex.job_vertex.name}#{vertex.subtask_index}": vertex for vertex in graph.vertices}
    for vertex in graph.vertices:
        graph.transition(vertex, ExecutionState.RUNNING)
    for name, restarted in case["tasks_needing_restart_all_running_nothing_finished"].items():
        found = strategy.tasks_needing_restart([named[name]], BAD)
        assert found == {named[other] for other in restarted}, name


def test_unscheduled_vertices_are_not_restarted() -> None:  # P01
    graph = ExecutionGraph(job_graph(("a", 1, []), ("b", 1, [("a", "POINTWISE", "BLOCKING")])), ManualClock().now_ms)
    a, _ = graph.vertices
    graph.transition(a, ExecutionState.FAILED)
    assert failover_strategy("region", graph, SchedulingTopology(graph)).tasks_needing_restart([a], BAD) == {a}


def test_an_unknown_strategy_is_reported_with_the_known_ones() -> None:
    graph = ExecutionGraph(job_graph(("a", 1, [])), ManualClock().now_ms)
    with pytest.raises(InvalidOptionError, match=r"failover-strategy': no strategy 'some'; there are region, full"):
        failover_strategy("some", graph, SchedulingTopology(graph))
