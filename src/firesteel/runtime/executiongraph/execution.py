"""One attempt to run one subtask."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.runtime.executiongraph.execution_errors import IllegalTransitionError, SlotLostError
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.task_metrics import TaskMetrics
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.slotpool.slot import TaskManagerLocation

__all__ = ["Execution"]

WAITING = frozenset({ExecutionState.CREATED, ExecutionState.SCHEDULED})
"""The states in which an attempt can be assigned a slot and deployed."""


class Execution:
    """One attempt to run one subtask. Flink: `runtime.executiongraph.Execution`, the state only, without RPCs.

    Attributes:
        attempt_id: `<execution graph id>_<vertex id>_<subtask>_<attempt>`, as Flink's ExecutionAttemptID is written.
        vertex_id: The JobVertex.
        subtask_index: From 0.
        attempt_number: From 0.
        state: The current state.
        timestamps: The time at which each state was entered, in ms since the epoch.
        allocation_id: The assigned slot.
        task_manager_id: The TaskExecutor of the slot.
        host: The host of the TaskExecutor; empty if unknown.
        address: The slot's data address.
        has_slot: Whether the attempt still has its slot; the slot's ids are kept after its loss.
        failure: The reason why it FAILED.
        metrics: The reported metrics.
        records_in: Records read by the attempt so far.
        records_out: Records emitted so far.
    """

    __slots__ = (
        "address",
        "allocation_id",
        "attempt_id",
        "attempt_number",
        "failure",
        "has_slot",
        "host",
        "metrics",
        "records_in",
        "records_out",
        "state",
        "subtask_index",
        "task_manager_id",
        "timestamps",
        "vertex_id",
    )

    def __init__(self, graph_id: str, vertex_id: str, subtask_index: int, attempt_number: int, now_ms: int) -> None:
        self.attempt_id = f"{graph_id}_{vertex_id}_{subtask_index}_{attempt_number}"
        self.vertex_id = vertex_id
        self.subtask_index = subtask_index
        self.attempt_number = attempt_number
        self.state = ExecutionState.CREATED
        self.timestamps = {ExecutionState.CREATED: now_ms}
        self.allocation_id: str | None = None
        self.task_manager_id: str | None = None
        self.host = ""
        self.address = ""
        self.has_slot = False
        self.failure: TaskFailure | None = None
        self.metrics = TaskMetrics()
        self.records_in = 0
        self.records_out = 0

    def transition_to(self, target: ExecutionState, now_ms: int) -> None:
        """Enter a state.

        Raises:
            IllegalTransitionError: the attempt is in a terminal state.
        """
        if self.state.is_terminal:
            raise IllegalTransitionError(f"execution {self.attempt_id}", self.state, target, "none, it is terminal")
        self.state = target
        self.timestamps[target] = now_ms

    @property
    def location(self) -> TaskManagerLocation | None:
        """The location of the attempt's slot, also after its loss; None before one was assigned."""
        return None if self.task_manager_id is None else TaskManagerLocation(self.task_manager_id, self.host)

    def assign(self, allocation_id: str, task_manager_id: str, address: str, host: str = "") -> bool:
        """Assign a slot; return False if the attempt already has one or is not waiting for one."""
        if self.allocation_id is not None or self.state not in WAITING:
            return False
        self.allocation_id = allocation_id
        self.task_manager_id = task_manager_id
        self.address = address
        self.host = host
        self.has_slot = True
        return True

    def slot_lost(self) -> None:
        """Note that the slot is lost or released."""
        self.has_slot = False

    def check_deployable(self) -> None:
        """Check that the attempt can be deployed.

        Raises:
            IllegalTransitionError: it is not waiting to be deployed.
            SlotLostError: its slot is gone.
        """
        if self.state not in WAITING:
            raise IllegalTransitionError(
                f"execution {self.attempt_id}", self.state, ExecutionState.DEPLOYING, "only from CREATED or SCHEDULED"
            )
        if not self.has_slot:
            raise SlotLostError(self.attempt_id, self.allocation_id)

    def measured(self, metrics: Mapping[str, float], now_ms: int, held_up_ms: float = 0.0) -> None:
        """Update the metrics with a report, and the time for which slower subtasks have held up its batches since."""
        self.metrics.report(metrics, now_ms, self._since_ms(now_ms), held_up_ms)

    def metrics_at(self, now_ms: int) -> dict[str, float]:
        """Return the metrics with rates and times at `now_ms`, or at the end of the attempt."""
        is_over = self.state.is_terminal
        until_ms = self.timestamps[self.state] if is_over else now_ms
        return self.metrics.values(until_ms, self._since_ms(until_ms), is_over)

    def _since_ms(self, otherwise_ms: int) -> int:
        return self.timestamps.get(ExecutionState.RUNNING, otherwise_ms)

    def progressed(self, records_in: int, records_out: int) -> None:
        """Update the record totals; a late report never decreases them."""
        self.records_in = max(self.records_in, records_in)
        self.records_out = max(self.records_out, records_out)

    def __repr__(self) -> str:
        return f"Execution({self.attempt_id}, {self.state.name})"
