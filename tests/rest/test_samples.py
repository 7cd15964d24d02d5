"""Samples of jobs over time."""

from __future__ import annotations

import pytest

from firesteel.rest import samples
from firesteel.rest.samples import Sample, Samples
from firesteel.runtime.executiongraph.batch_times import PARTS, BatchTimes
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import an_id, job_graph, settle


async def test_samples_are_taken_of_running_jobs_and_kept_after_their_end(rest: Rest) -> None:
    inputs = [("source", "ALL_TO_ALL", "PIPELINED_BOUNDED")]
    job = job_graph(("source", 1, []), ("count", 1, inputs), name="job")
    await rest.cluster.submit(job)
    times = iter(range(1000, 9000, 5000))
    taken = Samples(rest.view.dispatcher, lambda: next(times))
    for records in (10, 30):
        metrics = {"Source__s.pendingRecords": 100 - records, "Source__s.shareRead": records / 100}
        progress = [SubtaskProgress(an_id("source"), 0, 0, records, False, metrics)]
        rest.cluster.query.listener.subtasks_progressed(progress)
        rest.cluster.query.listener.batch_ended(BatchTimes(1, {"read": 0.25, "commit": 0.5}))
        await settle()
        await taken.take()
    assert [(one.time_ms, one.read, one.restarts) for one in taken.of(job.job_id)] == [(1000, 10, 0), (6000, 30, 0)]
    assert [(one.pending_records, one.pending_bytes) for one in taken.of(job.job_id)] == [(90, None), (70, None)]
    assert [one.batches.batches for one in taken.of(job.job_id)] == [1, 2]
    await rest.view.samples.take()
    found = await rest.get(f"/firesteel/jobs/{job.job_id}/history")
    assert (found["pending-records"], found["batches"]) == ([70], [2])
    assert (found["batch-read-time"], found["batch-plan-time"]) == ([500], [0])
    rest.forget()
    (behind,) = await rest.get(
        f"/jobs/{job.job_id}/vertices/{an_id('source')}/subtasks/metrics?get=Source__s.pendingRecords&agg=sum"
    )
    assert behind["sum"] == 70
    (commit,) = await rest.get(f"/jobs/{job.job_id}/metrics?get=accumulateBatchCommitTimeMs")
    assert commit["value"] == "1000.0"
    assert taken.of(job.job_id)[0].memory > 1_000_000
    await rest.cluster.finish_query()
    await taken.take()
    assert len(taken.of(job.job_id)) == 2
    assert taken.of("0" * 32) == []


@pytest.mark.parametrize("unknown", [None, 0, 7 << 40])
def test_samples_are_kept_as_they_were(unknown: int | None) -> None:
    times = BatchTimes(3, {part: 0.1 * place for place, part in enumerate(PARTS)})
    sample = Sample(1_764_000_000_123, 10**12, 1, 2, unknown, 1 << 40, unknown, unknown, times)
    assert samples._unpacked(samples._packed(sample)) == sample


async def test_an_hour_of_the_last_jobs_is_kept(rest: Rest, monkeypatch) -> None:
    monkeypatch.setattr(samples, "_KEPT", 3)
    job = job_graph(("source", 1, []), name="job")
    await rest.cluster.submit(job)
    times = iter(range(100))
    taken = Samples(rest.view.dispatcher, lambda: next(times))
    for _ in range(5):
        await taken.take()
    assert [one.time_ms for one in taken.of(job.job_id)] == [2, 3, 4]
    found = await rest.get(f"/firesteel/jobs/{job.job_id}/history")
    assert found["interval"] == 5000
    assert found["timestamp"] == [one.time_ms for one in rest.view.samples.of(job.job_id)]
