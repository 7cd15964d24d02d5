"""A vertex of the JobGraph, split into subtasks."""

from __future__ import annotations

from collections import Counter

from firesteel.graph.job_graph import JobVertex
from firesteel.runtime.executiongraph.edges import EdgeGroup, ExecutionEdge
from firesteel.runtime.executiongraph.errors import IllegalTransitionError
from firesteel.runtime.executiongraph.execution import Execution
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.input_splits import InputSplit, InputSplitAssigner
from firesteel.runtime.executiongraph.intermediate_result import IntermediateResult

__all__ = ["ExecutionJobVertex", "ExecutionVertex"]

MAX_PRIOR_ATTEMPTS = 16
"""Former attempts kept per subtask. Flink: `jobmanager.execution.attempts-history-size`."""


class ExecutionVertex:
    """One subtask. Flink: `runtime.executiongraph.ExecutionVertex`.

    Attributes:
        job_vertex: The vertex it belongs to.
        subtask_index: From 0.
        current: The current attempt.
        prior: Former attempts, oldest first, the last 16 of them.
        consumed: The edge piece it reads through for each input, in the order of the inputs.
        input_splits: What the current attempt was given to read.
    """

    __slots__ = ("consumed", "current", "input_splits", "job_vertex", "prior", "subtask_index")

    def __init__(self, job_vertex: ExecutionJobVertex, subtask_index: int, graph_id: str, now_ms: int) -> None:
        self.job_vertex = job_vertex
        self.subtask_index = subtask_index
        self.current = Execution(graph_id, job_vertex.id, subtask_index, 0, now_ms)
        self.prior: tuple[Execution, ...] = ()
        self.consumed: list[EdgeGroup] = []
        self.input_splits: tuple[InputSplit, ...] = ()

    @property
    def name(self) -> str:
        """The subtask as users see it: `Map (2/4)`."""
        return f"{self.job_vertex.name} ({self.subtask_index + 1}/{self.job_vertex.parallelism})"

    @property
    def input_edges(self) -> list[list[ExecutionEdge]]:
        """Every single edge that the subtask reads from, a list per input; made anew at each call.

        Flink: `ExecutionVertex.getInputEdges` of version 1.12 and before; later versions keep the groups only.
        """
        return [
            [
                ExecutionEdge(group.consumed.data_set_id, partition, self.job_vertex.id, self.subtask_index, number)
                for partition in group.consumed.partitions
            ]
            for number, group in enumerate(self.consumed)
        ]

    def next_input_split(self, host: str | None) -> InputSplit | None:
        """The next split for the current attempt, which runs on that host; None if there is none left."""
        assigner = self.job_vertex.split_assigner
        split = assigner.next_input_split(host) if assigner is not None else None
        if split is not None:
            self.input_splits = (*self.input_splits, split)
        return split

    def reset_for_new_execution(self, graph_id: str, now_ms: int) -> Execution:
        """Archive the attempt and return the next one, in CREATED; its input splits are handed out again.

        Raises:
            IllegalTransitionError: the current attempt is not over.
        """
        old = self.current
        if not old.state.is_terminal:
            raise IllegalTransitionError(
                f"subtask {self.name}", old.state, ExecutionState.CREATED, "a new attempt only after a terminal state"
            )
        self.prior = (*self.prior, old)[-MAX_PRIOR_ATTEMPTS:]
        self.current = Execution(graph_id, self.job_vertex.id, self.subtask_index, old.attempt_number + 1, now_ms)
        if self.job_vertex.split_assigner is not None:
            self.job_vertex.split_assigner.return_input_splits(self.input_splits)
        self.input_splits = ()
        self.job_vertex.moved(old.state, ExecutionState.CREATED)
        return self.current


class ExecutionJobVertex:
    """A JobVertex during execution. Flink: `runtime.executiongraph.ExecutionJobVertex`.

    Attributes:
        job_vertex: The vertex of the JobGraph, its parallelism resolved.
        vertices: One per subtask.
        results: One per produced data set.
        split_assigner: Hands out the input splits, made for the parallelism; None without an input split source.
        state_counts: How many current attempts are in each state.
    """

    def __init__(self, job_vertex: JobVertex, graph_id: str, now_ms: int) -> None:
        self.job_vertex = job_vertex
        self.id = job_vertex.id
        self.name = job_vertex.name
        self.parallelism = job_vertex.parallelism
        self.max_parallelism = job_vertex.max_parallelism
        self.vertices = [ExecutionVertex(self, index, graph_id, now_ms) for index in range(self.parallelism)]
        self.results = [IntermediateResult(data_set, self.parallelism) for data_set in job_vertex.produced_data_sets]
        source = job_vertex.input_split_source
        self.split_assigner = source and InputSplitAssigner(source.create_input_splits(self.parallelism))
        self.state_counts = Counter({ExecutionState.CREATED: self.parallelism})

    def moved(self, start: ExecutionState, target: ExecutionState) -> None:
        """Count one subtask over from one state to another."""
        self.state_counts[start] -= 1
        self.state_counts[target] += 1
