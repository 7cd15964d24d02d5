"""Files of checkpoints: which are written, kept and removed. Slots write changes, and occasionally all state."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.coordinator.checkpoints import Checkpoints, IncompleteBatchError
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.coordinator.stored_checkpoints import remove_job_directory
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.sinks.committers import Committers
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.task.batch_plan import StageReport
from firesteel.task.checkpoint_metadata import CheckpointExistsError
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_file import StateFileError
from firesteel.task.versions import Chain, VersionFile


class Run:
    """A run of a job with one stage and two slots, which writes the given versions."""

    def __init__(self, directory: Path) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        source = NumberSequenceSource(1, 2)
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).print()
        job_graph = env.get_stream_graph().get_job_graph()
        plan = StagePlan(job_graph)
        self.operator = job_graph.vertices[0].chain[0].operator_id
        self.enumerator = SplitEnumerator(job_graph, {})
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self.job = JobCheckpoints(plan, {}, directory)
        self.taken: list[CheckpointStats] = []
        committers = Committers(job_graph, {})
        self.checkpoints = Checkpoints(self.job, 0, lambda committables: None, committers, tell=self.taken.append)
        self.checkpoints.recover(self.enumerator)
        self.chains: dict[int, Chain] = self.checkpoints.parents(0)

    @property
    def files(self) -> set[str]:
        return {str(path.relative_to(self.directory)) for path in self.directory.glob("versions-*/*/*/*")}

    def write(self, batch_id: int, *sizes: int, full: bool = False) -> None:
        reports = []
        for slot, size in enumerate(sizes):
            chain = self.chains.get(slot, ())
            kind = "delta" if chain and not full else "full"
            path = f"versions-{self.checkpoints.run}/0/{slot}/{batch_id}-1.{kind}"
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / path).touch()
            file = VersionFile(path, size + 1, {self.operator: size} if size else {})
            self.chains[slot] = (file,) if kind == "full" else (*chain, file)
            reports.append(StageReport(0, slot, [], [], None, self.chains[slot], 1))
        self.checkpoints.batch_ended(batch_id, reports)

    def complete(self) -> CheckpointStats:
        self.checkpoints.prepare(self.enumerator, 0.0)
        self.checkpoints.settle()
        return self.taken[-1]


def test_the_size_of_a_checkpoint_includes_earlier_files(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 100, 50)
    first = run.complete()
    run.write(1, 7, 0)
    run.write(2, 3, 0)
    second = run.complete()
    assert (first.checkpointed_size, first.state_size) == (150, 150)
    assert second.checkpointed_sizes == {run.operator: {0: 10}}
    assert second.state_sizes == {run.operator: {0: 110, 1: 50}}


def test_a_full_version_counts_as_the_whole_state(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 100, 50)
    run.write(1, 60, 0, full=True)
    stats = run.complete()
    assert (stats.checkpointed_size, stats.state_size) == (210, 60)


def test_all_of_a_savepoint_counts_as_written(tmp_path: Path) -> None:
    run = Run(tmp_path / "checkpoints")
    run.write(0, 100, 50)
    run.complete()
    savepoint = run.job.write_savepoint(tmp_path / "savepoints")
    assert (savepoint.checkpointed_size, savepoint.state_size) == (150, 150)


def test_a_resumed_run_keeps_the_files_of_its_checkpoint(tmp_path: Path) -> None:
    before = Run(tmp_path)
    before.write(0, 100, 50)
    before.complete()
    after = Run(tmp_path)
    after.write(1, 5, 5)
    stats = after.complete()
    assert (stats.checkpointed_size, stats.state_size) == (10, 160)


# --- unneeded files --------------------------------------------------------------------------------


def test_replaced_files_are_removed_at_once_unless_a_checkpoint_needs_them(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 100, 50)
    run.complete()
    run.write(1, 5, 5)
    run.write(2, 100, 50, full=True)
    assert {path.rpartition("/")[2] for path in run.files} == {"0-1.full", "2-1.full"}
    run.complete()
    assert {path.rpartition("/")[2] for path in run.files} == {"2-1.full"}


def test_leftovers_of_other_tries_are_removed_after_the_next_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 100, 50)
    left = tmp_path / "versions-1/0/0/0-7.full"
    left.touch()
    assert left.exists()
    run.complete()
    assert not left.exists()
    assert len(run.files) == 2


def test_undecided_files_of_an_earlier_run_are_kept_until_a_later_run_has_decided(tmp_path: Path) -> None:
    """A leader that was paused between the end of a batch and the checkpoint finds all its files."""
    paused = Run(tmp_path)
    paused.write(0, 100, 50)
    paused.complete()
    paused.write(1, 100, 50, full=True)
    successor = Run(tmp_path)
    successor.write(1, 5, 5)
    assert {path for path in successor.files if path.startswith("versions-1/")} == {
        f"versions-1/0/{slot}/{batch}-1.full" for slot in (0, 1) for batch in (0, 1)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paused.checkpoints, "_commit", lambda committables: pytest.fail("it must not commit"))
        successor.complete()
        with pytest.raises(CheckpointExistsError):
            paused.complete()
    assert {path for path in successor.files if path.startswith("versions-1/")} == {
        f"versions-1/0/{slot}/0-1.full" for slot in (0, 1)
    }


def test_a_leader_that_was_paused_until_the_job_ended_decides_nothing(tmp_path: Path) -> None:
    paused = Run(tmp_path / "job")
    paused.write(0, 100, 50)
    successor = Run(tmp_path / "job")
    successor.write(0, 100, 50)
    successor.complete()
    remove_job_directory(tmp_path / "job")
    with pytest.raises(FileNotFoundError):
        paused.complete()
    with pytest.raises(FileNotFoundError):
        Checkpoints.recover(paused.checkpoints, paused.enumerator)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_is_accepted_only_with_reports_of_all_slots_of_one_attempt(tmp_path: Path) -> None:
    run = Run(tmp_path)
    reports = [StageReport(0, slot, [], [], None, (), slot + 1) for slot in (0, 1)]
    for wrong in (reports, reports[:1], [reports[0]] * 2, [*reports, reports[0]]):
        with pytest.raises(IncompleteBatchError, match="batch 0 is incomplete"):
            run.checkpoints.batch_ended(0, wrong)


def test_an_empty_metadata_file_is_no_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 100, 50)
    run.complete()
    (tmp_path / "chk-2").mkdir()
    (tmp_path / "chk-2" / "_metadata").touch()
    again = Run(tmp_path)
    assert again.checkpoints.batch_id == 0


def test_a_damaged_checkpoint_is_named_with_the_newest_intact_one(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.checkpoints._retained = 2
    for batch in (0, 1):
        run.write(batch, 100, 50, full=True)
        run.complete()
    with (tmp_path / "chk-2" / "_metadata").open("r+b") as file:
        file.truncate(40)
    with pytest.raises(StateFileError, match=r"checkpoint .*/chk-2 can't be used, no other"):
        Run(tmp_path)


def test_checkpoints_and_savepoints_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 1, 1)
    checkpoint = run.complete().external_path
    savepoint = run.job.write_savepoint(tmp_path / "savepoints").external_path
    for directory in map(Path, (checkpoint, savepoint)):
        assert directory.stat().st_mode & 0o777 == 0o700
        assert (directory / "_metadata").stat().st_mode & 0o777 == 0o600


def test_restarts_that_fail_before_their_first_checkpoint_leave_no_files(tmp_path: Path) -> None:
    first = Run(tmp_path)
    first.write(0, 100, 50)
    first.complete()
    first.checkpoints.end(has_failed=True)
    kept = first.files
    for _ in range(5):
        failing = Run(tmp_path)
        failing.write(1, 7, 7)
        failing.checkpoints.end(has_failed=True)
        assert failing.files == kept
    last = Run(tmp_path)
    assert last.checkpoints.run == 7
    assert {path.name for path in tmp_path.glob("versions-*")} == {"versions-1", "versions-7"}


def test_a_run_that_may_have_decided_a_checkpoint_keeps_its_files(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 100, 50)
    other = Run(tmp_path)
    other.write(0, 100, 50)
    other.complete()
    with pytest.raises(CheckpointExistsError):
        run.complete()
    files = run.files
    run.checkpoints.end(has_failed=True)
    assert run.files == files
