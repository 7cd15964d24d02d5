"""The data that a JobManager keeps of completed jobs, which must not grow with their number."""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.dispatcher_gateway import DuplicateJobSubmissionError
from firesteel.runtime.dispatcher.execution_graph_store import ExecutionGraphStore
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from tests.runtime.helpers import an_id, job_graph, settle
from tests.runtime.simulated import Cluster

pytestmark = pytest.mark.slow

DAY_S = 86_400
PRODUCER = ("a", 2, [])
CONSUMER = ("b", 2, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")])


async def run_one(cluster: Cluster, name: str, pause_s: float) -> None:
    await cluster.gateway.submit_job(job_graph(PRODUCER, CONSUMER, name=name))
    await settle(80)
    cluster.query.listener.query_finished()
    await settle(40)
    cluster.clock.advance(pause_s)
    await settle(20)


def forget_what_the_test_recorded(cluster: Cluster) -> None:
    runner = cluster.runners["tm"]
    for recorded in (
        runner.deployed,
        runner.cancelled,
        cluster.data_plane.queries,
        cluster.data_plane.terminated,
        cluster.listener.events,
    ):
        recorded.clear()


def objects() -> Counter[str]:
    gc.collect()
    return Counter(type(one).__qualname__ for one in gc.get_objects())


async def test_memory_does_not_grow_over_a_day_of_jobs(clock: ManualClock) -> None:
    cluster = Cluster(clock, ha=EmbeddedHaServices(keeps_jobs=False, delete_on_commit=True))
    await cluster.start(tm=2)
    jobs = 192
    seen = []
    objects()  # To count leaves something in the caches of abstract classes, the first time.
    for number in range(jobs):
        await run_one(cluster, f"job-{number}", DAY_S / jobs)
        if number in (jobs // 2 - 1, jobs - 1):
            forget_what_the_test_recorded(cluster)
            seen.append(objects())
    kept = len(await cluster.gateway.list_jobs())
    await cluster.stop()
    assert kept == 3600 * jobs // DAY_S - 1
    grown = {kind: count for kind, count in (seen[1] - seen[0]).items() if count > jobs // 20}
    assert grown == {}


async def test_a_stopped_endpoint_is_not_held_by_its_timers(clock: ManualClock) -> None:
    cluster = Cluster(clock)
    await cluster.start(tm=2)
    before = objects()["JobMaster"]
    for number in range(5):
        await run_one(cluster, f"job-{number}", 0)
    forget_what_the_test_recorded(cluster)
    assert objects()["JobMaster"] == before
    await cluster.stop()


async def test_a_job_may_be_submitted_again_once_its_result_is_forgotten(clock: ManualClock) -> None:
    cluster = Cluster(clock, ha=EmbeddedHaServices(keeps_jobs=False, delete_on_commit=True))
    await cluster.start(tm=2)
    await run_one(cluster, "job", 0)
    with pytest.raises(DuplicateJobSubmissionError, match="has run already"):
        await cluster.gateway.submit_job(job_graph(PRODUCER, CONSUMER))
    await cluster.advance(3601)
    await run_one(cluster, "job", 0)
    assert await cluster.gateway.request_job_status(an_id("job")) is JobStatus.FINISHED
    await cluster.stop()


def over(name: str) -> ArchivedExecutionGraph:
    return archive_unstarted(job_graph(PRODUCER, name=name), JobStatus.CANCELED, 1, 2)


def below(directory: Path, pattern: str = "*/*") -> list[str]:
    return [path.name for path in directory.glob(pattern)]


@pytest.mark.parametrize("capacity", ["jobstore.max-capacity", "web.history"])
async def test_jobs_beyond_the_cache_are_in_files_and_the_files_go_with_them(
    clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capacity: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = ExecutionGraphStore(clock, {"jobstore.cache-size": "0 b", capacity: "3"})
    for number in range(5):
        await store.put(over(f"job-{number}"))
    files = below(tmp_path)
    assert sorted(files) == sorted(store.job_ids())
    assert len(files) == 3
    assert await store.get(an_id("job-4")) == over("job-4")
    overview = store.overview(an_id("job-4"))
    assert overview is not None
    assert (overview.status, overview.vertices) == (JobStatus.CANCELED, ())
    assert await store.get(an_id("job-0")) is None
    clock.advance(3601)
    assert store.job_ids() == ()
    assert below(tmp_path) == []
    store.close()
    assert below(tmp_path, "*") == []


async def test_small_data_creates_no_files(clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = ExecutionGraphStore(clock, {"jobstore.cache-size": "0 b", "jobstore.type": "Memory"})
    await store.put(over("job"))
    assert await store.get(an_id("job")) == over("job")
    assert below(tmp_path, "*") == []


def test_another_type_of_store_is_refused(clock: ManualClock) -> None:
    with pytest.raises(InvalidOptionError, match="'Redis' is unknown; allowed: File, Memory"):
        ExecutionGraphStore(clock, {"jobstore.type": "Redis"})
