"""One attempt to run one subtask."""

from __future__ import annotations

from firesteel.runtime.executiongraph.errors import IllegalTransitionError
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure

__all__ = ["Execution"]


class Execution:
    """One attempt to run one subtask. Flink: `runtime.executiongraph.Execution`, its state without its calls.

    Attributes:
        attempt_id: `<job id>_<vertex id>_<subtask>_<attempt>`, as Flink's ExecutionAttemptID is written.
        vertex_id: The JobVertex.
        subtask_index: From 0.
        attempt_number: From 0.
        state: Where the attempt is.
        timestamps: When each state was entered, in ms since the epoch.
        allocation_id: The slot it was given.
        task_manager_id: Whose slot that is.
        address: The slot's data address.
        failure: Why it FAILED.
        records_in: Records read by the attempt so far.
        records_out: Records emitted so far.
    """

    __slots__ = (
        "address",
        "allocation_id",
        "attempt_id",
        "attempt_number",
        "failure",
        "records_in",
        "records_out",
        "state",
        "subtask_index",
        "task_manager_id",
        "timestamps",
        "vertex_id",
    )

    def __init__(self, job_id: str, vertex_id: str, subtask_index: int, attempt_number: int, now_ms: int) -> None:
        self.attempt_id = f"{job_id}_{vertex_id}_{subtask_index}_{attempt_number}"
        self.vertex_id = vertex_id
        self.subtask_index = subtask_index
        self.attempt_number = attempt_number
        self.state = ExecutionState.CREATED
        self.timestamps = {ExecutionState.CREATED: now_ms}
        self.allocation_id: str | None = None
        self.task_manager_id: str | None = None
        self.address = ""
        self.failure: TaskFailure | None = None
        self.records_in = 0
        self.records_out = 0

    def transition_to(self, target: ExecutionState, now_ms: int) -> None:
        """Enter a state.

        Raises:
            IllegalTransitionError: the attempt is over.
        """
        if self.state.is_terminal:
            raise IllegalTransitionError(f"execution {self.attempt_id}", self.state, target, "none, it is terminal")
        self.state = target
        self.timestamps[target] = now_ms

    def assign(self, allocation_id: str, task_manager_id: str, address: str) -> None:
        """Give the attempt its slot."""
        self.allocation_id = allocation_id
        self.task_manager_id = task_manager_id
        self.address = address

    def progressed(self, records_in: int, records_out: int) -> None:
        """Take new totals; a report that arrives late never counts backwards."""
        self.records_in = max(self.records_in, records_in)
        self.records_out = max(self.records_out, records_out)

    def __repr__(self) -> str:
        return f"Execution({self.attempt_id}, {self.state.name})"
