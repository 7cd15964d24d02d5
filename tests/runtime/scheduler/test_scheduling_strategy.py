"""Scheduling strategies (scenarios M)."""

from __future__ import annotations

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.scheduler.lazy_inputs import InputDependencyConstraint
from firesteel.runtime.scheduler.scheduling_strategy import (
    Bulk,
    LazyFromSourcesSchedulingStrategy,
    scheduling_strategy,
)
from firesteel.runtime.scheduler.topology import SchedulingTopology
from tests.runtime.helpers import an_id, job_graph


def graph_of(job: JobGraph) -> ExecutionGraph:
    return ExecutionGraph(job, ManualClock().now_ms)


def subtask(graph: ExecutionGraph, name: str, index: int = 0) -> ExecutionVertex:
    return graph.job_vertices[an_id(name)].vertices[index]


def names(bulks: list[Bulk]) -> list[list[str]]:
    return [[f"{vertex.job_vertex.name}#{vertex.subtask_index}" for vertex in bulk] for bulk in bulks]


def join_of_two() -> JobGraph:
    """c reads a pipelined result of a and a blocking one of b."""
    inputs = [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED"), ("b", "ALL_TO_ALL", "BLOCKING")]
    return job_graph(("a", 2, []), ("b", 2, []), ("c", 1, inputs))


def lazily(graph: ExecutionGraph, constraint: InputDependencyConstraint) -> LazyFromSourcesSchedulingStrategy:
    return LazyFromSourcesSchedulingStrategy(graph, SchedulingTopology(graph), constraint)


def test_with_the_constraint_any_one_input_suffices() -> None:  # M05
    graph = graph_of(join_of_two())
    strategy = lazily(graph, InputDependencyConstraint.ANY)
    assert names(strategy.start()) == [["a#0"], ["a#1"], ["b#0"], ["b#1"]]
    assert strategy.finished(subtask(graph, "b", 0), []) == []
    assert names(strategy.finished(subtask(graph, "b", 1), [])) == [["c#0"]]


def test_with_the_constraint_all_every_input_must_be_available() -> None:  # M05
    graph = graph_of(join_of_two())
    strategy = lazily(graph, InputDependencyConstraint.ALL)
    assert strategy.data_produced(subtask(graph, "a", 1)) == []
    assert strategy.finished(subtask(graph, "b", 0), []) == []
    assert names(strategy.finished(subtask(graph, "b", 1), [])) == [["c#0"]]


def test_a_restarted_producer_has_no_data() -> None:  # M05
    graph = graph_of(join_of_two())
    strategy = lazily(graph, InputDependencyConstraint.ALL)
    for index in (0, 1):
        strategy.finished(subtask(graph, "b", index), [])
    strategy.restart({subtask(graph, "b", 0)})
    assert strategy.data_produced(subtask(graph, "a", 1)) == []
    assert names(strategy.finished(subtask(graph, "b", 0), [])) == [["c#0"]]


def test_eager_schedules_all_in_one_bulk() -> None:  # M01
    graph = graph_of(join_of_two())
    strategy = scheduling_strategy("eager", graph, SchedulingTopology(graph))
    assert names(strategy.start()) == [["a#0", "a#1", "b#0", "b#1", "c#0"]]
    assert names(strategy.restart({subtask(graph, "c"), subtask(graph, "a")})) == [["a#0", "c#0"]]


def test_regions_come_in_topological_order() -> None:  # M11
    # c is in the region of a, which reads from that of b: so that of b comes first.
    inputs = [("a", "POINTWISE", "PIPELINED_BOUNDED"), ("b", "POINTWISE", "BLOCKING")]
    graph = graph_of(job_graph(("a", 1, []), ("b", 1, []), ("c", 1, inputs)))
    topology = SchedulingTopology(graph)
    assert names([region.vertices for region in topology.regions]) == [["b#0"], ["a#0", "c#0"]]
    strategy = scheduling_strategy("pipelined-region", graph, topology)
    assert names(strategy.start()) == [["b#0"]]
    ready = topology.finished(subtask(graph, "b"))
    assert names(strategy.finished(subtask(graph, "b"), ready)) == [["a#0", "c#0"]]


def test_a_recovered_result_makes_its_consumers_schedulable_again() -> None:  # M10 M11
    graph = graph_of(job_graph(("a", 2, []), ("b", 1, [("a", "ALL_TO_ALL", "BLOCKING")])))
    topology = SchedulingTopology(graph)
    one, two, consumer = graph.vertices
    assert topology.finished(one) == []
    assert topology.finished(two) == [topology.region_of(consumer)]
    assert topology.finished(two) == []
    topology.lose(one)
    topology.produces_anew(one)
    assert topology.region_of(consumer).missing == 1
    assert topology.finished(one) == [topology.region_of(consumer)]


def test_an_unknown_strategy_is_reported_with_the_known_ones() -> None:
    graph = graph_of(job_graph(("a", 1, [])))
    with pytest.raises(
        InvalidOptionError, match="no scheduling strategy 'fast'; there are pipelined-region, eager, lazy"
    ):
        scheduling_strategy("fast", graph, SchedulingTopology(graph))
