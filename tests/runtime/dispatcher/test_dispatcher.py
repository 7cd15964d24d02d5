"""Dispatcher (scenarios A) and JobManagerRunner (scenarios C, E)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher import Dispatcher
from firesteel.runtime.dispatcher.dispatcher_gateway import (
    DuplicateJobSubmissionError,
    JobNotFoundError,
    JobSubmissionError,
)
from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.simulated import Cluster


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    cluster = Cluster(clock)
    await cluster.start(tm=2)
    yield cluster
    await cluster.stop()


def one_vertex(name: str = "job", **options: str) -> JobGraph:
    return job_graph(("a", 1, []), name=name, configuration=options)


async def test_submitting_a_finished_job_again_is_a_duplicate(cluster: Cluster) -> None:  # A01 A03 C07
    await cluster.submit(one_vertex())
    await cluster.finish_query()
    with pytest.raises(DuplicateJobSubmissionError, match="has run already") as error:
        await cluster.gateway.submit_job(one_vertex())
    assert error.value.is_globally_terminated
    assert await cluster.ha.job_graph_store.job_ids() == ()


async def test_submitting_a_running_job_again_is_a_duplicate(cluster: Cluster) -> None:  # A02
    job_id = await cluster.submit(one_vertex())
    with pytest.raises(DuplicateJobSubmissionError, match="is running or being submitted") as error:
        await cluster.gateway.submit_job(one_vertex())
    assert not error.value.is_globally_terminated
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING


async def test_two_submissions_at_once_are_one_job_and_one_duplicate(cluster: Cluster) -> None:  # A04
    first, second = cluster.gateway.submit_job(one_vertex()), cluster.gateway.submit_job(one_vertex())
    await first
    with pytest.raises(DuplicateJobSubmissionError):
        await second
    assert await cluster.gateway.list_jobs() == (an_id("job"),)


async def test_partial_resources_are_refused(cluster: Cluster) -> None:  # A05
    job = job_graph(("a", 1, []), ("b", 1, []), groups={"a": "one", "b": "two"})
    job.vertices[0].min_resources = "1 cpu"
    with pytest.raises(JobSubmissionError, match=r"partial resources: \['a'\] declare theirs, \['b'\] don't"):
        await cluster.gateway.submit_job(job)
    job.vertices[1].min_resources = "1 cpu"
    await cluster.gateway.submit_job(job)


async def test_an_unreadable_result_store_refuses_the_job(cluster: Cluster) -> None:  # A06
    async def fail(job_id: str) -> bool:
        raise OSError("disk")

    cluster.ha.job_result_store.has_job_result = fail  # type: ignore[method-assign]
    with pytest.raises(JobSubmissionError, match=r"can't tell whether job .* has run already: disk"):
        await cluster.gateway.submit_job(one_vertex())


async def test_a_job_that_cannot_be_stored_is_refused_and_may_be_submitted_again(cluster: Cluster) -> None:  # A08 A09
    put = cluster.ha.job_graph_store.put

    async def fail(job: JobGraph) -> None:
        raise OSError("disk")

    cluster.ha.job_graph_store.put = fail  # type: ignore[method-assign]
    with pytest.raises(JobSubmissionError, match=r"failed to submit job .*: disk"):
        await cluster.gateway.submit_job(one_vertex())
    assert await cluster.gateway.list_jobs() == ()
    cluster.ha.job_graph_store.put = put  # type: ignore[method-assign]
    await cluster.submit(one_vertex())
    assert len(cluster.data_plane.queries) == 1


async def test_a_failing_cleanup_does_not_hide_why_the_submission_failed(cluster: Cluster) -> None:  # A10
    async def fail(job: object) -> None:
        raise OSError("disk")

    cluster.ha.job_graph_store.put = fail  # type: ignore[method-assign]
    cluster.ha.job_graph_store.remove = fail  # type: ignore[method-assign]
    with pytest.raises(JobSubmissionError, match=r"failed to submit job .*: disk") as error:
        await cluster.gateway.submit_job(one_vertex())
    assert error.value.__notes__ == ["and its traces could not be removed: disk"]


async def test_a_job_whose_job_master_cannot_be_made_is_failed_and_archived(cluster: Cluster) -> None:  # A11
    job_id = await cluster.submit(one_vertex(**{"restart-strategy.type": "sometimes"}))
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.FAILED
    result = await cluster.gateway.request_job_result(job_id)
    assert result.failure is not None
    assert "InvalidOptionError: option 'restart-strategy.type'" in result.failure.message


async def test_unknown_jobs_are_not_found(cluster: Cluster) -> None:  # A16 A25
    for call in (
        cluster.gateway.cancel_job,
        cluster.gateway.request_job_status,
        cluster.gateway.request_job_result,
        cluster.gateway.request_job_details,
    ):
        with pytest.raises(JobNotFoundError, match="there is no job nothing"):
            await call("nothing")


async def test_the_overview_merges_running_and_finished_jobs(cluster: Cluster) -> None:  # A17
    await cluster.submit(one_vertex("one"))
    await cluster.finish_query()
    await cluster.submit(one_vertex("two"))
    overview = await cluster.gateway.request_overview()
    assert (overview.jobs_running, overview.jobs_finished) == (1, 1)
    assert sorted(job.name for job in overview.jobs) == ["one", "two"]


async def test_a_job_is_either_recovered_or_over(cluster: Cluster) -> None:  # A19
    with pytest.raises(ValueError, match="both to be recovered and over"):
        Dispatcher(
            cluster.rpc,
            "session",
            cluster.ha,
            cluster.data_plane,
            recovered_jobs=[one_vertex()],
            dirty_results=[JobResult(an_id("job"), JobStatus.FINISHED, 0)],
        )


async def test_dirty_results_are_cleaned_up_and_not_run_again(clock: ManualClock) -> None:  # A20
    cluster = Cluster(clock)
    await cluster.ha.job_graph_store.put(one_vertex())
    await cluster.ha.job_result_store.create_dirty_result(JobResult(an_id("job"), JobStatus.FINISHED, 0))
    await cluster.start(tm=1)
    assert await cluster.ha.job_result_store.dirty_results() == ()
    assert await cluster.ha.job_graph_store.job_ids() == ()
    assert cluster.data_plane.queries == []
    await cluster.stop()


async def test_a_failing_cleanup_is_retried_and_never_runs_the_job_again(cluster: Cluster) -> None:  # A24
    remove, failures = cluster.ha.job_graph_store.remove, [OSError("disk"), OSError("disk")]

    async def flaky(job_id: str) -> None:
        if failures:
            raise failures.pop()
        await remove(job_id)

    cluster.ha.job_graph_store.remove = flaky  # type: ignore[method-assign]
    job_id = await cluster.submit(one_vertex())
    await cluster.finish_query()
    assert [result.job_id for result in await cluster.ha.job_result_store.dirty_results()] == [job_id]
    await cluster.advance(1)
    await cluster.advance(2)
    assert await cluster.ha.job_result_store.dirty_results() == ()
    assert len(cluster.data_plane.queries) == 1


async def test_a_stopped_dispatcher_leaves_its_jobs_to_the_next(cluster: Cluster) -> None:  # A22
    job_id = await cluster.submit(one_vertex())
    await cluster.dispatcher.close()
    assert await cluster.ha.job_graph_store.job_ids() == (job_id,)
    assert cluster.query.is_stopped
    assert cluster.listener.events[-1].status is JobStatus.SUSPENDED


async def test_a_job_over_elsewhere_is_not_started(cluster: Cluster) -> None:  # A13 C03 C04
    job = one_vertex()
    has_job_result = cluster.ha.job_result_store.has_job_result
    answers = [False]  # The Dispatcher's check; by the grant another leader has ended the job.

    async def ended_meanwhile(job_id: str) -> bool:
        return answers.pop() if answers else True

    cluster.ha.job_result_store.has_job_result = ended_meanwhile  # type: ignore[method-assign]
    await cluster.submit(job)
    cluster.ha.job_result_store.has_job_result = has_job_result  # type: ignore[method-assign]
    assert cluster.data_plane.queries == []
    assert await cluster.gateway.list_jobs() == ()
    assert await cluster.ha.job_graph_store.job_ids() == (job.job_id,)


async def test_a_revoked_job_master_is_suspended_and_the_next_runs_the_job_anew(cluster: Cluster) -> None:  # E06 O08
    job_id = await cluster.submit(one_vertex())
    cluster.ha.revoke_leadership(job_id)
    await settle()
    assert cluster.query.is_stopped
    assert JobStatus.SUSPENDED in [event.status for event in cluster.listener.events]
    cluster.ha.grant_leadership(job_id)
    await settle()
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING
    await cluster.finish_query()
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.FINISHED
