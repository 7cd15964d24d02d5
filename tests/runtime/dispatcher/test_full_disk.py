"""A full disk fails no job: writes are retried and the problem is shown."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Any

import pytest

from firesteel.graph.job_graph import JobGraph
from firesteel.rest.job_messages import job_exceptions
from firesteel.runtime.clock import ManualClock, SystemClock
from firesteel.runtime.dispatcher.dispatcher_gateway import JobInitializingError, JobSubmissionError
from firesteel.runtime.dispatcher.execution_graph_store import ExecutionGraphStore
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.job_graph_store import SharedJobGraphStore
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.memory_storage import MemoryStorage
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry
from firesteel.task.state_file import StateFileError
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.highavailability.kinds import CODEC
from tests.runtime.simulated import Cluster

JOB = an_id("job")


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def full_for_state() -> StateFileError:
    error = StateFileError(Path("/checkpoints/restored"), "can't be written: No space left on device")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    return error


async def async_full(*_: Any) -> None:
    full()


def a_job() -> JobGraph:
    return job_graph(("a", 1, []))


def shown(job: ArchivedExecutionGraph) -> list[str]:
    """Return the response of /jobs/:jobid/exceptions."""
    return [entry["stacktrace"] for entry in job_exceptions(job, 20, 16)["exceptionHistory"]["entries"]]


@pytest.mark.parametrize("refusal", [OSError(errno.ENOSPC, "No space left on device"), full_for_state()])
async def test_a_job_is_initialized_once_there_is_disk_space_again(cluster: Cluster, refusal: Exception) -> None:
    cluster.data_plane.restore_error = refusal
    await cluster.submit(a_job())
    for delay_s in (1, 2, 4):
        assert await cluster.gateway.request_job_status(JOB) is JobStatus.INITIALIZING
        for request in (cluster.gateway.request_resource_requirements, cluster.gateway.trigger_checkpoint):
            with pytest.raises(JobInitializingError, match=f"job {JOB} is INITIALIZING"):
                await request(JOB)
        await cluster.advance(delay_s)
    (text,) = shown(await cluster.gateway.request_job(JOB))
    assert f"job {JOB} could not be initialized; it is retried until it succeeds: " in text
    assert "No space left on device" in text
    cluster.data_plane.restore_error = None
    await cluster.advance(8)
    assert await cluster.gateway.request_job_status(JOB) is JobStatus.RUNNING
    await cluster.finish_query()
    assert (await cluster.gateway.request_job_result(JOB)).status is JobStatus.FINISHED
    assert len(shown(await cluster.gateway.request_job(JOB))) == 1
    assert cluster.fatal_errors == []


async def test_the_registry_of_running_jobs_may_refuse_too(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RunningJobsRegistry, "set_job_running", async_full)
        await cluster.submit(a_job())
        assert await cluster.gateway.request_job_status(JOB) is JobStatus.INITIALIZING
    await cluster.advance(1)
    assert await cluster.gateway.request_job_status(JOB) is JobStatus.RUNNING
    assert cluster.fatal_errors == []


async def test_a_job_that_waits_for_disk_space_is_cancelled_at_once(cluster: Cluster) -> None:
    cluster.data_plane.restore_error = full_for_state()
    await cluster.submit(a_job())
    await cluster.gateway.cancel_job(JOB)
    assert (await cluster.gateway.request_job_result(JOB)).status is JobStatus.CANCELED
    assert cluster.data_plane.queries == []


async def test_a_dispatcher_stops_while_a_job_waits_for_disk_space(cluster: Cluster) -> None:
    cluster.data_plane.restore_error = full_for_state()
    await cluster.submit(a_job())
    await cluster.dispatcher.close()
    assert await cluster.ha.job_graph_store.job_ids() == (JOB,)


async def test_a_job_that_waits_for_disk_space_continues_in_a_later_session(cluster: Cluster) -> None:
    cluster.data_plane.restore_error = full_for_state()
    await cluster.submit(a_job())
    cluster.ha.revoke_leadership(JOB)
    await settle()
    cluster.data_plane.restore_error = None
    cluster.ha.grant_leadership(JOB)
    await settle()
    assert await cluster.gateway.request_job_status(JOB) is JobStatus.RUNNING


async def test_another_error_fails_the_job(cluster: Cluster) -> None:
    cluster.data_plane.restore_error = OSError(errno.EIO, "Input/output error")
    await cluster.submit(a_job())
    result = await cluster.gateway.request_job_result(JOB)
    assert result.status is JobStatus.FAILED
    assert "Input/output error" in str(result.failure)


async def test_a_result_that_could_not_be_written_is_shown(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    await cluster.submit(a_job())
    with monkeypatch.context() as patch:
        patch.setattr(JobResultStore, "create_dirty_result", async_full)
        await cluster.finish_query()
        (text,) = shown(await cluster.gateway.request_job(JOB))
        assert f"the result of job {JOB} (FINISHED) could not be written; it is retried" in text
    await cluster.advance(1)
    assert (await cluster.gateway.request_job_result(JOB)).status is JobStatus.FINISHED


async def test_a_submission_that_can_not_be_kept_is_refused_and_leaves_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStorage, "write", async_full)
        with pytest.raises(JobSubmissionError, match=r"No space left on device; nothing was stored: free disk space"):
            await cluster.gateway.submit_job(a_job())
    assert await cluster.gateway.list_jobs() == ()
    assert await cluster.ha.job_graph_store.job_ids() == ()
    await cluster.submit(a_job())
    assert await cluster.gateway.request_job_status(JOB) is JobStatus.RUNNING


async def test_a_refused_submission_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ha = FileSystemHaServices(tmp_path / "cluster", CODEC, interval_s=0.01)
    cluster = Cluster(SystemClock(), ha=ha)  # type: ignore[arg-type]
    await cluster.dispatcher.start()
    gateway = await cluster.dispatcher_gateway()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(JobSubmissionError, match="nothing was stored"):
            await gateway.submit_job(a_job())
    assert kept(tmp_path) == []
    assert await gateway.list_jobs() == ()
    await cluster.dispatcher.close()
    await ha.close()


def kept(directory: Path) -> list[str]:
    """The files of jobs, and those that were begun."""
    return [str(path) for folder in ("jobs", "temporary") for path in directory.rglob(f"{folder}/*")]


async def test_a_job_of_another_dispatcher_is_not_lost(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the store already, so nothing is written to take it up, and nothing removed if that fails."""

    await cluster.ha.job_graph_store.put(a_job())
    monkeypatch.setattr(SharedJobGraphStore, "put", async_full)
    await settle()
    assert await cluster.gateway.request_job_status(JOB) is JobStatus.RUNNING
    assert await cluster.ha.job_graph_store.job_ids() == (JOB,)


async def test_a_finished_job_stays_in_memory_while_the_disk_is_full(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = ExecutionGraphStore(clock, {"jobstore.cache-size": "0 b"})
    over = [archive_unstarted(job_graph(("a", 1, []), name=name), JobStatus.CANCELED, 0, 0) for name in ("one", "two")]
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(Path, "write_bytes", full)
        await store.put(over[0])
    assert "stays in memory, its file could not be written: [Errno 28] No space left" in caplog.text
    assert await store.get(an_id("one")) == over[0]
    await store.put(over[1])
    assert store._cached_bytes == 0
    assert [await store.get(an_id(name)) for name in ("one", "two")] == over
    store.close()
