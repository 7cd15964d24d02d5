"""The Dispatcher stays responsive with many jobs at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.turns import Turns
from firesteel.runtime.executiongraph.job_status import JobStatus
from tests.runtime.helpers import job_graph, settle
from tests.runtime.simulated import Cluster

CROWD = 60


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    cluster = Cluster(clock)
    await cluster.start(tm=CROWD + 1)
    yield cluster
    await cluster.stop()
    assert cluster.fatal_errors == []


async def test_a_status_is_answered_while_many_jobs_are_submitted(cluster: Cluster) -> None:
    running = await cluster.submit(job_graph(("a", 1, []), name="running"))
    crowd = [cluster.gateway.submit_job(job_graph(("a", 1, []), name=f"job-{n}")) for n in range(CROWD)]
    assert await cluster.gateway.request_job_status(running) is JobStatus.RUNNING
    assert sum(submission.done() for submission in crowd) < CROWD / 2
    await asyncio.gather(*crowd)
    await settle()
    assert len(cluster.data_plane.queries) == CROWD + 1


async def test_the_overview_contains_many_jobs(cluster: Cluster) -> None:  # A17
    jobs = [job_graph(("a", 1, []), name=f"job-{n}") for n in range(CROWD)]
    await asyncio.gather(*(cluster.gateway.submit_job(job) for job in jobs))
    await settle()
    overview = await cluster.gateway.request_overview()
    assert {job.job_id for job in overview.jobs} == {job.job_id for job in jobs}
    assert overview.jobs_running == CROWD


async def test_one_caller_proceeds_per_round_in_order() -> None:
    turns, rounds = Turns(), 0
    went_on: list[tuple[str, int]] = []

    async def caller(name: str) -> None:
        await turns.wait()
        went_on.append((name, rounds))

    callers = [asyncio.ensure_future(caller(name)) for name in "abc"]
    while not all(one.done() for one in callers):
        rounds += 1
        await asyncio.sleep(0)
    assert [name for name, _ in went_on] == ["a", "b", "c"]
    assert len({number for _, number in went_on}) == 3
