"""Scheduler of a job that is one query: events in, actions out (scenarios M, N, O, P)."""

from __future__ import annotations

import uuid

import pytest

from firesteel.graph.parallelism import resolve_parallelism
from firesteel.graph.slot_numbering import SlotSharing
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.actions import (
    CancelTask,
    Deploy,
    JobTerminated,
    ReleaseSlots,
    RequestSlots,
    ScheduleRestart,
    StartQuery,
    StopQuery,
)
from firesteel.runtime.scheduler.restart_strategy import (
    FixedDelayRestartStrategy,
    NoRestartStrategy,
    RestartStrategy,
)
from firesteel.runtime.scheduler.scheduler import IllegalSchedulingError, Scheduler
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality, SlotProfile, TaskManagerLocation
from firesteel.runtime.slotpool.slot_provider import LogicalSlotRequest
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot
from tests.runtime.helpers import an_id, job_graph

BAD = TaskFailure("ValueError: bad")


@pytest.fixture(autouse=True)
def known_graph_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts begin with the id of their ExecutionGraph; here it is that of the job."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(an_id("job")))


def scheduler_of(clock: ManualClock, strategy: RestartStrategy | None = None) -> Scheduler:
    """Of a job with one vertex and two subtasks."""
    job = job_graph(("a", 2, []))
    resolve_parallelism(job, 1)
    return Scheduler(
        ExecutionGraph(job, clock.now_ms), strategy or NoRestartStrategy(), clock, SchedulerOptions.of({}, True)
    )


def slot(number: int, run: int = 0) -> list[LogicalSlot]:
    allocated = AllocatedSlot(f"alloc-{number}", "tm", number, f"address-{number}")
    return [LogicalSlot(requests(run)[number], allocated, Locality.UNKNOWN)]


def requests(run: int = 0) -> tuple[str, str]:
    return (f"{an_id('job')}_{an_id('a')}_0_{run}", f"{an_id('job')}_{an_id('a')}_1_{run}")


def requested(run: int = 0) -> RequestSlots:
    return RequestSlots(
        tuple(
            LogicalSlotRequest(request, "group-0", an_id("a"), wish(number, run), shared_slot=str(number))
            for number, request in enumerate(requests(run))
        )
    )


def wish(number: int, run: int) -> SlotProfile:
    return SlotProfile(preferred_locations=(TaskManagerLocation("tm"),) if run else ())


def attempts(scheduler: Scheduler) -> list[str]:
    return [execution.attempt_id for execution in scheduler.graph.executions]


def states(scheduler: Scheduler) -> list[str]:
    return [execution.state.name for execution in scheduler.graph.executions]


def deployed(scheduler: Scheduler) -> Scheduler:
    scheduler.start_scheduling()
    for number in range(2):
        scheduler.slots_allocated(slot(number))
    return scheduler


def running(scheduler: Scheduler) -> Scheduler:
    for attempt in attempts(deployed(scheduler)):
        scheduler.task_state_reported(attempt, ExecutionState.INITIALIZING)
        scheduler.task_state_reported(attempt, ExecutionState.RUNNING)
    return scheduler


def test_a_job_is_scheduled_once(clock: ManualClock) -> None:  # O01 M06
    scheduler = scheduler_of(clock)
    assert scheduler.start_scheduling() == [requested()]
    with pytest.raises(IllegalSchedulingError, match="in status CREATED only; it is RUNNING"):
        scheduler.start_scheduling()


def test_nothing_is_deployed_before_all_slots_are_there(clock: ManualClock) -> None:  # M01 M09
    scheduler = scheduler_of(clock)
    scheduler.start_scheduling()
    assert scheduler.slots_allocated(slot(1)) == []
    assert states(scheduler) == ["SCHEDULED", "SCHEDULED"]
    actions = scheduler.slots_allocated(slot(0))
    assert [(a.tdd.allocation_id, a.tdd.global_slot) for a in actions if isinstance(a, Deploy)] == [
        ("alloc-0", 0),
        ("alloc-1", 1),
    ]


def test_the_query_starts_when_all_subtasks_run(clock: ManualClock) -> None:
    scheduler = deployed(scheduler_of(clock))
    one, two = attempts(scheduler)
    for attempt, state, follows in (
        (one, ExecutionState.INITIALIZING, []),
        (one, ExecutionState.RUNNING, []),
        (two, ExecutionState.INITIALIZING, []),
        (two, ExecutionState.RUNNING, [StartQuery(0, 0)]),
    ):
        assert scheduler.task_state_reported(attempt, state) == (True, follows)


def test_a_failed_slot_request_fails_the_bulk(clock: ManualClock) -> None:  # M02 M12
    scheduler = scheduler_of(clock)
    scheduler.start_scheduling()
    scheduler.slots_allocated(slot(0))
    actions = scheduler.slots_failed(requests()[1:], BAD)
    assert actions == [ReleaseSlots(requests()[:1], "the job is FAILED"), JobTerminated()]
    assert states(scheduler) == ["CANCELED", "FAILED"]


def test_a_slot_for_a_former_schedule_is_given_back(clock: ManualClock) -> None:  # M07
    scheduler = scheduler_of(clock)
    scheduler.start_scheduling()
    scheduler.cancel()
    assert scheduler.slots_allocated(slot(0)) == [ReleaseSlots(requests()[:1], "no task needs the slot any more")]


def test_tasks_are_cancelled_after_the_query_has_stopped(clock: ManualClock) -> None:  # O03 N03
    scheduler = running(scheduler_of(clock))
    assert scheduler.cancel() == [StopQuery(0, 0)]
    assert scheduler.cancel() == []
    one, two = attempts(scheduler)
    assert scheduler.query_stopped(0, 0) == [CancelTask("tm", one), CancelTask("tm", two)]
    assert states(scheduler) == ["CANCELING", "CANCELING"]
    scheduler.task_state_reported(one, ExecutionState.CANCELED)
    assert scheduler.task_state_reported(two, ExecutionState.FINISHED) == (
        True,
        [ReleaseSlots(requests(), "the job is CANCELED"), JobTerminated()],
    )


def test_a_failure_while_cancelling_changes_nothing(clock: ManualClock) -> None:  # O07 N06
    scheduler = running(scheduler_of(clock))
    scheduler.cancel()
    scheduler.query_failed(0, 0, BAD)
    scheduler.query_stopped(0, 0)
    for attempt in attempts(scheduler):
        scheduler.task_state_reported(attempt, ExecutionState.FAILED, BAD)
    assert scheduler.graph.status is JobStatus.CANCELED
    assert scheduler.graph.failure is None


def test_the_first_failure_is_kept(clock: ManualClock) -> None:  # O07
    scheduler = running(scheduler_of(clock))
    one, two = attempts(scheduler)
    scheduler.task_state_reported(one, ExecutionState.FAILED, BAD)
    scheduler.task_state_reported(two, ExecutionState.FAILED, TaskFailure("later"))
    scheduler.query_stopped(0, 0)
    assert scheduler.graph.status is JobStatus.FAILED
    assert scheduler.graph.failure is not None
    assert scheduler.graph.failure.message == "ValueError: bad"


def test_a_restart_waits_for_the_delay_and_for_the_cancelled_tasks(clock: ManualClock) -> None:  # P07 P09 O05
    scheduler = running(scheduler_of(clock, FixedDelayRestartStrategy(1, 3)))
    one, two = attempts(scheduler)
    _, actions = scheduler.task_state_reported(one, ExecutionState.FAILED, BAD)
    assert actions == [ScheduleRestart(0, 3), StopQuery(0, 0)]
    assert scheduler.restart_due(0) == []
    assert scheduler.query_stopped(0, 0) == [CancelTask("tm", two)]
    _, actions = scheduler.task_state_reported(two, ExecutionState.CANCELED)
    assert actions == [ReleaseSlots(requests(), "the job restarts"), requested(1)]
    assert (scheduler.graph.status, scheduler.graph.restarts) == (JobStatus.RUNNING, 1)
    assert scheduler.restart_due(0) == scheduler.query_finished(0, 0) == []


def test_a_restart_waits_for_the_query_though_all_tasks_are_over(clock: ManualClock) -> None:  # O05
    """They end by themselves, if their TaskExecutors give them up before the query has stopped."""
    scheduler = running(scheduler_of(clock, FixedDelayRestartStrategy(1, 3)))
    one, two = attempts(scheduler)
    scheduler.task_state_reported(one, ExecutionState.FAILED, BAD)
    scheduler.task_state_reported(two, ExecutionState.CANCELED)
    assert scheduler.restart_due(0) == []
    assert scheduler.graph.status is JobStatus.RESTARTING
    assert scheduler.query_stopped(0, 0) == [
        CancelTask("tm", two),
        ReleaseSlots(requests(), "the job restarts"),
        requested(1),
    ]
    assert scheduler.graph.status is JobStatus.RUNNING


def test_a_task_that_may_have_been_deployed_is_cancelled_to_be_sure(clock: ManualClock) -> None:  # N09 M08
    scheduler = deployed(scheduler_of(clock))
    one, two = attempts(scheduler)
    assert scheduler.task_deployment_failed(one, BAD) == [CancelTask("tm", one), CancelTask("tm", two)]


def test_a_lost_slot_fails_its_tasks(clock: ManualClock) -> None:  # N11
    scheduler = running(scheduler_of(clock))
    assert scheduler.slots_failed(requests()[:1], BAD) == [StopQuery(0, 0)]
    assert states(scheduler) == ["FAILED", "CANCELING"]


def test_a_task_cancelled_without_request_fails_the_job(clock: ManualClock) -> None:
    scheduler = running(scheduler_of(clock))
    scheduler.task_state_reported(attempts(scheduler)[0], ExecutionState.CANCELED)
    assert scheduler.graph.failure is not None
    assert "cancelled without a request" in str(scheduler.graph.failure)


def test_subtasks_may_finish_one_by_one(clock: ManualClock) -> None:  # O02
    scheduler = running(scheduler_of(clock))
    assert scheduler.subtask_finished(an_id("a"), 0) == []
    assert scheduler.subtask_finished(an_id("a"), 1) == [
        StopQuery(0, 0),
        ReleaseSlots(requests(), "the job is FINISHED"),
        JobTerminated(),
    ]


def test_a_suspended_job_is_only_locally_over(clock: ManualClock) -> None:  # O08 E12
    scheduler = running(scheduler_of(clock))
    assert scheduler.suspend(BAD) == [JobTerminated()]
    assert scheduler.suspend(BAD) == []
    assert scheduler.graph.status is JobStatus.SUSPENDED
    assert not scheduler.graph.status.is_globally_terminal


def test_slots_needed_are_the_sum_over_groups_of_the_largest_parallelism() -> None:  # H20
    job = job_graph(
        ("a", 4, []),
        ("b", 4, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]),
        ("c", 2, [("b", "ALL_TO_ALL", "PIPELINED_BOUNDED")]),
        ("d", 3, []),
        groups={"d": "other"},
    )
    sharing = SlotSharing.of(job)
    assert sharing.slots == 7
    assert [sharing.slot_of(an_id(name), 1) for name in "abcd"] == [1, 1, 1, 5]
