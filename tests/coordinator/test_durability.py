"""Files are synced before the checkpoint that refers to them is decided, and decisions before they are committed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.files.durability import TEMPORARY_PREFIX, make_directory
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, RollingPolicy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.spark.temporary_directory import TemporaryDirectory
from firesteel.task import state_file
from firesteel.task.checkpoint_metadata import read_metadata
from firesteel.task.state_file import publish_state_file
from firesteel.task.state_transfer import copy_chain
from firesteel.task.versions import VersionFile
from firesteel.testing import run_local
from firesteel.testing.local_job import _job_graph_of, _LocalJob


def test_a_power_failure_can_not_leave_sinks_ahead_of_the_newest_readable_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[str] = set()
    decided: list[Path] = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def recording_fsync(descriptor: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def recording_rename(source: Any, target: Any, **options: Any) -> None:
        """A checkpoint is decided: all files that it needs, and their names, must be on the disk."""
        if Path(target).name.startswith("chk-"):
            job = Path(target).parent
            files = [job / path for path in read_metadata(Path(source)).files()]
            assert {str(path) for path in files} <= synced
            assert {str(path.parent) for path in files} <= synced
            assert {str(Path(source) / "_metadata"), str(source)} <= synced
            decided.append(Path(target))
        rename(source, target, **options)
        synced.discard(str(Path(target).parent))

    def recording_replace(source: Any, target: Any, **options: Any) -> None:
        """A part file is shown: the checkpoint that decided it must be on the disk."""
        if ".inprogress." in str(source):
            assert str(source) in synced
            assert str(decided[-1].parent) in synced
        replace(source, target, **options)

    real_write = state_file.write_state_file

    def recording_write(path: Path, frames: Any, **options: Any) -> int:
        synced.discard(str(path))
        synced.discard(str(path.parent))
        return real_write(path, frames, **options)

    monkeypatch.setattr(os, "fsync", recording_fsync)
    monkeypatch.setattr(os, "rename", recording_rename)
    monkeypatch.setattr(os, "replace", recording_replace)
    monkeypatch.setattr("firesteel.task.version_store.write_state_file", recording_write)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = NumberSequenceSource(1, 200)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    counted = numbers.key_by(lambda number: number % 7, Types.LONG()).reduce(lambda a, b: a + b)
    sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    sink = sink.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=100))
    counted.map(str, Types.STRING()).sink_to(sink.build())
    run_local(env, batch_elements=20, checkpoint=tmp_path / "checkpoints")
    assert len(decided) >= 5


def test_many_batches_without_a_checkpoint_leave_few_files(tmp_path: Path) -> None:
    """2 MB of state, of which little changes: as many files as the merged deltas need, however many batches."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source = NumberSequenceSource(0, 21_499)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    padded = numbers.map(lambda n: (n % 20_000, "x" * 100), Types.TUPLE([Types.LONG(), Types.STRING()]))
    padded.key_by(lambda pair: pair[0], Types.LONG()).reduce(lambda a, b: b).print()
    job = _LocalJob(_job_graph_of(env), tmp_path, (), 20_000)
    job.recover()
    (region,) = job._regions
    most = 0
    for number in range(300):
        if number == 1:
            region.enumerator._sizes.size = 5
        job._run_region(region, region.enumerator.plan(0), ())
        most = max(most, len(list(tmp_path.glob("versions-*/1/0/*"))))
    job.close()
    assert most <= 40


@pytest.mark.parametrize(("name", "syncs"), [("checkpoints", True), ("firesteel-tmp-checkpoints-1", False)])
def test_what_is_removed_with_its_process_is_not_synced(
    name: str, syncs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    directory = tmp_path / name / "job"
    make_directory(directory)
    publish_state_file(directory / "chk-1" / "_metadata", [b"content"], "me")
    assert (directory / "chk-1" / "_metadata").exists()
    # Parent directories are synced as far as they are outside.
    assert len(synced) == (5 if syncs else 1)


def test_a_savepoint_of_a_job_in_a_temporary_directory_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[str] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.readlink(f"/proc/self/fd/{descriptor}")))
    path = "versions-1/0/0/0-0-1.full"
    (tmp_path / "firesteel-tmp-checkpoints-1" / path).parent.mkdir(parents=True)
    (tmp_path / "firesteel-tmp-checkpoints-1" / path).write_bytes(b"state")
    savepoint = tmp_path / "savepoint"
    [copied] = copy_chain(tmp_path / "firesteel-tmp-checkpoints-1", savepoint, (VersionFile(path, 5, {}, b""),))
    assert (savepoint / copied.path).read_bytes() == b"state"
    assert {str(savepoint / copied.path), str((savepoint / copied.path).parent)} <= synced


def test_directories_that_are_removed_with_their_process_have_that_name() -> None:
    directory = TemporaryDirectory("example")
    assert directory.path.name.startswith(TEMPORARY_PREFIX)
    directory.remove()
