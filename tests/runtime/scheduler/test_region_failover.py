"""Scheduling and restarting by regions, where tasks move their records themselves (scenarios M, N, O, P)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.execution_errors import IllegalTransitionError, SlotLostError
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.restart_strategy import NoRestartStrategy
from firesteel.runtime.scheduler.scheduler import IllegalSchedulingError
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.scheduler.played_job import BAD, PlayedJob

FULL = SchedulerOptions(failover_strategy="full")


def blocking_chain() -> JobGraph:
    """a -> b -> c, one subtask per region and edge: a#i, then b#i, then c#i."""
    return job_graph(
        ("a", 2, []), ("b", 2, [("a", "POINTWISE", "BLOCKING")]), ("c", 2, [("b", "POINTWISE", "BLOCKING")])
    )


def all_to_all() -> JobGraph:
    return job_graph(("a", 2, []), ("b", 2, [("a", "ALL_TO_ALL", "BLOCKING")]))


def two_pipelines() -> JobGraph:
    """Two sources, each with a sink; nothing between them."""
    return job_graph(
        ("a", 1, []),
        ("b", 1, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]),
        ("x", 1, []),
        ("y", 1, [("x", "ALL_TO_ALL", "PIPELINED_BOUNDED")]),
    )


def running(job: JobGraph, options: SchedulerOptions | None = None) -> PlayedJob:
    played = PlayedJob(job, options).start()
    played.run()
    return played


def test_a_region_is_deployed_once_all_its_slots_are_there() -> None:  # M09
    played = PlayedJob(two_pipelines()).start()
    assert played.bulks == [["a#0", "b#0"], ["x#0", "y#0"]]
    played.serve("a#0", "x#0", "y#0")
    assert played.deployed == ["x#0", "y#0"]
    played.serve("b#0")
    assert played.deployed == ["x#0", "y#0", "a#0", "b#0"]


def test_a_consumer_region_starts_once_when_all_its_inputs_are_finished() -> None:  # M10
    played = PlayedJob(all_to_all()).start()
    played.run()
    assert played.bulks == [["a#0"], ["a#1"]]
    played.finish("a#0")
    assert len(played.bulks) == 2
    played.finish("a#1")
    assert played.bulks[2:] == [["b#0"], ["b#1"]]
    played.run()
    played.finish("b#0", "b#1")
    assert len(played.bulks) == 4
    assert played.graph.status is JobStatus.FINISHED


def test_finished_tasks_give_their_slots_back_once() -> None:  # N12
    played = PlayedJob(all_to_all()).start()
    played.run()
    played.finish("a#0", "a#1")
    assert played.released == ["a#0", "a#1"]
    played.run()
    played.finish("b#0", "b#1")
    assert played.released == ["a#0", "a#1", "b#0", "b#1"]


def test_only_regions_of_the_restart_whose_inputs_are_there_start_at_once() -> None:  # M11 P01
    played = PlayedJob(blocking_chain()).start()
    played.run()
    played.finish("a#0", "a#1")
    played.run()
    played.finish("b#0")
    played.run()
    assert played.states() == {
        "a#0": "FINISHED",
        "a#1": "FINISHED",
        "b#0": "FINISHED",
        "b#1": "RUNNING",
        "c#0": "RUNNING",
        "c#1": "CREATED",
    }
    before = len(played.bulks)
    partition = next(iter(played.graph.job_vertices[an_id("b")].results)).id
    played.fail("c#0", replace(BAD, lost_partition=(partition, 0)))
    played.restart()
    assert played.bulks[before:] == [["b#0"]]
    assert played.attempts() == {"a#0": 0, "a#1": 0, "b#0": 1, "b#1": 0, "c#0": 1, "c#1": 0}
    played.run()
    played.finish("b#0")
    assert played.bulks[before:] == [["b#0"], ["c#0"]]


def test_the_region_of_a_failed_task_and_its_consumers_restart() -> None:  # P01
    job = job_graph(("a", 1, []), ("b", 1, [("a", "ALL_TO_ALL", "HYBRID_FULL")]), ("x", 1, []))
    played = PlayedJob(job, SchedulerOptions("eager", "region")).start()
    played.run()
    played.fail("a#0")
    assert played.cancelled == ["b#0"]
    played.restart()
    assert played.attempts() == {"a#0": 1, "b#0": 1, "x#0": 0}


def test_a_partition_that_cannot_be_read_restarts_its_producer() -> None:  # P02
    played = PlayedJob(all_to_all()).start()
    played.run()
    played.finish("a#0", "a#1")
    played.run()
    (result,) = played.graph.job_vertices[an_id("a")].results
    played.fail("b#0", replace(BAD, lost_partition=(result.id, 1)))
    played.restart()
    assert played.attempts() == {"a#0": 0, "a#1": 1, "b#0": 1, "b#1": 1}
    assert played.states() == {"a#0": "FINISHED", "a#1": "SCHEDULED", "b#0": "CREATED", "b#1": "CREATED"}


def test_without_a_lost_partition_finished_producers_stay() -> None:  # P02 P03
    played = PlayedJob(all_to_all()).start()
    played.run()
    played.finish("a#0", "a#1")
    played.run()
    played.fail("b#0")
    played.restart()
    assert played.attempts() == {"a#0": 0, "a#1": 0, "b#0": 1, "b#1": 0}


def test_producers_whose_results_went_with_their_task_executor_restart_too() -> None:  # P03
    played = PlayedJob(blocking_chain()).start()
    played.serve(task_manager="lost")
    played.run()
    played.finish("a#0", "a#1")
    played.serve(task_manager="kept")
    played.run()
    played.finish("b#0")
    played.run()
    played.scheduler.task_manager_lost("lost")
    played.fail("c#0")
    played.restart()
    assert played.attempts() == {"a#0": 0, "a#1": 0, "b#0": 0, "b#1": 0, "c#0": 1, "c#1": 0}
    played.fail("b#1")
    played.restart()
    assert played.attempts()["a#1"] == 1
    assert played.attempts()["a#0"] == 0
    assert played.states()["b#1"] == "CREATED"


def test_a_streaming_job_of_one_region_restarts_as_a_whole() -> None:  # P04
    job = job_graph(("a", 2, []), ("b", 3, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]))
    played = running(job)
    played.fail("b#1")
    played.restart()
    assert set(played.attempts().values()) == {1}


def test_colocated_subtasks_restart_together() -> None:  # P04
    job = job_graph(("a", 1, []), ("b", 1, []))
    for vertex in job.vertices:
        vertex.co_location_group_index = 0
    played = running(job)
    played.fail("a#0")
    played.restart()
    assert played.attempts() == {"a#0": 1, "b#0": 1}


def test_the_second_pipeline_keeps_running() -> None:  # P05
    played = running(two_pipelines())
    played.fail("a#0")
    assert played.graph.status is JobStatus.RESTARTING
    assert played.cancelled == ["b#0"]
    played.restart()
    assert played.graph.status is JobStatus.RUNNING
    played.run()
    assert set(played.states().values()) == {"RUNNING"}
    assert played.attempts() == {"a#0": 1, "b#0": 1, "x#0": 0, "y#0": 0}


def test_the_full_strategy_restarts_both_pipelines() -> None:  # P06
    played = running(two_pipelines(), FULL)
    played.fail("a#0")
    played.restart()
    assert set(played.attempts().values()) == {1}


def test_the_job_runs_again_when_no_subtask_waits_for_its_restart() -> None:  # P09
    played = running(two_pipelines())
    played.fail("a#0")
    played.fail("x#0")
    played.end_cancelled()
    played.follow(played.scheduler.restart_due(played.restarts[0]))
    assert played.graph.status is JobStatus.RESTARTING
    played.follow(played.scheduler.restart_due(played.restarts[1]))
    assert played.graph.status is JobStatus.RUNNING
    assert played.graph.restarts == 2


def test_a_later_restart_takes_over_the_subtasks_that_it_needs() -> None:  # P07
    played = PlayedJob(all_to_all()).start()
    played.run()
    played.finish("a#0", "a#1")
    played.run()
    played.fail("b#0")
    (result,) = played.graph.job_vertices[an_id("a")].results
    played.fail("b#1", replace(BAD, lost_partition=(result.id, 1)))
    played.follow(played.scheduler.restart_due(played.restarts[0]))
    assert played.attempts() == {"a#0": 0, "a#1": 0, "b#0": 0, "b#1": 0}
    played.follow(played.scheduler.restart_due(played.restarts[1]))
    assert played.attempts() == {"a#0": 0, "a#1": 1, "b#0": 1, "b#1": 1}
    assert played.graph.restarts == 1


def test_a_failure_that_no_restart_can_mend_fails_the_job() -> None:  # P10
    played = running(two_pipelines())
    played.fail("a#0", replace(BAD, is_recoverable=False))
    played.end_cancelled()
    assert played.graph.status is JobStatus.FAILED
    assert played.graph.failure is not None
    assert "Recovery is suppressed because the failure is not recoverable" in played.graph.failure.details


def test_a_global_failure_restarts_all_tasks_with_both_strategies() -> None:  # P06
    for options in (FULL, SchedulerOptions()):
        played = running(two_pipelines(), options)
        assert played.scheduler._failover.tasks_needing_restart([], BAD) == set(played.graph.vertices)


def test_lazily_a_task_is_deployed_as_soon_as_its_own_slot_is_there() -> None:  # M04
    played = PlayedJob(job_graph(("a", 2, [])), SchedulerOptions("lazy-from-sources")).start()
    assert played.bulks == [["a#0"], ["a#1"]]
    played.serve("a#1")
    assert played.deployed == ["a#1"]


def test_lazily_a_consumer_starts_when_a_producer_has_data() -> None:  # M05
    job = job_graph(("a", 2, []), ("b", 2, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]))
    played = PlayedJob(job, SchedulerOptions("lazy-from-sources")).start()
    played.run()
    assert played.bulks == [["a#0"], ["a#1"]]
    for name in ("a#1", "a#0", "a#1"):
        played.follow(played.scheduler.data_produced(played.vertex(name).current.attempt_id))
    assert played.bulks[2:] == [["b#0"], ["b#1"]]


def test_lazily_a_consumer_of_a_blocking_result_waits_for_all_of_it() -> None:  # M05
    played = PlayedJob(blocking_chain(), SchedulerOptions("lazy-from-sources")).start()
    played.run()
    played.finish("a#0")
    assert len(played.bulks) == 2
    played.finish("a#1")
    assert played.bulks[2:] == [["b#0"], ["b#1"]]


def test_a_task_that_is_no_longer_new_is_not_scheduled() -> None:  # M06
    played = PlayedJob(job_graph(("a", 1, []))).start()
    with pytest.raises(IllegalSchedulingError, match=r"a \(1/1\) can be scheduled in CREATED only; it is SCHEDULED"):
        played.scheduler.schedule([(played.vertex("a#0"),)])


def test_a_failed_allocation_reports_the_obtained_slots_and_releases_them() -> None:  # M13
    job = job_graph(("a", 3, []))
    played = PlayedJob(job, SchedulerOptions("eager", "full"), NoRestartStrategy()).start()
    played.serve("a#0")
    attempt_id = played.vertex("a#2").current.attempt_id
    played.follow(played.scheduler.slots_failed([attempt_id], TaskFailure("no resource available")))
    assert played.graph.failure is not None
    assert played.graph.failure.message == "no resource available (tasks that need slots: 3, that obtained one: 1)"
    assert sorted(played.released) == ["a#0", "a#1"]
    assert played.graph.status is JobStatus.FAILED


def test_a_second_slot_for_a_task_is_given_back() -> None:  # M14
    played = PlayedJob(job_graph(("a", 2, []))).start()
    played.serve("a#0")
    attempt_id = played.vertex("a#0").current.attempt_id
    another = LogicalSlot(attempt_id, AllocatedSlot("another", "tm", 5, ""), Locality.UNKNOWN)
    played.follow(played.scheduler.slots_allocated([another]))
    assert played.released == ["a#0"]
    assert played.vertex("a#0").current.allocation_id == f"slot-of-{attempt_id}"


def test_a_slot_for_a_task_that_does_not_wait_for_one_is_refused() -> None:  # M14
    played = running(job_graph(("a", 1, [])))
    execution = played.vertex("a#0").current
    assert not execution.assign("x", "tm", "")
    played.finish("a#0")
    assert not execution.assign("x", "tm", "")


def test_a_task_is_deployed_from_created_or_scheduled_only() -> None:  # N08
    played = running(job_graph(("a", 1, [])))
    with pytest.raises(IllegalTransitionError, match="can't go from RUNNING to DEPLOYING"):
        played.graph.deploy(played.vertex("a#0"))


def test_a_task_whose_slot_is_gone_is_not_deployed() -> None:  # N08
    played = PlayedJob(job_graph(("a", 1, []))).start()
    execution = played.vertex("a#0").current
    execution.assign("alloc", "tm", "")
    execution.slot_lost()
    with pytest.raises(SlotLostError, match="target slot alloc is no longer alive"):
        played.graph.deploy(played.vertex("a#0"))


def test_a_slot_lost_while_a_region_waits_for_others_fails_the_region() -> None:  # N08 N11
    played = PlayedJob(job_graph(("a", 1, []), ("b", 1, [("a", "POINTWISE", "PIPELINED_BOUNDED")]))).start()
    played.serve("a#0")
    attempt_id = played.vertex("a#0").current.attempt_id
    played.follow(played.scheduler.slots_failed([attempt_id], TaskFailure("the TaskExecutor is gone")))
    assert played.states() == {"a#0": "FAILED", "b#0": "CANCELED"}
    assert played.released == ["b#0"]
    played.serve("b#0")
    assert played.deployed == []


def test_cancelling_a_job_that_is_over_changes_nothing() -> None:  # O04
    for end in ("finish", "cancel"):
        played = running(job_graph(("a", 1, [])))
        if end == "finish":
            played.finish("a#0")
        else:
            played.follow(played.scheduler.cancel())
            played.end_cancelled()
        status, events = played.graph.status, len(played.graph.history)
        assert status.is_globally_terminal
        assert played.scheduler.cancel() == []
        assert (played.graph.status, len(played.graph.history)) == (status, events)


def test_each_restart_is_a_new_version_and_voids_earlier_decisions() -> None:  # O09 M07
    played = PlayedJob(job_graph(("a", 1, []), ("b", 1, [("a", "POINTWISE", "PIPELINED_BOUNDED")]))).start()
    played.serve("a#0")
    late = played.waiting.pop()
    played.fail("a#0")
    played.restart()
    assert played.scheduler.run == 1
    slot = LogicalSlot(late, AllocatedSlot("late", "tm", 0, ""), Locality.UNKNOWN)
    played.follow(played.scheduler.slots_allocated([slot]))
    assert played.released[-1] == "b#0"
    assert played.states() == {"a#0": "SCHEDULED", "b#0": "SCHEDULED"}
    assert played.scheduler.restart_due(played.restarts[0]) == []
    assert played.deployed == []


def test_a_cancelled_job_drops_its_pending_restarts() -> None:  # O03
    played = running(two_pipelines())
    played.fail("a#0")
    played.follow(played.scheduler.cancel())
    played.end_cancelled()
    played.follow(played.scheduler.restart_due(played.restarts[0]))
    assert played.graph.status is JobStatus.CANCELED
    assert set(played.attempts().values()) == {0}


def test_the_failure_of_a_job_contains_its_history() -> None:
    job = job_graph(("a", 1, []))
    played = PlayedJob(job, strategy=NoRestartStrategy()).start()
    played.run()
    played.fail("a#0", TaskFailure("ValueError: bad", vertex_id=an_id("a"), subtask_index=0))
    assert played.graph.failure is not None
    story = played.graph.failure.details.splitlines()
    assert story[0].startswith("Recovery is suppressed by")
    assert story[-1].endswith(
        f"attempt 0 FAILED in slot {played.vertex('a#0').current.allocation_id} of tm: ValueError: bad"
    )
