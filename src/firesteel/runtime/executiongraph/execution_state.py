"""The states of an execution attempt and their transition tables.

The tables define the behaviour of Flink 2.3: terminal states are final, and `REPORTED` defines the effect of reports.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["CANCEL", "REPORTED", "TERMINAL", "ExecutionState", "is_acknowledged", "state_after_report"]


class ExecutionState(Enum):
    """The state of an attempt of a subtask. Flink: `runtime.execution.ExecutionState`."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    RECONCILING = "RECONCILING"

    @property
    def is_terminal(self) -> bool:
        """Whether the state is terminal."""
        return self in TERMINAL


_S = ExecutionState
TERMINAL = frozenset({_S.FINISHED, _S.CANCELED, _S.FAILED})

REPORTED: dict[ExecutionState, dict[ExecutionState, ExecutionState]] = {
    _S.CREATED: {_S.FAILED: _S.FAILED},
    _S.SCHEDULED: {_S.FAILED: _S.FAILED},
    _S.DEPLOYING: {
        _S.INITIALIZING: _S.INITIALIZING,
        _S.FINISHED: _S.FINISHED,
        _S.CANCELED: _S.CANCELED,
        _S.FAILED: _S.FAILED,
    },
    _S.INITIALIZING: {
        _S.RUNNING: _S.RUNNING,
        _S.FINISHED: _S.FINISHED,
        _S.CANCELED: _S.CANCELED,
        _S.FAILED: _S.FAILED,
    },
    _S.RUNNING: {_S.FINISHED: _S.FINISHED, _S.CANCELED: _S.CANCELED, _S.FAILED: _S.FAILED},
    # A task that ends while it is being cancelled counts as cancelled; reports of a start in progress have no effect.
    _S.CANCELING: {state: _S.CANCELED for state in _S if state not in {_S.INITIALIZING, _S.RUNNING}},
    _S.RECONCILING: {_S.FAILED: _S.FAILED},
    _S.FINISHED: {},
    _S.CANCELED: {},
    _S.FAILED: {},
}
"""State -> reported state -> next state; missing reports have no effect."""

CANCEL: dict[ExecutionState, ExecutionState] = {
    _S.CREATED: _S.CANCELED,
    _S.SCHEDULED: _S.CANCELED,
    _S.DEPLOYING: _S.CANCELING,
    _S.INITIALIZING: _S.CANCELING,
    _S.RUNNING: _S.CANCELING,
}
"""State -> state after a cancel; missing states do not change."""

_STARTS = {(_S.DEPLOYING, _S.INITIALIZING), (_S.INITIALIZING, _S.RUNNING)}


def state_after_report(current: ExecutionState, reported: ExecutionState) -> ExecutionState:
    """Return the state of an attempt after its TaskExecutor reported `reported`."""
    return REPORTED[current].get(reported, current)


def is_acknowledged(current: ExecutionState, reported: ExecutionState) -> bool:
    """Return whether a report was expected; if not, the TaskExecutor must give up the task."""
    return reported.is_terminal or (current, reported) in _STARTS
