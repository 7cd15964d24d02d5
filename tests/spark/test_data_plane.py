"""Directories of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.spark.data_plane import SparkDataPlane
from tests.runtime.helpers import job_graph


def no_context() -> None:
    raise AssertionError("nothing runs")


def is_there(directory: Path) -> bool:
    return directory.is_dir()


async def test_a_job_without_a_checkpoint_directory_gets_a_temporary_one():
    data_plane = SparkDataPlane(no_context, {})
    job = job_graph(("a", 1, []))
    await data_plane.restore(job)
    directory = Path(job.configuration[CHECKPOINTING_DIR.key])
    assert is_there(directory)
    data_plane.close()
    assert not is_there(directory)


async def test_the_directory_that_a_job_names_is_kept(tmp_path):
    data_plane = SparkDataPlane(no_context, {})
    job = job_graph(("a", 1, []))
    job.configuration[CHECKPOINTING_DIR.key] = str(tmp_path)
    await data_plane.restore(job)
    data_plane.close()
    assert job.configuration[CHECKPOINTING_DIR.key] == str(tmp_path)
    assert is_there(tmp_path)


@pytest.mark.parametrize(("parallelism", "limits"), [(2, [128, 1]), (1, [128])])
async def test_a_collecting_sink_gets_no_more_subtasks_when_the_job_is_rescaled(
    tmp_path: Path, parallelism: int, limits: list[int]
) -> None:
    """Several of them would mix up the changes of a row; in a vertex with others it has those of some keys."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    source = env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    source.collect_async()
    job = env.get_stream_graph().get_job_graph()
    resolve_parallelism(job, 1)
    job.configuration[CHECKPOINTING_DIR.key] = str(tmp_path)
    data_plane = SparkDataPlane(no_context, {})
    await data_plane.restore(job)
    data_plane.close()
    assert [vertex.max_parallelism for vertex in job.vertices] == limits
