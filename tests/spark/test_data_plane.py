"""Directories of jobs."""

from __future__ import annotations

from pathlib import Path

from firesteel.spark.data_plane import CHECKPOINT_DIRECTORY, SparkDataPlane
from tests.runtime.helpers import job_graph


def no_context() -> None:
    raise AssertionError("nothing runs")


def test_a_job_that_names_no_directory_for_checkpoints_gets_one_that_goes_with_the_process():
    data_plane = SparkDataPlane(no_context)
    job = job_graph(("a", 1, []))
    data_plane.restore(job)
    directory = Path(job.configuration[CHECKPOINT_DIRECTORY])
    assert directory.is_dir()
    data_plane.close()
    assert not directory.exists()


def test_the_directory_that_a_job_names_is_kept(tmp_path):
    data_plane = SparkDataPlane(no_context)
    job = job_graph(("a", 1, []))
    job.configuration[CHECKPOINT_DIRECTORY] = str(tmp_path)
    data_plane.restore(job)
    data_plane.close()
    assert job.configuration[CHECKPOINT_DIRECTORY] == str(tmp_path)
    assert tmp_path.is_dir()
