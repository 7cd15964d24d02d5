"""The history of a job: bounds, texts and copies."""

from __future__ import annotations

from firesteel.runtime.executiongraph.execution_event import ExecutionEvent, JobEvent
from firesteel.runtime.executiongraph.execution_history import ExecutionHistory
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure

RUNNING = ExecutionState.RUNNING


def event(vertex: str, subtask: int, attempt: int, state: ExecutionState = RUNNING) -> ExecutionEvent:
    return ExecutionEvent(f"{vertex}_{subtask}_{attempt}", state, 0, vertex, subtask, attempt)


def history() -> ExecutionHistory:
    told = ExecutionHistory()
    for one in (
        JobEvent(JobStatus.RUNNING, 0),
        event("a", 0, 0),
        event("a", 1, 0),
        event("b", 0, 0),
        event("a", 0, 1),
        JobEvent(JobStatus.FAILED, 5, TaskFailure("bad")),
    ):
        told.append(one)
    return told


def test_the_oldest_events_are_dropped() -> None:
    told = ExecutionHistory(max_events=3)
    for attempt in range(5):
        told.append(event("a", 0, attempt))
    assert list(told) == [event("a", 0, attempt) for attempt in (2, 3, 4)]


def test_the_history_of_a_subtask_includes_that_of_its_job() -> None:
    assert history().story("b", 0).splitlines() == [
        "00:00:00.000 job RUNNING",
        "00:00:00.000 subtask 1 of b, attempt 0 RUNNING",
        "00:00:00.005 job FAILED: bad",
    ]
    assert history().story(limit=1) == "00:00:00.005 job FAILED: bad"


def test_a_copy_does_not_contain_later_events() -> None:
    told = history()
    copied = told.copy()
    assert copied == told
    told.append(event("a", 0, 2))
    assert len(copied) == 6
    assert copied != told
