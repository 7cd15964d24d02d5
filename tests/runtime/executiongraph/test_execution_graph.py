"""States of attempts and jobs, against the tables of Flink 2.3 (scenarios N and O)."""

from __future__ import annotations

import time

import pytest

from firesteel.errors import InvalidProgramError
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_errors import (
    ExecutionGraphError,
    ExecutionNotFoundError,
    IllegalTransitionError,
)
from firesteel.runtime.executiongraph.execution_event import ExecutionEvent
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import MAX_PRIOR_ATTEMPTS, ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState, is_acknowledged, state_after_report
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.executiongraph.pipelined_region import pipelined_regions
from firesteel.runtime.failure import TaskFailure
from tests.runtime.golden_data import golden
from tests.runtime.helpers import job_graph

TRANSITIONS = golden("transitions")


@pytest.fixture
def graph(clock: ManualClock) -> ExecutionGraph:
    return ExecutionGraph(job_graph(("a", 1, [])), clock.now_ms)


def only_vertex(graph: ExecutionGraph) -> ExecutionVertex:
    (vertex,) = graph.vertices
    return vertex


@pytest.mark.parametrize("state", ExecutionState)
@pytest.mark.parametrize("reported", ExecutionState)
def test_reports_change_states_as_in_flink(state: ExecutionState, reported: ExecutionState) -> None:  # N01 N05 N06
    acknowledged, after = TRANSITIONS["execution_update_state"][state.name][reported.name]
    assert state_after_report(state, reported).name == after
    assert is_acknowledged(state, reported) == (acknowledged == "true")


@pytest.mark.parametrize("state", [state for state in ExecutionState if state is not ExecutionState.RECONCILING])
def test_cancelling_changes_states_as_in_flink(graph: ExecutionGraph, state: ExecutionState) -> None:  # N02 N03 N04
    vertex = only_vertex(graph)
    if state is not ExecutionState.CREATED:
        graph.transition(vertex, state)
    must_tell = graph.cancel(vertex)
    assert vertex.current.state.name == TRANSITIONS["execution_verbs"]["cancel"][state.name][1]
    assert must_tell == (state.name in {"DEPLOYING", "INITIALIZING", "RUNNING"})


@pytest.mark.parametrize("kind", ["execution_states", "job_statuses"])
def test_terminal_states_are_flinks(kind: str) -> None:
    states = ExecutionState if kind == "execution_states" else JobStatus
    assert {state.name: state.is_terminal for state in states} == {
        name: properties["terminal"] for name, properties in TRANSITIONS[kind].items()
    }


def test_a_terminal_attempt_is_never_left(graph: ExecutionGraph) -> None:  # N13
    graph.transition(only_vertex(graph), ExecutionState.CANCELED)
    with pytest.raises(IllegalTransitionError, match="can't go from CANCELED to FAILED; allowed from CANCELED: none"):
        graph.transition(only_vertex(graph), ExecutionState.FAILED)


def test_a_terminal_job_is_never_left(graph: ExecutionGraph) -> None:  # O10
    graph.transition_job(JobStatus.FINISHED)
    with pytest.raises(IllegalTransitionError, match="can't go from FINISHED to RUNNING"):
        graph.transition_job(JobStatus.RUNNING)


def test_each_state_has_its_timestamp(graph: ExecutionGraph, clock: ManualClock) -> None:  # N01 O11
    clock.advance(1)
    graph.transition(only_vertex(graph), ExecutionState.SCHEDULED)
    graph.transition_job(JobStatus.CREATED)
    assert only_vertex(graph).current.timestamps == {ExecutionState.CREATED: 0, ExecutionState.SCHEDULED: 1000}
    assert graph.status_timestamps == {JobStatus.INITIALIZING: 0, JobStatus.CREATED: 1000}


def test_a_report_for_a_former_attempt_is_refused(graph: ExecutionGraph) -> None:  # N07 E16
    former = only_vertex(graph).current.attempt_id
    graph.transition(only_vertex(graph), ExecutionState.FAILED)
    graph.reset(only_vertex(graph))
    with pytest.raises(ExecutionNotFoundError, match="is not a current attempt"):
        graph.update_state(former, ExecutionState.RUNNING)
    assert only_vertex(graph).current.state is ExecutionState.CREATED


def test_a_new_attempt_needs_a_terminal_one_and_archives_it(graph: ExecutionGraph) -> None:  # N10
    vertex = only_vertex(graph)
    with pytest.raises(IllegalTransitionError, match="a new attempt only after a terminal state"):
        graph.reset(vertex)
    first = vertex.current
    graph.transition(vertex, ExecutionState.FINISHED)
    assert graph.is_finished
    assert graph.reset(vertex).attempt_number == 1
    assert vertex.prior == (first,)
    assert not graph.is_finished


def test_the_history_of_attempts_is_bounded(graph: ExecutionGraph) -> None:
    vertex = only_vertex(graph)
    for _ in range(MAX_PRIOR_ATTEMPTS + 5):
        graph.transition(vertex, ExecutionState.FAILED)
        graph.reset(vertex)
    assert len(vertex.prior) == MAX_PRIOR_ATTEMPTS
    assert vertex.prior[-1].attempt_number == MAX_PRIOR_ATTEMPTS + 4


def test_events_tell_state_time_attempt_slot_and_cause(graph: ExecutionGraph, clock: ManualClock) -> None:
    vertex, failure = only_vertex(graph), TaskFailure("ValueError: bad")
    vertex.current.assign("alloc-1", "tm-1", "")
    clock.advance(2)
    assert graph.update_state(vertex.current.attempt_id, ExecutionState.FAILED, failure)
    assert list(graph.history)[-1] == ExecutionEvent(
        vertex.current.attempt_id, ExecutionState.FAILED, 2000, vertex.job_vertex.id, 0, 0, "alloc-1", "tm-1", failure
    )


def test_a_job_without_vertices_is_refused(clock: ManualClock) -> None:  # M15 E01
    with pytest.raises(ExecutionGraphError, match="has no vertices"):
        ExecutionGraph(job_graph(), clock.now_ms)


def test_colocation_without_slot_sharing_is_refused(clock: ManualClock) -> None:
    job = job_graph(("a", 1, []))
    job.vertices[0].co_location_group_index, job.vertices[0].slot_sharing_group = 0, None
    with pytest.raises(ExecutionGraphError, match="co-located but shares no slots"):
        ExecutionGraph(job, clock.now_ms)


def test_more_subtasks_than_key_groups_are_refused() -> None:
    job = job_graph(("a", 4, []))
    job.vertices[0].max_parallelism = 2
    with pytest.raises(InvalidProgramError, match="vertex 'a' has parallelism 4, which is more than its max parallel"):
        resolve_parallelism(job, 1)


def test_unset_parallelism_is_the_default_in_batch_and_one_in_streaming() -> None:
    for job_type, expected in (("BATCH", 3), ("STREAMING", 1)):
        job = job_graph(("a", -1, []), job_type=job_type)
        resolve_parallelism(job, 3)
        assert (job.vertices[0].parallelism, job.vertices[0].max_parallelism) == (expected, 128)


def test_the_graph_as_plain_data_names_subtasks_and_groups(clock: ManualClock) -> None:
    job = job_graph(("a", 2, []), ("b", 1, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]))
    plain = ExecutionGraph(job, clock.now_ms).to_dict()
    assert [subtask["name"] for subtask in plain["vertices"][0]["subtasks"]] == ["a (1/2)", "a (2/2)"]
    assert plain["edges"][0]["consumed_partition_groups"] == [[0, 1]]


def test_ten_thousand_by_ten_thousand_is_built_in_linear_time(clock: ManualClock) -> None:
    job = job_graph(("a", 10_000, []), ("b", 10_000, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]))
    start = time.perf_counter()
    regions = pipelined_regions(ExecutionGraph(job, clock.now_ms))
    assert [len(region) for region in regions] == [20_000]
    assert time.perf_counter() - start < 5
