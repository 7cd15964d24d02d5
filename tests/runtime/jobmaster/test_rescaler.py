"""A job that changes its parallelism while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.graph.parallelism import set_max_parallelism
from firesteel.graph.resource_requirements import ResourceRequirementsError
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.executiongraph.rescales import RescaleEnd, RescalesSummary, TriggerCause
from firesteel.runtime.failure import TaskFailure
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.simulated import Cluster

A, B = an_id("a"), an_id("b")
RESTARTS = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 s"}
AT_ONCE = {"jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 ms"}


def pair(parallelism: int = 2, **configuration: str) -> JobGraph:
    vertices = ("a", parallelism, []), ("b", parallelism, [("a", "ALL_TO_ALL", "PIPELINED")])
    return job_graph(*vertices, configuration=configuration)


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    """A cluster with one TaskExecutor, `tm`, of four slots."""
    cluster = Cluster(clock, AT_ONCE | RESTARTS)
    await cluster.start(tm=4)
    yield cluster
    await cluster.stop()


async def require(cluster: Cluster, job_id: str, a: int, b: int | None = None, lower: int = 1) -> None:
    wanted = {A: ParallelismBounds(lower, a), B: ParallelismBounds(lower, a if b is None else b)}
    await cluster.gateway.update_resource_requirements(job_id, wanted)
    await settle()


async def parallelism(cluster: Cluster, job_id: str) -> list[int]:
    details = await cluster.gateway.request_job_details(job_id)
    return [vertex.parallelism for vertex in details.vertices]


async def rescales(cluster: Cluster, job_id: str) -> RescalesSummary:
    return (await cluster.gateway.request_job(job_id)).rescales


async def pass_time(cluster: Cluster, seconds: int) -> None:
    for _ in range(seconds):
        cluster.clock.advance(1)
        await settle(50)


@pytest.mark.parametrize(("a", "b"), [(4, 4), (1, 1), (1, 3), (2, 4)])
async def test_a_running_job_gets_the_parallelism_that_is_required(cluster: Cluster, a: int, b: int) -> None:
    job_id = await cluster.submit(pair())
    first = cluster.query
    await require(cluster, job_id, a, b)
    assert await parallelism(cluster, job_id) == [a, b]
    assert (first.is_stopped, first.checkpoints) == (True, 2), "it goes on from the second checkpoint"
    assert (cluster.query.descriptor.slots, cluster.query.descriptor.attempt) == (max(a, b), 1)
    details = await cluster.gateway.request_job_details(job_id)
    assert (details.status, details.restarts) == (JobStatus.RUNNING, 0)
    [rescale] = (await rescales(cluster, job_id)).history
    assert (rescale.cause, rescale.end) == (TriggerCause.UPDATE_REQUIREMENT, RescaleEnd.SUCCEEDED)
    assert ([*rescale.before.values()], [*rescale.after.values()]) == ([2, 2], [a, b])


async def test_a_second_change_is_not_that_of_the_first_request(cluster: Cluster, monkeypatch) -> None:
    prepare = cluster.data_plane.restore

    async def restore(graph: JobGraph) -> bytes | None:
        set_max_parallelism(graph)  # as the data plane of Spark does
        return await prepare(graph)

    monkeypatch.setattr(cluster.data_plane, "restore", restore)
    job_id = await cluster.submit(pair())
    for number, wanted in enumerate([(3, 4), (1, 2), (4, 4)], 1):
        await require(cluster, job_id, *wanted)
        assert await parallelism(cluster, job_id) == [*wanted]
        assert len((await rescales(cluster, job_id)).history) == number


async def test_the_history_of_a_job_continues(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    await require(cluster, job_id, 3)
    assert [event.status.name for event in cluster.listener.events] == ["CREATED", "RUNNING", "RESTARTING", "RUNNING"]
    job = await cluster.gateway.request_job(job_id)
    assert [event.status.name for event in job.history if hasattr(event, "status")][:3] == [
        "INITIALIZING",
        "CREATED",
        "RUNNING",
    ]


async def test_the_same_bounds_change_nothing(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    await require(cluster, job_id, 2)
    assert len(cluster.data_plane.queries) == 1
    assert (await rescales(cluster, job_id)).history == ()


async def test_bounds_are_answered_as_they_were_required(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    assert await cluster.gateway.request_resource_requirements(job_id) == dict.fromkeys((A, B), ParallelismBounds(1, 2))
    await require(cluster, job_id, 3, 4)
    found = await cluster.gateway.request_resource_requirements(job_id)
    assert found == {A: ParallelismBounds(1, 3), B: ParallelismBounds(1, 4)}


async def test_impossible_bounds_are_refused_and_change_nothing(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    with pytest.raises(ResourceRequirementsError, match="missing job vertex"):
        await cluster.gateway.update_resource_requirements(job_id, {A: ParallelismBounds(1, 3)})
    assert await parallelism(cluster, job_id) == [2, 2]


async def test_a_batch_job_keeps_its_parallelism(cluster: Cluster) -> None:
    job_id = await cluster.submit(job_graph(("a", 2, []), job_type="BATCH"))
    with pytest.raises(ResourceRequirementsError, match="BATCH job can't be changed"):
        await cluster.gateway.update_resource_requirements(job_id, {A: ParallelismBounds(1, 3)})


async def test_an_unknown_job_has_no_bounds(cluster: Cluster) -> None:
    with pytest.raises(JobNotFoundError):
        await cluster.gateway.request_resource_requirements("nothing")


async def test_a_job_waits_for_missing_slots_and_makes_do_with_fewer(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    await require(cluster, job_id, 6)
    assert await parallelism(cluster, job_id) == [2, 2]
    await pass_time(cluster, 59)
    assert await parallelism(cluster, job_id) == [2, 2]
    await pass_time(cluster, 2)
    assert await parallelism(cluster, job_id) == [4, 4]
    await cluster.add_task_executor("other", 4)
    await settle()
    assert await parallelism(cluster, job_id) == [6, 6]
    causes = [one.cause for one in (await rescales(cluster, job_id)).history]
    assert causes == [TriggerCause.NEW_RESOURCE_AVAILABLE, TriggerCause.UPDATE_REQUIREMENT]


async def test_slots_that_are_not_needed_any_more_are_returned(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair(4))
    await require(cluster, job_id, 1)
    await pass_time(cluster, 150)
    assert len(cluster.runners["tm"].slots) == 1


async def test_a_job_is_not_held_while_it_does_not_run(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    failed = cluster.query
    failed.listener.query_failed(TaskFailure("a bad record"))
    await settle()
    await require(cluster, job_id, 3)
    assert await parallelism(cluster, job_id) == [3, 3]
    assert failed.checkpoints == 0, "it goes on from its last checkpoint"
    cluster.clock.advance(2)
    await settle()
    assert len(cluster.data_plane.queries) == 2, "the restart before is void"


async def test_state_that_can_not_be_restored_leaves_the_job_as_it_was(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    cluster.data_plane.restore_error_once = FiresteelError("too few key groups")
    await require(cluster, job_id, 3)
    assert await parallelism(cluster, job_id) == [2, 2]
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.RUNNING
    [rescale] = (await rescales(cluster, job_id)).history
    assert (rescale.end, rescale.error) == (RescaleEnd.EXCEPTION_OCCURRED, "FiresteelError: too few key groups")


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyError("a defect of ours")])
async def test_a_job_goes_on_when_its_files_can_be_written_again(cluster: Cluster, error: Exception) -> None:
    job_id = await cluster.submit(pair())
    cluster.data_plane.restore_error = error
    await require(cluster, job_id, 3)
    await pass_time(cluster, 5)
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.RESTARTING
    history = (await cluster.gateway.request_job(job_id)).history
    assert sum(str(error) in str(event) for event in history) == 1
    cluster.data_plane.restore_error = None
    await pass_time(cluster, 2)
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.RUNNING
    assert await parallelism(cluster, job_id) == [2, 2]


async def test_a_job_whose_files_can_not_be_written_can_be_cancelled(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    cluster.data_plane.restore_error = OSError("no space left on device")
    await require(cluster, job_id, 3)
    await cluster.gateway.cancel_job(job_id)
    await pass_time(cluster, 2)
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.CANCELED
    await pass_time(cluster, 100)
    assert len((await rescales(cluster, job_id)).history) == 1, "it is not tried again"


async def test_a_failed_checkpoint_delays_the_change(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    cluster.query.checkpoint_error = OSError("the disk is full")
    await require(cluster, job_id, 3)
    assert (await parallelism(cluster, job_id), cluster.query.is_stopped) == ([2, 2], False)
    cluster.query.checkpoint_error = None
    cluster.clock.advance(1.5)
    await settle()
    assert await parallelism(cluster, job_id) == [3, 3]


async def test_a_job_that_is_cancelled_while_it_changes_ends(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    cluster.query.stops_slowly = True
    await require(cluster, job_id, 3)
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.RESTARTING
    await cluster.gateway.cancel_job(job_id)
    cluster.query.may_stop.set()
    await settle()
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.CANCELED
    [rescale] = (await rescales(cluster, job_id)).history
    assert rescale.end is RescaleEnd.JOB_CANCELED


async def test_the_next_leader_starts_with_the_parallelism_that_was_required(clock: ManualClock) -> None:
    first = Cluster(clock, AT_ONCE)
    await first.start(tm=4)
    job_id = await first.submit(pair())
    await require(first, job_id, 3)
    await first.dispatcher.close()
    second = Cluster(clock, AT_ONCE, ha=first.ha)
    await second.start(tm=4)
    assert await parallelism(second, job_id) == [3, 3]
    assert (await second.gateway.request_resource_requirements(job_id))[A] == ParallelismBounds(1, 3)
    await second.stop()
    await first.stop()


async def test_an_adaptive_job_runs_with_the_slots_that_there_are_and_grows(clock: ManualClock) -> None:
    cluster = Cluster(clock, AT_ONCE | RESTARTS | {"jobmanager.scheduler": "adaptive"})
    await cluster.start(tm=2)
    job_id = await cluster.submit(pair(4))
    assert not cluster.data_plane.queries
    await pass_time(cluster, 11)
    assert await parallelism(cluster, job_id) == [2, 2]
    assert cluster.query.descriptor.slots == 2
    await cluster.add_task_executor("other", 2)
    await settle()
    assert await parallelism(cluster, job_id) == [4, 4]
    [grown, started] = (await rescales(cluster, job_id)).history
    assert (started.cause, grown.cause) == (TriggerCause.INITIAL_SCHEDULE, TriggerCause.NEW_RESOURCE_AVAILABLE)
    assert [*started.after.values()] == [2, 2]
    await cluster.stop()


async def test_an_adaptive_job_shrinks_when_a_task_executor_is_lost(clock: ManualClock) -> None:
    cluster = Cluster(clock, AT_ONCE | RESTARTS | {"jobmanager.scheduler": "adaptive"})
    await cluster.start(tm=2, other=2)
    job_id = await cluster.submit(pair(4))
    assert cluster.query.descriptor.slots == 4
    await cluster.task_executors["other"].stop()
    await settle()
    await pass_time(cluster, 13)
    assert await parallelism(cluster, job_id) == [2, 2]
    assert (await cluster.gateway.request_job_status(job_id)) is JobStatus.RUNNING
    assert (await rescales(cluster, job_id)).history[0].cause is TriggerCause.RECOVERABLE_FAILOVER
    await cluster.stop()
