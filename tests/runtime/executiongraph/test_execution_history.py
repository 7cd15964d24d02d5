"""The history of a job: appending, bounds and queries."""

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


def numbers(told: ExecutionHistory, **wanted: object) -> list[int]:
    return [entry.number for entry in told.select(**wanted)]  # type: ignore[arg-type]


def test_events_are_found_by_vertex_subtask_and_attempt() -> None:
    told = history()
    assert numbers(told) == [0, 1, 2, 3, 4, 5]
    assert numbers(told, vertex_id="a") == [1, 2, 4]
    assert numbers(told, vertex_id="a", subtask_index=0) == [1, 4]
    assert numbers(told, vertex_id="a", subtask_index=0, attempt_number=1) == [4]
    assert numbers(told, vertex_id="c") == []


def test_events_since_a_number_are_returned() -> None:
    told = history()
    assert numbers(told, since=1) == [1, 2, 3, 4, 5]
    assert numbers(told, since=4) == [4, 5]
    assert numbers(told, since=told.end) == []
    assert numbers(told, since=2, vertex_id="a") == [2, 4]


def test_the_oldest_events_are_removed_and_the_others_keep_their_numbers() -> None:
    told = ExecutionHistory(max_events=3)
    for attempt in range(5):
        told.append(event("a", 0, attempt))
    assert (len(told), told.end) == (3, 5)
    assert numbers(told) == numbers(told, since=1) == [2, 3, 4]
    assert numbers(told, since=3) == [3, 4]


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
    assert (numbers(copied, since=4), copied.end) == ([4, 5], 6)
    assert copied != told
