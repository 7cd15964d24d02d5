"""A vertex of the JobGraph, split into subtasks."""

from __future__ import annotations

from collections import Counter

from firesteel.graph.job_graph import JobVertex
from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution import Execution
from firesteel.runtime.executiongraph.execution_errors import IllegalTransitionError
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.input_splits import InputSplit, InputSplitAssigner
from firesteel.runtime.executiongraph.intermediate_result import IntermediateResult

__all__ = ["ExecutionJobVertex", "ExecutionVertex"]

MAX_PRIOR_ATTEMPTS = 16
"""Maximum number of former attempts kept per subtask. Flink: `jobmanager.execution.attempts-history-size`."""


class ExecutionVertex:
    """One subtask. Flink: `runtime.executiongraph.ExecutionVertex`.

    Attributes:
        job_vertex: The vertex it belongs to.
        subtask_index: From 0.
        current: The current attempt.
        prior: Former attempts, oldest first, the last 16 of them.
        consumed: The edge group that it reads for each input, in input order.
        input_splits: The splits assigned to the current attempt.
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
        """The name shown to users, such as `Map (2/4)`."""
        return f"{self.job_vertex.name} ({self.subtask_index + 1}/{self.job_vertex.parallelism})"

    def next_input_split(self, host: str | None) -> InputSplit | None:
        """Return the next split for the current attempt, which runs on `host`, or None."""
        assigner = self.job_vertex.split_assigner
        split = assigner.next_input_split(host) if assigner is not None else None
        if split is not None:
            self.input_splits = (*self.input_splits, split)
        return split

    def reset_for_new_execution(self, graph_id: str, now_ms: int) -> Execution:
        """Archive the attempt and return the next one in CREATED; its input splits are returned.

        Raises:
            IllegalTransitionError: the current attempt has not terminated.
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
        split_assigner: Assigns input splits to subtasks; None without an input split source.
        state_counts: Number of current attempts in each state.
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
        """Count the transition of one subtask between two states."""
        self.state_counts[start] -= 1
        self.state_counts[target] += 1
