"""Dispatcher (scenarios A) and JobManagerRunner (scenarios C, E)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher import Dispatcher
from firesteel.runtime.dispatcher.dispatcher_gateway import (
    DuplicateJobSubmissionError,
    JobNotFoundError,
    JobSubmissionError,
)
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, StaleLeaderError
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.memory_storage import MemoryStorage
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry
from firesteel.runtime.highavailability.storage import DIRTY_RESULTS, JOBS
from firesteel.runtime.jobmaster.job_manager_runner import JobManagerRunner, JobNotFinishedError
from firesteel.runtime.jobmaster.job_master import JobMaster
from firesteel.runtime.jobmaster.job_master_gateway import CheckpointError, SavepointError
from firesteel.runtime.rpc import EndpointStoppedError
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.simulated import Cluster


async def disk_error(*_: object, **__: object) -> Any:
    raise OSError("disk")


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


async def test_an_unreadable_result_store_refuses_the_job(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A06
    monkeypatch.setattr(JobResultStore, "has_job_result", disk_error)
    with pytest.raises(JobSubmissionError, match=r"could not determine whether job .* has already run: disk"):
        await cluster.gateway.submit_job(one_vertex())
    assert await cluster.ha.job_graph_store.job_ids() == ()


async def test_a_job_is_stored_before_it_runs_and_acknowledged_before_it_is_over(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A07
    order: list[str] = []
    start = JobManagerRunner.start

    async def recording_start(runner: JobManagerRunner) -> None:
        order.append(f"start, stored: {await cluster.ha.job_graph_store.job_ids() == (runner.job_id,)}")
        await start(runner)

    async def recording_submitted(job_graph: JobGraph) -> None:
        order.append(f"submitted, stored: {await cluster.ha.job_graph_store.job_ids() != ()}")

    monkeypatch.setattr(JobManagerRunner, "start", recording_start)
    monkeypatch.setattr(cluster.data_plane, "submitted", recording_submitted)
    await cluster.gateway.submit_job(one_vertex())
    order.append("acknowledged")
    await settle()
    await cluster.finish_query()
    assert order == ["submitted, stored: False", "start, stored: True", "acknowledged"]
    assert await cluster.gateway.request_job_status(an_id("job")) is JobStatus.FINISHED


async def test_a_job_that_cannot_be_stored_is_refused_and_may_be_submitted_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A08
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStorage, "write", disk_error)
        with pytest.raises(JobSubmissionError, match=r"failed to submit job .*: disk"):
            await cluster.gateway.submit_job(one_vertex())
    assert await cluster.gateway.list_jobs() == ()
    await cluster.submit(one_vertex())
    assert len(cluster.data_plane.queries) == 1


async def test_a_job_whose_storage_cannot_be_written_to_is_refused_and_not_stored(cluster: Cluster) -> None:
    cluster.data_plane.submit_error = OSError("no such bucket")
    with pytest.raises(JobSubmissionError, match=r"failed to submit job .*: no such bucket"):
        await cluster.gateway.submit_job(one_vertex())
    assert await cluster.ha.job_graph_store.job_ids() == ()
    assert cluster.data_plane.queries == []


async def test_a_job_whose_runner_cannot_start_leaves_no_trace(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A09
    with monkeypatch.context() as patch:
        patch.setattr(JobManagerRunner, "start", disk_error)
        with pytest.raises(JobSubmissionError, match=r"failed to submit job .*: disk"):
            await cluster.gateway.submit_job(one_vertex())
    assert await cluster.gateway.list_jobs() == ()
    assert await cluster.ha.job_graph_store.job_ids() == ()
    job_id = await cluster.submit(one_vertex())
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING


async def test_a_failing_cleanup_does_not_hide_why_the_submission_failed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A10
    monkeypatch.setattr(MemoryStorage, "write", disk_error)
    monkeypatch.setattr(MemoryStorage, "delete", disk_error)
    with pytest.raises(JobSubmissionError, match=r"failed to submit job .*: disk") as error:
        await cluster.gateway.submit_job(one_vertex())
    assert error.value.__notes__ == ["its stored data could not be removed either: disk"]


async def test_a_job_whose_job_master_cannot_be_made_is_failed_and_archived(cluster: Cluster) -> None:  # A11
    job_id = await cluster.submit(one_vertex(**{"cluster.registration.initial-timeout": "0 ms"}))
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.FAILED
    result = await cluster.gateway.request_job_result(job_id)
    assert result.failure is not None
    assert "timeouts must be greater than 0" in result.failure.message


async def test_ended_jobs_are_archived_and_a_failure_of_that_changes_nothing(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    archived: list[str] = []

    def archivist(job: ArchivedExecutionGraph) -> None:
        archived.append(job.details.job_id)
        raise OSError("no space")

    cluster = Cluster(clock, archivist=archivist)
    await cluster.start(tm=1)
    job_id = await cluster.submit(one_vertex())
    await cluster.finish_query()
    async with asyncio.timeout(10):
        while not await cluster.ha.job_result_store.has_job_result(job_id) or not archived:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await settle()
    assert archived == [job_id]
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.FINISHED
    assert f"job {job_id} could not be archived: no space" in caplog.text
    assert cluster.fatal_errors == []
    await cluster.stop()


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


async def test_a_job_cannot_be_both_recovered_and_finished(cluster: Cluster) -> None:  # A19
    with pytest.raises(ValueError, match="both to be recovered and terminated"):
        Dispatcher(
            cluster.rpc,
            "session",
            cluster.ha,
            cluster.ha.stores("session"),
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


async def test_a_failing_cleanup_is_retried_and_never_runs_the_job_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A24
    delete, failures = MemoryStorage.delete, [OSError("disk")] * 5

    async def flaky(storage: MemoryStorage, folder: str, name: str) -> None:
        if folder == JOBS and failures:
            raise failures.pop()
        await delete(storage, folder, name)

    monkeypatch.setattr(MemoryStorage, "delete", flaky)
    job_id = await cluster.submit(one_vertex())
    await cluster.finish_query()
    for delay_s in (1, 2, 4, 8, 16):
        assert [result.job_id for result in await cluster.ha.job_result_store.dirty_results()] == [job_id]
        await cluster.advance(delay_s)
    assert await cluster.ha.job_result_store.dirty_results() == ()
    assert await cluster.ha.job_result_store.has_job_result(job_id)
    assert len(cluster.data_plane.queries) == 1


async def test_a_stopped_dispatcher_leaves_its_jobs_to_the_next(cluster: Cluster) -> None:  # A22
    job_id = await cluster.submit(one_vertex())
    await cluster.dispatcher.close()
    assert await cluster.ha.job_graph_store.job_ids() == (job_id,)
    assert cluster.query.is_stopped
    assert cluster.listener.events[-1].status is JobStatus.SUSPENDED


async def test_a_job_that_an_older_leader_registered_as_done_is_not_started(cluster: Cluster) -> None:  # A13 C03
    await cluster.ha.stores(None).running_jobs.set_job_finished(an_id("job"))
    await cluster.submit(one_vertex())
    assert cluster.data_plane.queries == []
    assert await cluster.gateway.list_jobs() == ()
    assert await cluster.ha.job_graph_store.job_ids() == (an_id("job"),)


async def test_a_job_with_a_result_by_another_leader_has_failed_as_already_done(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # C04
    has_job_result, answers = JobResultStore.has_job_result, [False]

    async def ended_meanwhile(store: JobResultStore, job_id: str) -> bool:
        return answers.pop() if answers else await has_job_result(store, job_id)

    await cluster.ha.job_result_store.create_dirty_result(JobResult(an_id("job"), JobStatus.FINISHED, 0))
    monkeypatch.setattr(JobResultStore, "has_job_result", ended_meanwhile)
    job_id = await cluster.submit(one_vertex())
    result = await cluster.gateway.request_job_result(job_id)
    assert result.status is JobStatus.FAILED
    assert "was already ended by another leader" in str(result.failure)
    assert cluster.data_plane.queries == []
    assert await cluster.ha.job_graph_store.job_ids() == ()
    assert cluster.fatal_errors == []


async def test_a_job_that_cannot_be_registered_as_running_is_fatal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A14 C05
    monkeypatch.setattr(RunningJobsRegistry, "set_job_running", disk_error)
    job_id = await cluster.submit(one_vertex())
    assert [str(error) for error in cluster.fatal_errors] == [f"could not initialize job {job_id}: disk"]
    assert cluster.data_plane.queries == []
    assert await cluster.ha.job_graph_store.job_ids() == (job_id,)


async def test_a_job_ends_even_if_its_end_cannot_be_registered(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # C02
    monkeypatch.setattr(RunningJobsRegistry, "set_job_finished", disk_error)
    job_id = await cluster.submit(one_vertex())
    await cluster.finish_query()
    assert (await cluster.gateway.request_job_result(job_id)).status is JobStatus.FINISHED


async def test_the_result_is_stored_before_it_is_announced(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # E08
    set_job_finished, known = RunningJobsRegistry.set_job_finished, []
    job_id = await cluster.submit(one_vertex())
    waiting = asyncio.ensure_future(cluster.gateway.request_job_result(job_id))

    async def recording(registry: RunningJobsRegistry, of: str) -> None:
        await settle(20)
        known.append((waiting.done(), await cluster.ha.job_result_store.has_job_result(of)))
        await set_job_finished(registry, of)

    monkeypatch.setattr(RunningJobsRegistry, "set_job_finished", recording)
    await cluster.finish_query()
    assert known == [(False, True)]
    assert (await waiting).status is JobStatus.FINISHED


async def test_a_late_end_of_a_former_runner_does_not_touch_the_new_one(cluster: Cluster) -> None:  # A15
    job_id = await cluster.submit(one_vertex())
    dispatcher: Any = cluster.dispatcher._process
    former = dispatcher._runners[job_id]
    current = JobManagerRunner(one_vertex(), cluster.rpc, cluster.ha, dispatcher._create_job_master)
    dispatcher._runners[job_id] = current
    former.result.set_exception(JobNotFinishedError(job_id))
    await settle()
    assert dispatcher._runners == {job_id: current}
    assert await cluster.ha.job_graph_store.job_ids() == (job_id,)
    assert cluster.fatal_errors == []
    await former.close()


async def test_a_job_whose_master_does_not_answer_is_looked_up_in_the_archive(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:  # A18
    job_id = await cluster.submit(one_vertex())

    async def stopped(master: JobMaster) -> JobStatus:
        raise EndpointStoppedError(master.address, "request_job_status")

    async def ends_meanwhile(master: JobMaster) -> JobStatus:
        await cluster.finish_query()
        return await stopped(master)

    monkeypatch.setattr(JobMaster, "request_job_status", stopped)
    with pytest.raises(EndpointStoppedError):
        await cluster.gateway.request_job_status(job_id)
    monkeypatch.setattr(JobMaster, "request_job_status", ends_meanwhile)
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.FINISHED


async def test_jobs_added_by_another_dispatcher_are_run_and_removed_ones_released(cluster: Cluster) -> None:  # A23
    await cluster.ha.job_graph_store.put(one_vertex())
    await settle()
    assert await cluster.gateway.request_job_status(an_id("job")) is JobStatus.RUNNING
    await cluster.ha.job_graph_store.remove(an_id("job"))
    await settle()
    assert await cluster.gateway.list_jobs() == ()
    assert cluster.query.is_stopped
    assert await cluster.ha.job_graph_store.recover(an_id("job")) is None
    assert cluster.fatal_errors == []


async def test_a_job_reported_by_the_store_after_its_submission_is_run_once(cluster: Cluster) -> None:  # A23
    await cluster.submit(one_vertex())
    dispatcher: Any = cluster.dispatcher._process
    dispatcher.on_added_job_graph(an_id("job"))
    await settle()
    assert len(cluster.data_plane.queries) == 1
    assert cluster.fatal_errors == []


async def test_a_dispatcher_that_lost_its_session_writes_nothing(cluster: Cluster) -> None:  # D12
    dispatcher: Any = cluster.dispatcher._process
    cluster.ha.revoke_leadership(DISPATCHER)
    # Not a rejection of the job, which the next leader takes.
    with pytest.raises(StaleLeaderError, match=r"leader session '.*' has ended"):
        await dispatcher.submit_job(one_vertex())
    assert await cluster.ha.job_graph_store.job_ids() == ()
    await settle()


async def test_no_savepoint_of_a_job_that_does_not_run(cluster: Cluster) -> None:  # A25
    for call in (cluster.gateway.trigger_savepoint, cluster.gateway.stop_with_savepoint):
        with pytest.raises(JobNotFoundError):
            await call("nothing")


async def test_a_failed_savepoint_does_not_affect_the_job(cluster: Cluster) -> None:
    job_id = await cluster.submit(one_vertex())
    with pytest.raises(SavepointError, match=r"the savepoint of job .* in '/tmp' could not be taken: /tmp is full"):
        await cluster.gateway.stop_with_savepoint(job_id, "/tmp")
    with pytest.raises(SavepointError, match="no directory is given"):
        await cluster.gateway.trigger_savepoint(job_id)
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING


async def test_checkpoints_are_taken_only_of_running_streaming_jobs(cluster: Cluster) -> None:
    job_id = await cluster.submit(one_vertex())
    assert [await cluster.gateway.trigger_checkpoint(job_id) for _ in range(2)] == [1, 2]
    assert (await cluster.gateway.request_job_details(job_id)).checkpoints.completed == 2
    batch = await cluster.submit(job_graph(("a", 1, []), job_type="BATCH", name="batch"))
    with pytest.raises(CheckpointError, match="it is not a streaming job, and has no checkpoints"):
        await cluster.gateway.trigger_checkpoint(batch)
    with pytest.raises(JobNotFoundError):
        await cluster.gateway.trigger_checkpoint("nothing")


async def test_a_job_whose_state_can_not_be_restored_fails(cluster: Cluster) -> None:
    cluster.data_plane.restore_error = FiresteelError("the state of operator 'a' does not fit")
    job_id = await cluster.submit(one_vertex())
    result = await cluster.gateway.request_job_result(job_id)
    assert result.status is JobStatus.FAILED
    assert "the state of operator 'a' does not fit" in str(result.failure)
    assert cluster.data_plane.queries == []


async def test_the_data_plane_is_notified_of_the_end_of_a_job(cluster: Cluster) -> None:
    job_id = await cluster.submit(one_vertex())
    await cluster.finish_query()
    assert cluster.data_plane.terminated == [(job_id, JobStatus.FINISHED)]


async def test_failed_removals_of_the_data_plane_are_retried(cluster: Cluster) -> None:
    cluster.data_plane.forget_errors = [OSError("disk")] * 3
    job_id = await cluster.submit(one_vertex())
    await cluster.finish_query()
    assert (await cluster.gateway.request_job_result(job_id)).status is JobStatus.FINISHED
    for delay_s in (1, 2):
        assert [result.job_id for result in await cluster.ha.job_result_store.dirty_results()] == [job_id]
        await cluster.advance(delay_s)
    assert cluster.data_plane.terminated == [(job_id, JobStatus.FINISHED)]
    assert await cluster.ha.job_result_store.dirty_results() == ()
    assert cluster.fatal_errors == []


async def test_the_next_leader_removes_the_data_of_a_completed_job(clock: ManualClock) -> None:
    cluster = Cluster(clock, {"execution.checkpointing.dir": "file:///checkpoints"})
    job = one_vertex()
    cluster.ha.job_graph_store.start()
    await cluster.ha.job_graph_store.put(job)
    await cluster.ha.job_result_store.create_dirty_result(JobResult(job.job_id, JobStatus.FINISHED, 0))
    await cluster.start(tm=1)
    assert cluster.data_plane.terminated == [(job.job_id, JobStatus.FINISHED)]
    assert await cluster.ha.job_graph_store.job_ids() == ()
    await cluster.stop()


async def test_a_result_that_a_full_disk_refuses_is_written_later(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await cluster.submit(one_vertex())
    waiting = asyncio.ensure_future(cluster.gateway.request_job_result(job_id))
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStorage, "write", disk_error)
        await cluster.finish_query()
        for delay_s in (1, 2, 4):
            await cluster.advance(delay_s)
            assert not waiting.done()
    await cluster.advance(8)
    assert (await waiting).status is JobStatus.FINISHED
    assert await cluster.ha.job_result_store.has_job_result(job_id)
    assert cluster.fatal_errors == []


async def test_a_job_whose_result_cannot_be_written_is_left_to_the_next_leader(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await cluster.submit(one_vertex())
    monkeypatch.setattr(MemoryStorage, "write", disk_error)
    await cluster.finish_query()
    await cluster.dispatcher.close()
    assert await cluster.ha.job_graph_store.job_ids() == (job_id,)
    assert cluster.data_plane.terminated == []


async def test_a_damaged_entry_does_not_prevent_recovery_of_other_jobs(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(clock)
    store = cluster.ha.job_graph_store
    store.start()
    for name in ("good", "bad", "over"):
        await store.put(one_vertex(name))
    await cluster.ha.job_result_store.create_dirty_result(JobResult(an_id("over"), JobStatus.FINISHED, 0))
    read = MemoryStorage.read

    async def damaged(storage: MemoryStorage, folder: str, name: str) -> Any:
        if name == an_id("bad") or (name == an_id("over") and folder == DIRTY_RESULTS):
            raise CorruptEntryError(folder, name, "its bytes don't match their checksum")
        return await read(storage, folder, name)

    monkeypatch.setattr(MemoryStorage, "read", damaged)
    await cluster.start(tm=1)
    assert await cluster.gateway.list_jobs() == (an_id("good"),)
    assert cluster.fatal_errors == []
    assert set(await cluster.ha.job_graph_store.job_ids()) == {an_id("good"), an_id("bad"), an_id("over")}
    await cluster.stop()


async def test_the_archive_keeps_the_configured_number_of_jobs_until_they_expire(clock: ManualClock) -> None:
    cluster = Cluster(clock, {"jobstore.max-capacity": "2", "jobstore.expiration-time": "10 min"})
    await cluster.start(tm=1)
    for name in ("one", "two", "three"):
        await cluster.submit(one_vertex(name))
        await cluster.finish_query()
    assert await cluster.gateway.list_jobs() == (an_id("two"), an_id("three"))
    await cluster.advance(600)
    assert await cluster.gateway.list_jobs() == ()
    await cluster.stop()


async def test_a_revoked_job_master_is_suspended_and_the_next_restarts_the_job(cluster: Cluster) -> None:  # E06 O08
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
