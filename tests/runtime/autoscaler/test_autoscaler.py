"""The autoscaler in a cluster: a Dispatcher and JobMasters whose data plane is simulated."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.rest.job_telemetry import Event, JobTelemetry
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError, JobSubmissionError
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.simulated import Cluster

A, B = an_id("a"), an_id("b")
OPTIONS = {
    "job.autoscaler.enabled": "true",
    "job.autoscaler.metrics.window": "5 s",
    "job.autoscaler.stabilization.interval": "2 s",
    "job.autoscaler.scale-down.interval": "0 s",
    "job.autoscaler.catch-up.duration": "60 s",
    "job.autoscaler.restart.time": "1 s",
    "autoscaler.standalone.control-loop.interval": "1 s",
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 ms",
}


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    """A cluster with one TaskExecutor of eight slots."""
    cluster = Cluster(clock, {})
    await cluster.start(tm=8)
    yield cluster
    await cluster.stop()


def pair(name: str = "job", **configuration: str) -> JobGraph:
    vertices = ("a", 2, []), ("b", 2, [("a", "ALL_TO_ALL", "PIPELINED")])
    return job_graph(*vertices, name=name, configuration=OPTIONS | configuration)


class Load:
    """The source's totals, which go on over changes; each subtask can read 100/s."""

    def __init__(self, cluster: Cluster, job_id: str) -> None:
        self.cluster, self.job_id = cluster, job_id
        self.read = self.pending = 0.0

    async def parallelism(self) -> int:
        return (await self.cluster.gateway.request_job_details(self.job_id)).vertices[0].parallelism

    async def second(self, arrival: float) -> None:
        subtasks = await self.parallelism()
        read = min(self.pending + arrival, 100.0 * subtasks)
        self.read, self.pending = self.read + read, self.pending + arrival - read
        metrics = {"a.totalRecordsRead": self.read, "a.pendingRecords": self.pending / subtasks}
        progress = [SubtaskProgress(A, index, 0, 1, False, metrics) for index in range(subtasks)]
        self.cluster.query.listener.subtasks_progressed(progress)
        self.cluster.query.listener.batch_ended(BatchTimes(1, {"operators": read / 100 / subtasks}))
        self.cluster.clock.advance(1)
        await settle(50)

    async def follow(self, arrival: float, seconds: int) -> None:
        for _ in range(seconds):
            await self.second(arrival)


async def test_a_job_follows_its_load_and_its_decisions_are_kept(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    load = Load(cluster, job_id)
    await load.follow(450, 30)
    assert await load.parallelism() in (7, 8)
    restarts = (await cluster.gateway.request_job_details(job_id)).restarts
    assert restarts == 0
    decisions = await cluster.gateway.request_scaling_decisions(job_id)
    assert decisions is not None
    assert decisions[-1].is_up
    assert decisions[-1].before == {A: 2, B: 2}
    bounds = await cluster.gateway.request_resource_requirements(job_id)
    assert {one.upper for one in bounds.values()} == {await load.parallelism()}
    rescales = (await cluster.gateway.request_job(job_id)).rescales
    assert [one.after[A] for one in rescales.history] == [one.after[A] for one in decisions]
    await load.follow(0, 40)
    assert await load.parallelism() == 1


async def test_decisions_are_events(clock: ManualClock) -> None:
    cluster, events = Cluster(clock, {}), Kept()
    cluster.dispatcher = dispatcher_runner(
        *(cluster.rpc, cluster.ha, cluster.data_plane, {}, cluster.fatal_errors.append),
        [cluster.listener, JobTelemetry(clock.now_ms, [], [events])],
    )
    await cluster.start(tm=8)
    job_id = await cluster.submit(pair())
    await Load(cluster, job_id).follow(450, 30)
    decisions = await cluster.gateway.request_scaling_decisions(job_id)
    assert decisions
    reports = [one for one in events if one.name == "ScalingReport"]
    assert [(one.attributes["vertexId"], one.attributes["newParallelism"]) for one in reports] == [
        change for one in reversed(decisions) for change in one.after.items()
    ]
    assert {one.attributes["job_id"] for one in reports} == {job_id}
    assert cluster.fatal_errors == []
    await cluster.stop()


class Kept(list[Event]):
    def add(self, event: Event) -> None:
        self.append(event)


async def test_a_decision_that_is_not_carried_out_is_told_once(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair(**{"job.autoscaler.scaling.enabled": "false"}))
    load = Load(cluster, job_id)
    await load.follow(1000, 8)
    found = await cluster.gateway.request_scaling_decisions(job_id)
    assert found is not None
    first = len(found)
    assert await load.parallelism() == 2
    assert first == 1
    assert not found[0].is_carried_out


async def test_jobs_without_autoscaler_and_ended_ones_have_no_decisions(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair(**{"job.autoscaler.enabled": "false"}))
    await Load(cluster, job_id).follow(1000, 20)
    assert await cluster.gateway.request_scaling_decisions(job_id) is None
    with pytest.raises(JobNotFoundError):
        await cluster.gateway.request_scaling_decisions("0" * 32)
    scaled = await cluster.submit(pair("scaled"))
    assert await cluster.gateway.request_scaling_decisions(scaled) == ()
    await cluster.gateway.cancel_job(scaled)
    await settle(200)
    assert await cluster.gateway.request_scaling_decisions(scaled) is None


async def test_bounds_that_the_user_sets_are_those_of_the_next_decision(cluster: Cluster) -> None:
    job_id = await cluster.submit(pair())
    load = Load(cluster, job_id)
    wanted = {A: ParallelismBounds(3, 3), B: ParallelismBounds(3, 3)}
    await cluster.gateway.update_resource_requirements(job_id, wanted)
    await settle(100)
    await load.follow(0, 30)
    bounds = await cluster.gateway.request_resource_requirements(job_id)
    assert {(one.lower, one.upper) for one in bounds.values()} == {(1, 1)}


async def test_a_wrong_option_is_refused_at_the_submission(cluster: Cluster) -> None:
    with pytest.raises(JobSubmissionError, match=r"job\.autoscaler\.utilization\.target"):
        await cluster.submit(pair(**{"job.autoscaler.utilization.target": "70"}))
