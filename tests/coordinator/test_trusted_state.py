"""State that others could have written: it runs no code, and a cluster with a secret does not start from it."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli.main import cli
from firesteel.common import Types
from firesteel.common.options.state_options import RECOVERY_ALLOW_UNVERIFIED
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.stored_checkpoints import restore_job
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.graph.parallelism import set_parallelism
from firesteel.state_processor import OperatorIdentifier, SavepointReader, SavepointWriter
from firesteel.task.checkpoint_metadata import METADATA, read_metadata, write_metadata
from firesteel.task.restored_state import read_restored_state
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_file import StateFileError, UnverifiedStateError, replace_state_file
from firesteel.task.state_seal import StateSeal
from firesteel.testing import run_local
from firesteel.testing.local_job import _job_graph_of
from tests.coordinator.test_restore import counts, environment

SEAL = StateSeal(b"k" * 32)
SECRET = "a secret of sixteen bytes or more"
COUNT = OperatorIdentifier.for_uid("count")


class Evil:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, (str(Path.cwd() / "evil"),)


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job_from(savepoint: Path | None, **options: str) -> Any:
    job_graph = _job_graph_of(counts(environment(2, savepoint, **options)))
    set_parallelism(job_graph, 1)
    return job_graph


def savepoint_of_a_stranger(tmp_path: Path) -> Path:
    """Return a savepoint whose state and committables run code."""
    writer = SavepointWriter.new_savepoint(max_parallelism=128)
    states = ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY())
    path = Path(writer.with_keyed_state(COUNT, states, [("a", Evil())]).write(str(tmp_path / "stranger")))
    shutil.rmtree(tmp_path / "evil", ignore_errors=True)  # the writer copies values
    return path


def test_inspecting_the_savepoint_of_a_stranger_runs_no_code(tmp_path: Path) -> None:
    path = savepoint_of_a_stranger(tmp_path)
    result = CliRunner().invoke(cli, ["savepoint", "inspect", str(path)])
    assert result.exit_code == 0, result.output
    assert "count" in result.output
    assert "mkdir" in result.output  # the class of the value, which was not created
    assert not (tmp_path / "evil").exists()


def test_inspecting_metadata_of_a_stranger_runs_no_code(tmp_path: Path) -> None:
    path = savepoint_of_a_stranger(tmp_path)
    replace_state_file(path / METADATA, [pickle.dumps(Evil())])
    result = CliRunner().invoke(cli, ["savepoint", "inspect", str(path)])
    assert result.exit_code != 0
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("part", ["whole", "sources", "committables"])
def test_a_takeover_from_a_checkpoint_that_somebody_wrote_runs_no_code(tmp_path: Path, part: str) -> None:
    first = run_local(counts(environment(1)), batch_elements=5, batches=2, savepoint=tmp_path)
    assert first.savepoint is not None
    metadata = read_metadata(first.savepoint)
    directory = tmp_path / "job"
    directory.mkdir()
    write_metadata(directory / "chk-1", metadata, "1")
    hostile = pickle.dumps([Evil()])
    if part == "whole":
        replace_state_file(directory / "chk-1" / METADATA, [hostile])
    else:
        [region] = metadata.regions
        object.__setattr__(region, part, hostile)
        replace_state_file(directory / "chk-1" / METADATA, [pickle.dumps(metadata)])
    from firesteel.coordinator.checkpoints import Checkpoints
    from firesteel.coordinator.split_enumerator import SplitEnumerator
    from firesteel.operators.sinks.committers import Committers

    job_graph = job_from(None)
    job = JobCheckpoints(StagePlan(job_graph), job_graph.configuration, directory)
    checkpoints = Checkpoints(job, 0, lambda committables: None, Committers(job_graph, {}))
    with pytest.raises((StateFileError, pickle.UnpicklingError)):
        checkpoints.recover(SplitEnumerator(job_graph, {}))
    assert not (tmp_path / "evil").exists()


def test_a_cluster_with_a_secret_starts_from_signed_state_only(tmp_path: Path) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    with pytest.raises(UnverifiedStateError, match=f"is not signed.*{RECOVERY_ALLOW_UNVERIFIED.key}: true"):
        restore_job(job_from(first.savepoint), {}, tmp_path / "job", seal=SEAL)
    allowing = job_from(first.savepoint, **{RECOVERY_ALLOW_UNVERIFIED.key: "true"})
    restore_job(allowing, {}, tmp_path / "job", seal=SEAL)
    # The plan is signed, and the slots read the files that it names as the job allows.
    with pytest.raises(UnverifiedStateError):
        read_restored_state(tmp_path / "job")
    state = read_restored_state(tmp_path / "job", allowing.configuration, SEAL)
    assert state is not None
    assert list(state.keyed([COUNT.operator_id], range(128)))
    refusing = read_restored_state(tmp_path / "job", {}, SEAL)
    assert refusing is not None
    with pytest.raises(UnverifiedStateError):
        list(refusing.keyed([COUNT.operator_id], range(128)))


def test_a_job_of_a_cluster_with_a_secret_does_not_resume_from_unsigned_checkpoints(tmp_path: Path) -> None:
    first = run_local(counts(environment(1)), batch_elements=5, batches=2, savepoint=tmp_path)
    assert first.savepoint is not None
    (tmp_path / "job").mkdir()
    write_metadata(tmp_path / "job" / "chk-1", read_metadata(first.savepoint), "1")
    job = JobCheckpoints(StagePlan(job_from(None)), {}, tmp_path / "job", seal=SEAL)
    member = job.enter(0, lambda: None, lambda stats: None)
    # An option of the job does not count: it is for the state that the job starts from.
    with pytest.raises(UnverifiedStateError, match="chk-1/_metadata is not signed"):
        job.join(member, 1)


def test_the_state_processor_signs_and_verifies_with_the_configured_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRESTEEL_RPC_SECRET", SECRET)
    states = ValueStateDescriptor("count", Types.LONG())
    writer = SavepointWriter.new_savepoint(max_parallelism=128)
    path = writer.with_keyed_state(COUNT, states, [("a", 1)], key_type=Types.STRING()).write(str(tmp_path / "own"))
    assert list(SavepointReader.read(path).read_keyed_state(COUNT, "count")) == [("a", 1)]
    monkeypatch.setenv("FIRESTEEL_RPC_SECRET", SECRET[::-1])
    with pytest.raises(UnverifiedStateError, match="secret of another cluster"):
        SavepointReader.read(path)
    allowed = SavepointReader.read(path, {RECOVERY_ALLOW_UNVERIFIED.key: "true"})
    assert list(allowed.read_keyed_state(COUNT, "count")) == [("a", 1)]
    assert CliRunner().invoke(cli, ["savepoint", "inspect", path]).exit_code == 0
