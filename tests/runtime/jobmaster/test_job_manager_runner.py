"""The contender for one job's leadership (scenarios E)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.running_jobs_registry import JobSchedulingStatus
from firesteel.runtime.jobmaster.job_manager_runner import JobManagerRunner, JobNotFinishedError
from firesteel.runtime.jobmaster.job_master import JobMaster
from tests.runtime.helpers import job_graph, settle
from tests.runtime.simulated import Cluster


class Runner(JobManagerRunner):
    """Makes its JobMasters when the test says so."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.may_create = asyncio.Event()
        self.may_create.set()
        self.create_error: Exception | None = None
        self.masters: list[JobMaster] = []
        self.fatal: list[BaseException] = []
        dispatcher: Any = cluster.dispatcher._process
        self._make = dispatcher._create_job_master
        super().__init__(job_graph(("a", 1, [])), cluster.rpc, cluster.ha, self.make, self.fatal.append)

    async def make(
        self, session_id: str, job: JobGraph, on_terminated: Callable[[ArchivedExecutionGraph], object]
    ) -> JobMaster:
        await self.may_create.wait()
        if self.create_error is not None:
            raise self.create_error
        self.masters.append(await self._make(session_id, job, on_terminated))
        return self.masters[-1]

    @property
    def status(self) -> JobStatus:
        return self.unstarted_job().details.status


@pytest.fixture
async def runner(cluster: Cluster) -> AsyncIterator[Runner]:
    runner = Runner(cluster)
    yield runner
    await runner.close()


async def started(runner: Runner) -> JobMaster:
    await runner.start()
    await settle()
    return runner.masters[-1]


def leader_of(runner: Runner) -> tuple[str | None, str | None]:
    """Return the published leader of the job."""
    return runner.cluster.ha.components[runner.job_id].published


async def test_leadership_granted_early_starts_the_job_master_after_its_creation(runner: Runner) -> None:  # E02
    runner.may_create.clear()
    await runner.start()
    await settle()
    assert (await runner.gateway(), leader_of(runner)) == (None, (None, None))
    runner.may_create.set()
    await settle()
    gateway = await runner.gateway()
    assert gateway is not None
    assert await gateway.request_job_status() is JobStatus.RUNNING
    assert leader_of(runner)[0] == runner.masters[0].address


async def test_a_job_master_that_cannot_be_made_is_the_jobs_result(runner: Runner) -> None:  # E02 E09
    runner.create_error = ValueError("bad")
    await runner.start()
    await settle()
    job = await runner.result
    assert job.details.status is JobStatus.FAILED
    assert str(job.details.failure) == "ValueError: bad"
    assert runner.fatal == []


async def test_a_memory_error_is_fatal_for_the_process(runner: Runner) -> None:  # E09
    runner.create_error = MemoryError()  # type: ignore[assignment]
    await runner.start()
    await settle()
    assert [type(error) for error in runner.fatal] == [MemoryError]
    assert not runner.result.done()


async def test_a_grant_after_the_end_is_ignored(runner: Runner, cluster: Cluster) -> None:  # E04
    await started(runner)
    await runner.close()
    runner._runner.grant_leadership("another session")
    await settle()
    assert len(runner.masters) == 1
    assert leader_of(runner) == (None, None)


async def test_a_closed_runner_releases_everything_once(runner: Runner, cluster: Cluster) -> None:  # E07
    master = await started(runner)
    closing = runner.close()
    assert runner.close() is closing
    await closing
    assert not master.is_running
    assert await runner.gateway() is None
    assert cluster.ha.components[runner.job_id].contenders == []
    with pytest.raises(JobNotFinishedError, match="was not finished by this JobManager"):
        await runner.result
    assert runner.close() is closing


async def test_a_job_is_registered_before_its_master_starts_and_published_after(
    runner: Runner, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # E05
    seen: list[object] = []
    start = JobMaster.start

    async def recording(master: JobMaster) -> None:
        status = await cluster.ha.stores(None).running_jobs.get_job_scheduling_status(runner.job_id)
        seen.append((status, master.fencing_token == cluster.ha.components[runner.job_id].session_id))
        await start(master)
        seen.append(leader_of(runner))

    monkeypatch.setattr(JobMaster, "start", recording)
    master = await started(runner)
    assert seen == [(JobSchedulingStatus.RUNNING, True), (None, None)]
    assert leader_of(runner) == (master.address, master.fencing_token)


async def test_a_second_grant_suspends_the_first_master_and_restarts_the_job(
    runner: Runner, cluster: Cluster
) -> None:  # E11
    first = await started(runner)
    component = cluster.ha.components[runner.job_id]
    component.session_id = "second"
    component.live_sessions.add("second")
    runner._runner.grant_leadership("second")
    await settle()
    second = runner.masters[1]
    assert (first.is_running, second.is_running) == (False, True)
    assert first.graph.status is JobStatus.SUSPENDED
    assert second.graph is not first.graph
    assert second.fencing_token == "second"
    gateway = await runner.gateway()
    assert gateway is not None
    assert await gateway.request_job_status() is JobStatus.RUNNING


async def test_the_status_before_initialization_is_initializing_or_cancelling(runner: Runner) -> None:  # E18
    runner.may_create.clear()
    await runner.start()
    await settle()
    assert runner.status is JobStatus.INITIALIZING
    await runner.cancel()
    assert runner.status is JobStatus.CANCELLING
    runner.may_create.set()
    await settle()
    assert (await runner.result).details.status is JobStatus.CANCELED


async def test_a_revocation_forgets_a_cancellation_that_had_not_begun(
    runner: Runner, cluster: Cluster
) -> None:  # E20 E06
    runner.may_create.clear()
    await runner.start()
    await settle()
    await runner.cancel()
    cluster.ha.revoke_leadership(runner.job_id)
    await settle()
    assert runner.status is JobStatus.INITIALIZING
    assert await runner.gateway() is None
    runner.may_create.set()
    await settle()
    assert not runner.masters[0].is_running
    assert cluster.data_plane.queries == []
    cluster.ha.grant_leadership(runner.job_id)
    await settle()
    gateway = await runner.gateway()
    assert gateway is not None
    assert gateway.address == runner.masters[-1].address  # type: ignore[attr-defined]
    assert await gateway.request_job_status() is JobStatus.RUNNING
