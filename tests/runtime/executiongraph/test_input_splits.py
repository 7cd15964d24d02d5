"""Input splits are assigned once, preferably to local readers, and again after a failure."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.input_splits import InputSplit, InputSplitAssigner
from tests.runtime.helpers import job_graph


class Lines:
    """Cuts into one split more than asked for."""

    def create_input_splits(self, minimum: int) -> Sequence[InputSplit]:
        return [InputSplit(number) for number in range(minimum + 1)]


def test_splits_on_the_reader_s_host_come_first_and_each_is_given_once() -> None:
    splits = [InputSplit(0, hosts=frozenset({"far"})), InputSplit(1), InputSplit(2, hosts=frozenset({"near", "far"}))]
    assigner = InputSplitAssigner(splits)
    given = [assigner.next_input_split("near") for _ in range(4)]
    assert [split and split.number for split in given] == [2, 1, 0, None]


def test_splits_are_made_for_the_parallelism_and_those_of_a_failed_attempt_are_handed_out_again() -> None:
    job = job_graph(("a", 2, []))
    job.vertices[0].input_split_source = Lines()
    graph = ExecutionGraph(job, ManualClock().now_ms)
    first, second = graph.vertices
    taken = [vertex.next_input_split(None) for vertex in (first, second, first, second)]
    assert [split and split.number for split in taken] == [0, 1, 2, None]
    assert first.input_splits == (InputSplit(0), InputSplit(2))
    graph.transition(first, ExecutionState.FAILED)
    graph.reset(first)
    assert first.input_splits == ()
    assert [second.next_input_split(None), second.next_input_split(None)] == [InputSplit(0), InputSplit(2)]


def test_a_vertex_without_split_source_has_none_to_give() -> None:
    (vertex,) = ExecutionGraph(job_graph(("a", 1, [])), ManualClock().now_ms).vertices
    assert vertex.next_input_split("here") is None
