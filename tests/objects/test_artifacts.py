"""Python files of a job in an object store are code: nobody else can exchange them."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import RemotePath
from firesteel.graph.job_graph import ARTIFACT, JobGraph
from firesteel.task.python_environment import PythonEnvironmentError, fetch_artifacts, leave_artifacts, store_artifacts
from tests.objects.server import Bucket
from tests.runtime.helpers import job_graph as some_job

pytestmark = pytest.mark.slow


def shipped(bucket: Bucket, directory: Path) -> tuple[JobGraph, RemotePath]:
    """Return a job that ships a module, which is in the store."""
    job = some_job(("a", 1, []))
    job.configuration["python.files"] = f"{ARTIFACT}0-lib_of_job.py"
    job.artifacts = {"0-lib_of_job.py": b"VALUE = 1"}
    remote = Files(bucket.options).path(bucket.uri("job"))
    assert isinstance(remote, RemotePath)
    leave_artifacts(job, directory)
    store_artifacts(job, remote, directory)
    return job, remote


def test_other_hosts_fetch_the_files_that_were_shipped(bucket: Bucket, tmp_path: Path) -> None:
    job, remote = shipped(bucket, tmp_path / "first")
    fetch_artifacts(job.configuration, remote, tmp_path / "other")
    [found] = (tmp_path / "other").rglob("lib_of_job.py")
    assert found.read_bytes() == b"VALUE = 1"
    found.write_bytes(b"VALUE = 2")  # A damaged file is fetched again, also if it has the same size.
    fetch_artifacts(job.configuration, remote, tmp_path / "other")
    assert found.read_bytes() == b"VALUE = 1"


def test_a_file_that_somebody_has_exchanged_is_not_used(bucket: Bucket, tmp_path: Path) -> None:
    job, remote = shipped(bucket, tmp_path / "first")
    (remote / "python" / "artifacts" / "0" / "lib_of_job.py").write_bytes(b"VALUE = 2")
    (remote / "python" / "artifacts" / "0" / "sitecustomize.py").write_bytes(b"VALUE = 3")
    with pytest.raises(PythonEnvironmentError, match=r"lib_of_job\.py was changed since the job was submitted"):
        fetch_artifacts(job.configuration, remote, tmp_path / "other")
    assert not list((tmp_path / "other").rglob("*.py*"))
