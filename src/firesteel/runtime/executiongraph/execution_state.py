"""States of one execution attempt, and the tables that move it.

The tables hold what Flink 2.3 does: a terminal state is never left, and a report changes what `REPORTED` says.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["CANCEL", "REPORTED", "TERMINAL", "ExecutionState", "is_acknowledged", "state_after_report"]


class ExecutionState(Enum):
    """State of one attempt of a subtask. Flink: `runtime.execution.ExecutionState`."""

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
        """Whether the attempt is over."""
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
    # Whatever ends while it is being cancelled was cancelled; the two reports of a start in progress change nothing.
    _S.CANCELING: {state: _S.CANCELED for state in _S if state not in {_S.INITIALIZING, _S.RUNNING}},
    _S.RECONCILING: {_S.FAILED: _S.FAILED},
    _S.FINISHED: {},
    _S.CANCELED: {},
    _S.FAILED: {},
}
"""State -> reported state -> state after; a report that is missing changes nothing."""

CANCEL: dict[ExecutionState, ExecutionState] = {
    _S.CREATED: _S.CANCELED,
    _S.SCHEDULED: _S.CANCELED,
    _S.DEPLOYING: _S.CANCELING,
    _S.INITIALIZING: _S.CANCELING,
    _S.RUNNING: _S.CANCELING,
}
"""State -> state after a cancel; missing: stays."""

_STARTS = {(_S.DEPLOYING, _S.INITIALIZING), (_S.INITIALIZING, _S.RUNNING)}


def state_after_report(current: ExecutionState, reported: ExecutionState) -> ExecutionState:
    """The state of an attempt after its TaskExecutor reported `reported`."""
    return REPORTED[current].get(reported, current)


def is_acknowledged(current: ExecutionState, reported: ExecutionState) -> bool:
    """Whether the report was in place; on False the TaskExecutor gives the task up."""
    return reported.is_terminal or (current, reported) in _STARTS
