"""Metrics over REST: names without `get`, values with it, aggregates over subtasks and jobs, Prometheus' text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from firesteel.common.options.ha_options import HA_STORAGE_DIR
from firesteel.common.options.security_options import REST_TOKEN_VIEW
from firesteel.rest.metric_help import OF_FUNCTIONS
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import an_id, job_graph, settle

VERTEX = an_id("a")


async def measured(rest: Rest) -> str:
    """A job whose vertex has two subtasks, one of which has no watermark yet."""
    job = job_graph(("a", 2, []), name='odd "name"')
    await rest.cluster.submit(job)
    metrics = [{"numRecordsIn": 4, "Map.seen": 1, "currentInputWatermark": 77}, {"numRecordsIn": 8, "Map.seen": 3}]
    rest.cluster.query.listener.subtasks_progressed(
        [SubtaskProgress(VERTEX, index, 1, 1, False, values) for index, values in enumerate(metrics)]
    )
    await settle()
    return job.job_id


async def test_metric_names_are_listed_without_get_and_values_with_get(rest: Rest) -> None:
    path = f"/jobs/{await measured(rest)}/vertices/{VERTEX}"
    assert {"id": "1.Map.seen"} in await rest.get(f"{path}/metrics")
    assert await rest.get(f"{path}/metrics?get=0.numRecordsIn,1.nothing") == [{"id": "0.numRecordsIn", "value": "4"}]
    assert await rest.get(f"{path}/subtasks/1/metrics?get=Map.seen") == [{"id": "Map.seen", "value": "3"}]
    assert await rest.get(f"{path}/watermarks") == [{"id": "0.currentInputWatermark", "value": "77"}]
    assert (await rest.call("GET", f"{path}/subtasks/2/metrics"))[0] == 404


async def test_subtasks_are_aggregated(rest: Rest) -> None:
    path = f"/jobs/{await measured(rest)}/vertices/{VERTEX}/subtasks/metrics"
    (found,) = await rest.get(f"{path}?get=numRecordsIn")
    assert found == {"id": "numRecordsIn", "min": 4, "max": 8, "avg": 6, "sum": 12, "skew": pytest.approx(100 / 3)}
    assert await rest.get(f"{path}?get=numRecordsIn&agg=max") == [{"id": "numRecordsIn", "max": 8}]
    status, body = await rest.call("GET", f"{path}?get=numRecordsIn&agg=median")
    assert (status, body["errors"]) == (400, ["agg contains 'median'; allowed: min, max, avg, sum, skew"])


async def test_jobs_and_the_cluster_have_metrics_too(rest: Rest) -> None:
    job_id = await measured(rest)
    assert {"id": "numRestarts"} in await rest.get("/jobs/metrics")
    assert await rest.get(f"/jobs/{job_id}/metrics?get=numRestarts") == [{"id": "numRestarts", "value": "0"}]
    assert (await rest.get(f"/jobs/metrics?get=numRestarts&agg=sum&jobs={job_id}")) == [{"id": "numRestarts", "sum": 0}]
    await asyncio.sleep(0.01)
    times = await rest.get(f"/jobs/{job_id}/metrics?get=restartingTime,runningTime,downtime")
    assert [(one["id"], int(one["value"]) > 0) for one in times] == [
        ("restartingTime", False),
        ("runningTime", True),
        ("downtime", False),
    ]
    slots = await rest.get("/jobmanager/metrics?get=taskSlotsTotal,numRunningJobs")
    assert slots == [{"id": "taskSlotsTotal", "value": "2"}, {"id": "numRunningJobs", "value": "1"}]
    assert {"id": "Status.JVM.Memory.Heap.Used"} in await rest.get("/taskmanagers/metrics")


async def test_metrics_are_served_in_prometheus_format(rest: Rest) -> None:
    job_id = await measured(rest)
    async with rest.session.get(f"{rest.server.address}/metrics") as answer:
        families = {family.name: family for family in text_string_to_metric_families(await answer.text())}

    def values(name: str) -> dict[frozenset[tuple[str, str]], float]:
        return {frozenset(sample.labels.items()): sample.value for sample in families[name].samples}

    assert values("flink_jobmanager_taskSlotsTotal") == {frozenset(): 2.0}
    labels = {"job_id": job_id, "job_name": 'odd "name"', "task_name": "a", "subtask_index": "1"}
    assert values("flink_taskmanager_job_task_numRecordsIn")[frozenset(labels.items())] == 8
    of_operator = labels | {"operator_name": "Map"}
    assert values("flink_taskmanager_job_task_operator_seen")[frozenset(of_operator.items())] == 3
    assert families["flink_taskmanager_job_task_operator_seen"].documentation == OF_FUNCTIONS
    assert families["flink_jobmanager_job_checkpoint_duration_seconds"].type == "histogram"
    assert families["flink_jobmanager_rest_latency_seconds"].type == "histogram"
    own = [name for name, family in families.items() if family.documentation == OF_FUNCTIONS]
    assert own == ["flink_taskmanager_job_task_operator_seen"], "each metric of ours says what it is"


async def test_checkpoints_are_counted_and_measured(rest: Rest) -> None:
    job = job_graph(("a", 1, []))
    await rest.cluster.submit(job)
    listener = rest.cluster.query.listener
    listener.checkpoints_progressed(2, 0)
    listener.checkpoints_progressed(1, 1)
    for duration_ms in (7, 70):
        listener.checkpoint_completed(CheckpointStats(1, False, 0, duration_ms, "", {"a": {0: 2000}}, {}))
    await settle()
    rest.forget()
    names = "totalNumberOfCheckpoints"
    names += "".join(f",numberOf{name}Checkpoints" for name in ("Completed", "Failed", "InProgress"))
    found = await rest.get(f"/jobs/{job.job_id}/metrics?get={names}")
    assert [int(one["value"]) for one in found] == [4, 2, 1, 1]
    counts = (await rest.get(f"/jobs/{job.job_id}/checkpoints"))["counts"]
    assert (counts["total"], counts["in_progress"], counts["failed"]) == (4, 1, 1)
    async with rest.session.get(f"{rest.server.address}/metrics") as answer:
        families = {family.name: family for family in text_string_to_metric_families(await answer.text())}
    buckets = {
        (sample.name.rpartition("_")[2], sample.labels.get("le")): sample.value
        for sample in families["flink_jobmanager_job_checkpoint_duration_seconds"].samples
    }
    assert (buckets["bucket", "0.01"], buckets["bucket", "0.1"], buckets["count", None]) == (1, 2, 2)


@pytest.mark.parametrize("path", ["live", "ready"])
async def test_probes_need_no_token(make_rest: Callable[..., Any], path: str) -> None:
    rest = await make_rest(**{REST_TOKEN_VIEW.key: "view" * 8})
    status, answer = await rest.call("GET", f"/health/{path}")
    assert (status, answer["status"]) == (200, path)
    assert (await rest.call("GET", "/overview"))[0] == 401


async def test_a_server_without_leader_or_storage_is_not_ready(make_rest: Callable[..., Any], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    rest = await make_rest(**{HA_STORAGE_DIR.key: str(blocked / "ha")})
    status, answer = await rest.call("GET", "/health/ready")
    assert (status, answer["status"]) == (503, "not ready")
    assert "NotADirectoryError" in answer["checks"]["storage"]
    assert answer["checks"]["leader"] == "2 slots, 2 free, 0 jobs running"
    assert (await rest.call("GET", "/health/live"))[0] == 200


async def test_bytes_and_times_are_shown_by_subtask_vertex_and_taskmanager(rest: Rest) -> None:
    job = job_graph(("a", 2, []))
    await rest.cluster.submit(job)
    path = f"/jobs/{job.job_id}"
    assert (await rest.get(path))["vertices"][0]["metrics"]["accumulated-busy-time"] == "NaN"
    await rest.cluster.advance(10)
    metrics = [{"numBytesIn": 100 * i, "numBytesOut": 7, "accumulateBusyTimeMs": 1000 * i} for i in range(2)]
    rest.cluster.query.listener.subtasks_progressed(
        [SubtaskProgress(VERTEX, index, 1, 1, False, values) for index, values in enumerate(metrics)]
    )
    await settle()
    rest.forget()
    (vertex,) = (await rest.get(path))["vertices"]
    expected = {"read-bytes": 100, "write-bytes": 14, "accumulated-busy-time": 1000, "accumulated-idle-time": 18_000}
    assert expected.items() <= vertex["metrics"].items()
    assert vertex["metrics"]["read-bytes-complete"] is True
    details = await rest.get(f"{path}/vertices/{VERTEX}")
    assert [task["metrics"]["accumulated-busy-time"] for task in details["subtasks"]] == [0, 1000]
    assert details["aggregated"]["metrics"]["accumulated-busy-time"]["max"] == 1000
    (place,) = (await rest.get(f"{path}/vertices/{VERTEX}/taskmanagers"))["taskmanagers"]
    assert expected.items() <= place["metrics"].items()
    found = await rest.get(f"{path}/vertices/{VERTEX}/subtasks/metrics?get=busyTimeMsPerSecond&agg=sum")
    assert found == [{"id": "busyTimeMsPerSecond", "sum": 100}]
    pressed = await rest.get(f"{path}/vertices/{VERTEX}/backpressure")
    assert [(one["busyRatio"], one["idleRatio"]) for one in pressed["subtasks"]] == [(0, 1), (0.1, 0.9)]
