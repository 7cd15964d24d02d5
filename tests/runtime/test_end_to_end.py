"""Jobs on a cluster in memory, from submission to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import cloudpickle
import pytest

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.simulated import Cluster

FIXED_DELAY = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1",
    "restart-strategy.fixed-delay.delay": "3 s",
}


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    cluster = Cluster(clock)
    await cluster.start(tm=4)
    yield cluster
    await cluster.stop()
    assert cluster.fatal_errors == []


def two_vertices(**options: str) -> JobGraph:
    return job_graph(
        ("source", 2, []), ("sink", 3, [("source", "ALL_TO_ALL", "PIPELINED_BOUNDED")]), configuration=options
    )


async def states(cluster: Cluster, job_id: str) -> list[dict[ExecutionState, int]]:
    return [vertex.tasks for vertex in (await cluster.gateway.request_job_details(job_id)).vertices]


async def result_of(cluster: Cluster, job_id: str) -> JobResult:
    result = cluster.gateway.request_job_result(job_id)
    await settle()
    assert result.done(), "the job is not over"
    return await result


def statuses(cluster: Cluster) -> list[str]:
    return [event.status.name for event in cluster.listener.events]


async def test_a_job_runs_to_finished(cluster: Cluster) -> None:  # A07 A12 A16 O01 O02 M01 N01 H20
    job_id = await cluster.submit(two_vertices())
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING
    assert await states(cluster, job_id) == [{ExecutionState.RUNNING: 2}, {ExecutionState.RUNNING: 3}]
    assert cluster.query.descriptor.slots == 3
    result = cluster.gateway.request_job_result(job_id)
    await cluster.advance(7)
    await cluster.finish_query()
    ended = await result
    assert (ended.status, ended.net_runtime_ms, ended.failure) == (JobStatus.FINISHED, 7000, None)
    details = await cluster.gateway.request_job_details(job_id)
    assert [vertex.tasks for vertex in details.vertices] == [
        {ExecutionState.FINISHED: 2},
        {ExecutionState.FINISHED: 3},
    ]
    assert statuses(cluster) == ["CREATED", "RUNNING", "FINISHED"]
    assert cluster.runners["tm"].slots == {}
    assert await cluster.ha.job_graph_store.job_ids() == ()
    assert await cluster.gateway.list_jobs() == (job_id,)


async def test_the_data_plane_learns_where_each_subtask_is(cluster: Cluster) -> None:
    await cluster.submit(two_vertices())
    deployed = {tdd.execution_attempt_id: tdd for tdd in cluster.runners["tm"].deployed}
    for location in cluster.query.descriptor.subtasks:
        tdd = deployed[location.execution_attempt_id]
        assert location.slot == tdd.global_slot == location.subtask_index
        assert location.address == f"address-of-{tdd.allocation_id}"
        names = {vertex.id: vertex.name for vertex in cloudpickle.loads(tdd.serialized_job_graph).vertices}
        assert names[location.vertex_id] == tdd.vertex_name
    assert len({location.address for location in cluster.query.descriptor.subtasks}) == 3


async def test_groups_have_slots_of_their_own(cluster: Cluster) -> None:  # H20
    job = job_graph(
        ("a", 2, []), ("b", 1, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]), groups={"a": "default", "b": "other"}
    )
    await cluster.submit(job)
    assert cluster.query.descriptor.slots == 3
    assert [location.slot for location in cluster.query.descriptor.subtasks] == [0, 1, 2]


async def test_progress_reaches_the_details(cluster: Cluster) -> None:
    job_id = await cluster.submit(two_vertices())
    tdd = next(tdd for tdd in cluster.runners["tm"].deployed if tdd.vertex_name == "source")
    cluster.runners["tm"].listener.task_progress(tdd.execution_attempt_id, 5, 4)
    await cluster.advance(1)
    cluster.query.listener.subtasks_progressed([SubtaskProgress(an_id("sink"), 0, 3, 2, True)])
    source, sink = (await cluster.gateway.request_job_details(job_id)).vertices
    assert (source.records_in, source.records_out) == (5, 4)
    assert (sink.records_in, sink.records_out) == (3, 2)
    assert sink.tasks == {ExecutionState.RUNNING: 2, ExecutionState.FINISHED: 1}


async def test_a_failure_of_a_task_fails_the_job_with_the_users_error(cluster: Cluster) -> None:  # O06 O12 Q01 N06
    job_id = await cluster.submit(two_vertices())
    failure = TaskFailure("ValueError: bad", operator_name="Map", subtask_index=1, parallelism=2)
    tdd = next(tdd for tdd in cluster.runners["tm"].deployed if (tdd.vertex_name, tdd.subtask_index) == ("source", 1))
    cluster.runners["tm"].listener.task_state_changed(tdd.execution_attempt_id, ExecutionState.FAILED, failure)
    await settle()
    result = await result_of(cluster, job_id)
    assert result.status is JobStatus.FAILED
    assert str(result.failure) == "operator 'Map' (subtask 2/2) failed: ValueError: bad"
    assert "Recovery is suppressed by NoRestartBackoffTimeStrategy" in result.failure.details
    assert await states(cluster, job_id) == [
        {ExecutionState.FAILED: 1, ExecutionState.CANCELED: 1},
        {ExecutionState.CANCELED: 3},
    ]
    assert cluster.query.is_stopped
    assert statuses(cluster) == ["CREATED", "RUNNING", "FAILING", "FAILED"]
    assert cluster.runners["tm"].slots == {}


async def test_a_failure_of_the_query_fails_the_subtask_it_names(cluster: Cluster) -> None:  # O12
    job_id = await cluster.submit(two_vertices())
    await cluster.fail_query(TaskFailure("KeyError: 'x'", vertex_id=an_id("sink"), vertex_name="sink", subtask_index=2))
    result = await result_of(cluster, job_id)
    assert str(result.failure) == "vertex 'sink' (subtask 3) failed: KeyError: 'x'"
    assert (await states(cluster, job_id))[1] == {ExecutionState.FAILED: 1, ExecutionState.CANCELED: 2}
    assert len(cluster.runners["tm"].cancelled) == 5


async def test_a_query_that_does_not_start_fails_the_job(cluster: Cluster) -> None:
    cluster.data_plane.start_error = RuntimeError("no engine")
    job_id = await cluster.submit(two_vertices())
    assert str((await result_of(cluster, job_id)).failure) == "RuntimeError: no engine"


async def test_a_cancelled_job_has_the_status_canceled(cluster: Cluster) -> None:  # O03 N03
    job_id = await cluster.submit(two_vertices())
    await cluster.gateway.cancel_job(job_id)
    await settle()
    assert (await result_of(cluster, job_id)).status is JobStatus.CANCELED
    assert await states(cluster, job_id) == [{ExecutionState.CANCELED: 2}, {ExecutionState.CANCELED: 3}]
    assert cluster.query.is_stopped
    assert statuses(cluster) == ["CREATED", "RUNNING", "CANCELLING", "CANCELED"]


async def test_a_failed_job_is_restarted_as_often_as_its_strategy_allows(cluster: Cluster) -> None:  # O05 Q02 Q07 P06
    job_id = await cluster.submit(two_vertices(**FIXED_DELAY))
    first = cluster.query
    await cluster.fail_query(TaskFailure("ValueError: bad"))
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RESTARTING
    assert first.is_stopped
    await cluster.advance(3)
    assert [query.descriptor.attempt for query in cluster.data_plane.queries] == [0, 1]
    details = await cluster.gateway.request_job_details(job_id)
    assert (details.status, details.restarts, details.vertices[0].attempt) == (JobStatus.RUNNING, 1, 1)
    assert len(cluster.runners["tm"].slots) == 3
    await cluster.finish_query()
    result = await result_of(cluster, job_id)
    assert (result.status, result.failure) == (JobStatus.FINISHED, None)
    assert statuses(cluster) == ["CREATED", "RUNNING", "RESTARTING", "RUNNING", "FINISHED"]


async def test_one_failure_more_than_allowed_fails_the_job(cluster: Cluster) -> None:  # Q02
    job_id = await cluster.submit(two_vertices(**FIXED_DELAY))
    await cluster.fail_query(TaskFailure("ValueError: first"))
    await cluster.advance(3)
    await cluster.fail_query(TaskFailure("ValueError: second"))
    result = await result_of(cluster, job_id)
    assert (result.status, result.failure.message) == (JobStatus.FAILED, "ValueError: second")


async def test_a_restart_that_cannot_restore_its_state_fails_the_job(cluster: Cluster) -> None:  # P08
    job_id = await cluster.submit(two_vertices(**FIXED_DELAY))
    await cluster.fail_query(TaskFailure("ValueError: first"))
    cluster.data_plane.start_error = OSError("the checkpoint can't be read")
    await cluster.advance(3)
    result = await result_of(cluster, job_id)
    assert (result.status, result.failure.message) == (JobStatus.FAILED, "OSError: the checkpoint can't be read")
    assert result.failure.vertex_id is None
    assert await states(cluster, job_id) == [{ExecutionState.CANCELED: 2}, {ExecutionState.CANCELED: 3}]


async def test_reports_of_a_former_query_are_ignored(cluster: Cluster) -> None:
    job_id = await cluster.submit(two_vertices(**FIXED_DELAY))
    first = cluster.query
    await cluster.fail_query(TaskFailure("ValueError: first"))
    await cluster.advance(3)
    first.listener.query_finished()
    first.listener.query_failed(TaskFailure("late"))
    await settle()
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING


async def test_a_cancel_while_restarting_ends_in_canceled(cluster: Cluster) -> None:  # O03
    job_id = await cluster.submit(two_vertices(**FIXED_DELAY))
    await cluster.fail_query(TaskFailure("ValueError: bad"))
    await cluster.gateway.cancel_job(job_id)
    await settle()
    assert (await result_of(cluster, job_id)).status is JobStatus.CANCELED
    await cluster.advance(10)
    assert len(cluster.data_plane.queries) == 1


async def test_too_few_slots_fail_the_job_after_the_slot_request_timeout(cluster: Cluster) -> None:  # M03 M12 G04
    job_id = await cluster.submit(job_graph(("a", 5, []), configuration={"slot.request.timeout": "10 s"}))
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING
    assert await states(cluster, job_id) == [{ExecutionState.SCHEDULED: 5}]
    assert len(cluster.runners["tm"].slots) == 4
    await cluster.advance(10)
    result = await result_of(cluster, job_id)
    assert result.status is JobStatus.FAILED
    assert "Slot request bulk is not fulfillable! Could not allocate the required slot" in result.failure.message
    assert cluster.runners["tm"].slots == {}


async def test_a_job_waits_for_slots(clock: ManualClock) -> None:  # F04 G01 J04
    cluster = Cluster(clock)
    await cluster.start()
    job_id = await cluster.submit(two_vertices())
    assert await states(cluster, job_id) == [{ExecutionState.SCHEDULED: 2}, {ExecutionState.SCHEDULED: 3}]
    await cluster.add_task_executor("late", 2)
    await cluster.add_task_executor("later", 1)
    await settle()
    assert await states(cluster, job_id) == [{ExecutionState.RUNNING: 2}, {ExecutionState.RUNNING: 3}]
    await cluster.stop()


async def test_a_slot_that_cannot_be_opened_fails_the_job(cluster: Cluster) -> None:  # G18
    cluster.runners["tm"].open_error = OSError("no python")
    job_id = await cluster.submit(two_vertices())
    await settle()
    failure = (await result_of(cluster, job_id)).failure
    assert failure is not None
    assert "can't be opened: OSError: no python" in failure.message


async def test_a_task_that_cannot_be_deployed_fails_the_job(cluster: Cluster) -> None:  # M08
    cluster.runners["tm"].deploy_error = RuntimeError("cannot unpickle")
    job_id = await cluster.submit(two_vertices())
    failure = (await result_of(cluster, job_id)).failure
    assert failure is not None
    assert failure.message == "RuntimeError: cannot unpickle"
    assert failure.vertex_name == "source"


async def test_a_stopped_task_executor_fails_its_tasks_and_the_job_moves(clock: ManualClock) -> None:  # L22 E17 N11
    cluster = Cluster(clock)
    await cluster.start(one=3, two=3)
    job_id = await cluster.submit(two_vertices(**FIXED_DELAY))
    await cluster.task_executors.pop("one").stop()
    await settle()
    for _ in range(7):
        await cluster.advance(10)
    assert await states(cluster, job_id) == [{ExecutionState.RUNNING: 2}, {ExecutionState.RUNNING: 3}]
    assert len(cluster.runners["two"].slots) == 3
    await cluster.stop()


async def test_a_long_running_job_outlives_many_heartbeats(cluster: Cluster) -> None:  # L24
    job_id = await cluster.submit(two_vertices())
    for _ in range(100):
        await cluster.advance(10)
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING
    overview = await cluster.gateway.request_overview()
    assert (overview.task_managers, overview.slots_total, overview.slots_available) == (1, 4, 1)
    assert overview.jobs_running == 1


async def test_jobs_run_one_after_the_other_in_the_same_slots(cluster: Cluster) -> None:  # J18
    for number in range(3):
        job_id = await cluster.submit(job_graph(("a", 4, []), name=f"job {number}"))
        await cluster.finish_query()
        assert (await result_of(cluster, job_id)).status is JobStatus.FINISHED
    overview = await cluster.gateway.request_overview()
    assert (overview.jobs_finished, overview.slots_available) == (3, 4)


async def test_a_batch_job_takes_its_parallelism_from_the_clusters_slots(cluster: Cluster) -> None:
    await cluster.submit(job_graph(("a", -1, []), job_type="BATCH"))
    assert [vertex.parallelism for vertex in cluster.query.descriptor.job_graph.vertices] == [4]


async def test_a_batch_job_takes_its_parallelism_from_the_configuration(cluster: Cluster) -> None:
    await cluster.submit(job_graph(("a", -1, []), job_type="BATCH", configuration={"parallelism.default": "2"}))
    assert [vertex.parallelism for vertex in cluster.query.descriptor.job_graph.vertices] == [2]


async def test_the_history_contains_all_state_changes(cluster: Cluster) -> None:
    job_id = await cluster.submit(job_graph(("a", 1, [])))
    await cluster.finish_query()
    job = await cluster.gateway.request_job(job_id)
    story = [getattr(event, "state", None) or event.status for event in job.history]
    assert [entered.name for entered in story] == [
        *["INITIALIZING", "CREATED", "RUNNING"],
        *["SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FINISHED"],
        "FINISHED",
    ]
    assert job.graph["vertices"][0]["subtasks"][0]["task_manager"] == "tm"


async def test_jobs_are_recovered_by_the_next_dispatcher(cluster: Cluster) -> None:  # A21 A22 D05 D13
    job_id = await cluster.submit(two_vertices())
    cluster.ha.revoke_leadership("dispatcher")
    await settle()
    assert cluster.query.is_stopped
    cluster.ha.grant_leadership("dispatcher")
    gateway = await cluster.dispatcher_gateway()
    await settle()
    assert await gateway.request_job_status(job_id) is JobStatus.RUNNING
    assert len(cluster.data_plane.queries) == 2
