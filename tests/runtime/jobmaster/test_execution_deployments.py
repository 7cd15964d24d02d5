"""Reconciliation of the deployments that the job expects and that TaskExecutors report."""

from __future__ import annotations

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.jobmaster.execution_deployments import Discrepancy, ExecutionDeployments
from tests.runtime.helpers import job_graph


def test_unreported_tasks_are_missing_and_unexpected_ones_unknown() -> None:
    graph = ExecutionGraph(job_graph(("a", 3, [])), ManualClock().now_ms)
    deployments = ExecutionDeployments(graph.has_attempt, graph.is_over)
    first, second, third = (execution.attempt_id for execution in graph.executions)
    for attempt_id in (first, second):
        deployments.deployed("tm", attempt_id)
    expected = deployments.expected("tm")
    assert expected == {first, second}
    deployments.deployed("tm", third)  # After the TaskExecutor was asked.
    assert deployments.reconcile(expected, ["stranger", first]) == Discrepancy((second,), ("stranger",))


def test_terminated_executions_are_neither_expected_nor_missing() -> None:
    graph = ExecutionGraph(job_graph(("a", 2, [])), ManualClock().now_ms)
    deployments = ExecutionDeployments(graph.has_attempt, graph.is_over)
    (first, second) = graph.vertices
    for vertex in (first, second):
        deployments.deployed("tm", vertex.current.attempt_id)
    graph.transition(first, ExecutionState.FINISHED)
    assert deployments.expected("tm") == {second.current.attempt_id}
    graph.transition(second, ExecutionState.FAILED)
    assert deployments.reconcile([second.current.attempt_id], []) == Discrepancy((), ())
    assert deployments.expected("elsewhere") == frozenset()
