"""Large requests do not block the event loop of the control plane; a watchdog checks each test."""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import SystemClock
from firesteel.runtime.dispatcher.execution_graph_store import ExecutionGraphStore
from firesteel.runtime.executiongraph.job_details import archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.spark.data_plane import SparkDataPlane
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState, write_savepoint_metadata
from firesteel.task.state_file import write_state_file
from firesteel.task.versions import VersionFile
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import job_graph
from tests.runtime.simulated import SimulatedDataPlane

pytestmark = pytest.mark.slow

FILES = 3000
STATE_BYTES = 300 << 20


def no_context() -> None:
    raise AssertionError("nothing runs")


class RestoringDataPlane(SimulatedDataPlane):
    """Restores jobs as on Spark, and runs them nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.real = SparkDataPlane(no_context, {})

    async def restore(self, job_graph: JobGraph) -> bytes:
        return await self.real.restore(job_graph)

    async def deliver_coordination_request(self, operator_uid: str, request: bytes) -> bytes:
        return await self.real.deliver_coordination_request(operator_uid, request)


@pytest.fixture
async def data_plane(rest: Rest) -> AsyncIterator[RestoringDataPlane]:
    """The one of the cluster that `rest` serves."""
    made = RestoringDataPlane()
    dispatcher: Any = rest.cluster.dispatcher._process
    dispatcher._data_plane = made
    yield made
    await asyncio.to_thread(made.real.close)


def packed_tree() -> bytes:
    """A directory of many files, as a client sends it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for number in range(FILES):
            member = tarfile.TarInfo(f"package_{number % 50}/module_{number}.py")
            member.size = 500
            archive.addfile(member, io.BytesIO(b"#" * 500))
    return packed.getvalue()


def savepoint(directory: Path, files: int, size: int) -> str:
    """A savepoint of that many files of zeros, which all belong to one slot."""
    (directory / "0").mkdir(parents=True)
    chain = []
    for number in range(files):
        name = f"0/{number}.full"
        write_state_file(directory / name, [bytes(size)])
        chain.append(VersionFile(name, size, {}))
    metadata = CheckpointMetadata(
        checkpoint_id=1,
        timestamp_ms=0,
        job_id="0" * 32,
        job_name="job",
        is_savepoint=True,
        vertices=(),
        regions=(RegionState(0, {(0, 0): tuple(chain)}, pickle.dumps({}), pickle.dumps([]), None),),
    )
    write_savepoint_metadata(directory, metadata)
    return str(directory)


def is_there(path: str) -> bool:
    return os.path.exists(path)


async def submit(rest: Rest, job: JobGraph, artifacts: dict[str, bytes]) -> None:
    form = aiohttp.FormData()
    form.add_field("request", '{"executionPlanFileName": "plan"}')
    for name, data in {"plan": pickle.dumps(job), **artifacts}.items():
        form.add_field(name, data, filename=name)
    status, answer = await rest.call("POST", "/jobs", data=form)
    assert status == 202, answer


async def until(rest: Rest, path: str, done: Any) -> Any:
    """The answer that is as expected, the first of them."""
    while not done(answer := await rest.get(path)):  # noqa: ASYNC110 - it is asked as a client asks
        await asyncio.sleep(0.01)
    return answer


async def test_a_tree_of_files_and_a_large_savepoint(
    rest: Rest, data_plane: RestoringDataPlane, tmp_path: Path
) -> None:
    """The job unpacks the files and checks the state, and then the savepoint is removed."""
    named = await asyncio.to_thread(savepoint, tmp_path / "savepoint", 1, STATE_BYTES)
    options = {
        CHECKPOINTING_DIR.key: str(tmp_path / "checkpoints"),
        "execution.state-recovery.path": named,
        "python.files": "artifact:0-tree.directory",
    }
    job = job_graph(("a", 1, []), configuration=options)
    tree = await asyncio.to_thread(packed_tree)
    await submit(rest, job, {"0-tree.directory": tree})
    await until(rest, f"/jobs/{job.job_id}/status", lambda answer: answer["status"] == "RUNNING")
    unpacked = tmp_path / "checkpoints" / job.job_id / "python/artifacts/0/tree"
    assert len(list(os.scandir(unpacked))) == 50
    status, answer = await rest.call("POST", "/savepoint-disposal", json={"savepoint-path": named})
    assert status == 200
    disposal = f"/savepoint-disposal/{answer['request-id']}"
    answer = await until(rest, disposal, lambda answer: answer["status"]["id"] == "COMPLETED")
    assert answer["operation"] == {}
    assert not is_there(named)


async def test_the_removal_of_a_savepoint_of_many_files(rest: Rest, tmp_path: Path) -> None:
    named = await asyncio.to_thread(savepoint, tmp_path / "savepoint", 4 * FILES, 10)
    _, answer = await rest.call("POST", "/savepoint-disposal", json={"savepoint-path": named})
    disposal = f"/savepoint-disposal/{answer['request-id']}"
    await until(rest, disposal, lambda answer: answer["status"]["id"] == "COMPLETED")
    assert not is_there(named)


async def test_a_finished_job_of_many_subtasks_is_shown() -> None:
    over = archive_unstarted(job_graph(("a", 1, [])), JobStatus.CANCELED, 0, 0)
    vertices = [{"subtasks": [{"attempts": [{"state": "CANCELED", "at": i}]} for i in range(100_000)]}]
    job = replace(over, graph={"vertices": vertices})
    store = ExecutionGraphStore(SystemClock(), {})
    await asyncio.ensure_future(store.put(job))
    assert await asyncio.ensure_future(store.get(over.details.job_id)) == job
