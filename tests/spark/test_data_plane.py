"""Directories of jobs."""

from __future__ import annotations

from pathlib import Path

from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
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
