"""A job with two regions, each of which has a query: one fails, restarts and ends without the other."""

from __future__ import annotations

import pytest

from firesteel.graph.parallelism import resolve_parallelism
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.actions import CancelTask, ReleaseSlots, RequestSlots, StartQuery, StopQuery
from firesteel.runtime.scheduler.restart_strategy import FixedDelayRestartStrategy
from firesteel.runtime.scheduler.scheduler import Actions, Scheduler
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot
from firesteel.testing import ManualClock
from tests.runtime.helpers import an_id, job_graph

BAD = TaskFailure("ValueError: bad", vertex_id=an_id("a"), subtask_index=0)


def run_up(scheduler: Scheduler, actions: Actions) -> Actions:
    """Fulfil the slot requests of a job, run it, and return the next actions."""
    found: Actions = []
    for request in [one for action in actions if isinstance(action, RequestSlots) for one in action.requests]:
        allocated = AllocatedSlot(f"alloc-{request.shared_slot}", "tm", 0, "address")
        scheduler.slots_allocated([LogicalSlot(request.request_id, allocated, Locality.UNKNOWN)])
    for execution in list(scheduler.graph.executions):
        if execution.state is ExecutionState.DEPLOYING:
            for state in (ExecutionState.INITIALIZING, ExecutionState.RUNNING):
                found += scheduler.task_state_reported(execution.attempt_id, state)[1]
    return found


@pytest.fixture(params=["region", "full"])
def failover(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def scheduler(clock: ManualClock, failover: str) -> Scheduler:
    job = job_graph(("a", 2, []), ("b", 2, []))
    resolve_parallelism(job, 1)
    options = SchedulerOptions.of({"jobmanager.execution.failover-strategy": failover}, has_queries=True)
    return Scheduler(ExecutionGraph(job, clock.now_ms), FixedDelayRestartStrategy(3, 1), clock, options)


def states(scheduler: Scheduler) -> str:
    return " ".join(execution.state.name for execution in scheduler.graph.executions)


def kinds(actions: Actions, *wanted: type) -> Actions:
    return [action for action in actions if isinstance(action, wanted)]


def test_each_region_has_a_query(scheduler: Scheduler) -> None:
    assert run_up(scheduler, scheduler.start_scheduling()) == [StartQuery(0, 0), StartQuery(1, 0)]


@pytest.mark.parametrize("failover", ["region"], indirect=True)
def test_a_region_that_fails_restarts_alone(scheduler: Scheduler) -> None:
    run_up(scheduler, scheduler.start_scheduling())
    assert kinds(scheduler.query_failed(0, 0, BAD), StopQuery, CancelTask) == [StopQuery(0, 0)]
    assert (scheduler.graph.status, states(scheduler)) == (JobStatus.RESTARTING, "FAILED CANCELING RUNNING RUNNING")
    (cancel, *_) = scheduler.query_stopped(0, 0)
    scheduler.task_stopped(cancel.attempt_id)  # type: ignore[union-attr]
    for attempt in list(scheduler._unconfirmed):
        scheduler.cancellation_acknowledged(attempt)
    for vertex in scheduler.graph.job_vertices[an_id("a")].vertices:
        if not vertex.current.state.is_terminal:
            scheduler.task_stopped(vertex.current.attempt_id)
    again = scheduler.restart_due(0)
    assert len(kinds(again, RequestSlots)) == 1
    assert run_up(scheduler, again) == [StartQuery(0, 1)]
    assert (scheduler.graph.status, states(scheduler)) == (JobStatus.RUNNING, "RUNNING RUNNING RUNNING RUNNING")
    assert scheduler.query_failed(0, 0, BAD) == [], "the query of the run before"


@pytest.mark.parametrize("failover", ["full"], indirect=True)
def test_a_global_restart_stops_all_queries(scheduler: Scheduler) -> None:
    run_up(scheduler, scheduler.start_scheduling())
    assert kinds(scheduler.query_failed(0, 0, BAD), StopQuery) == [StopQuery(0, 0), StopQuery(1, 0)]
    assert states(scheduler) == "FAILED CANCELING CANCELING CANCELING"


def test_a_finished_region_returns_its_slots_and_the_job_continues(scheduler: Scheduler) -> None:
    run_up(scheduler, scheduler.start_scheduling())
    actions = scheduler.query_finished(1, 0)
    assert len(kinds(actions, CancelTask)) == 2
    (release,) = kinds(actions, ReleaseSlots)
    assert len(release.request_ids) == 2  # type: ignore[union-attr]
    assert (scheduler.graph.status, states(scheduler)) == (JobStatus.RUNNING, "RUNNING RUNNING FINISHED FINISHED")
    scheduler.query_finished(0, 0)
    assert scheduler.graph.status is JobStatus.FINISHED
