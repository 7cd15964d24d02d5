"""Regions prepare their parts of a checkpoint independently; the checkpoint of the job contains all parts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.options.state_options import RECOVERY_PATH
from firesteel.coordinator.checkpoint_messages import Answer, Request, RunIsOverError
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.region_checkpoints import Step
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.graph.job_graph import JobGraph
from firesteel.operators.sinks.committables import Committable, Driver
from firesteel.operators.sinks.committers import Committers
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.batch_plan import StageReport
from firesteel.task.checkpoint_metadata import CheckpointExistsError, checkpoints_in, read_metadata
from firesteel.task.restored_state import read_rescaled_state
from firesteel.task.stage_plan import StagePlan
from firesteel.task.version_store import region_directory
from firesteel.task.versions import VersionFile


class Output(Committable):
    """A committable of a sink."""

    is_durable = True

    def __init__(self, text: str) -> None:
        self.text = text

    def hand_to(self, driver: Driver) -> None:
        raise AssertionError


class OwnCommitters(Committers):
    """The committers of a job that has committables of its own."""

    have_own_types = True


def two_regions(parallelism: int = 1) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    for name in ("left", "right"):
        source = NumberSequenceSource(1, 2)
        env.from_source(source, WatermarkStrategy.no_watermarks(), name, Types.LONG()).print()
    return env.get_stream_graph().get_job_graph()


class Region:
    """A run of a region, each batch of which has one file and one thing to commit."""

    def __init__(self, job: JobCheckpoints, number: int) -> None:
        self.job, self.number = job, number
        self.committed: list[str] = []
        self.taken: list[CheckpointStats] = []
        self.wakes = 0
        self.enumerator = SplitEnumerator(job.plan.job_graph, {}, region=number)
        committers = OwnCommitters(job.plan.job_graph, {})
        self.checkpoints = Checkpoints(job, number, self._commit, committers, self._wake, self.taken.append)
        self.checkpoints.recover(self.enumerator)

    def _wake(self) -> None:
        self.wakes += 1

    def _commit(self, committables: list[Any]) -> None:
        self.committed += [committable.text for committable in committables]

    def batch(self, text: str) -> None:
        at = self.checkpoints.next_batch()
        (stage,) = self.job.plan.stages[self.number]
        reports = []
        for slot in self.job.plan.slots_of(self.number):
            directory = region_directory(self.job.directory, self.number)
            path = directory / f"versions-{at.run}/{stage}/{slot}/{at.batch_id}-1.full"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            chain = (VersionFile(str(path.relative_to(self.job.directory)), len(text), {}),)
            reports.append(StageReport(stage, slot, [], [] if slot else [Output(text)], None, chain, 1))
        self.checkpoints.batch_ended(at.batch_id, reports)

    def prepare(self) -> None:
        self.checkpoints.prepare(self.enumerator, 0.0, self.checkpoints.asked())
        self.checkpoints.settle()

    def fail(self) -> None:
        self.checkpoints.end(has_failed=True)


@pytest.fixture
def job(tmp_path: Path) -> JobCheckpoints:
    directory = tmp_path / "job"
    directory.mkdir()
    return JobCheckpoints(StagePlan(two_regions()), {}, directory)


def texts(directory: Path) -> list[str]:
    """Return the contents of the files of a checkpoint or savepoint, by region."""
    metadata = read_metadata(directory)
    base = metadata.base_of(directory)
    return [(base / file.path).read_text() for state in metadata.states for (file,) in state.chains.values()]


def newest(job: JobCheckpoints) -> list[str]:
    return texts(checkpoints_in(job.directory)[0])


def test_a_checkpoint_is_decided_when_all_regions_have_prepared_and_each_commits_its_own(job: JobCheckpoints) -> None:
    left, right = Region(job, 0), Region(job, 1)
    left.batch("a")
    left.prepare()
    assert (checkpoints_in(job.directory), left.committed) == ([], [])
    right.checkpoints.settle()
    assert right.checkpoints.protocol.is_wanted
    assert not left.checkpoints.protocol.is_wanted
    left.batch("b")  # It continues meanwhile.
    right.batch("x")
    right.prepare()
    assert newest(job) == ["a", "x"]
    assert (left.committed, right.committed, right.taken) == ([], ["x"], [])
    left.checkpoints.settle()
    assert (left.committed, [stats.checkpoint_id for stats in left.taken]) == (["a"], [1])
    left.prepare()
    right.batch("y")
    right.prepare()
    left.checkpoints.settle()
    assert newest(job) == ["b", "y"]
    assert (left.committed, right.committed) == (["a", "b"], ["x", "y"])
    kept = sorted(path.read_text() for path in job.directory.rglob("*.full"))
    assert kept == ["b", "y"]


def test_a_region_commits_what_was_decided_although_it_has_prepared_its_next_part(job: JobCheckpoints) -> None:
    left, right = Region(job, 0), Region(job, 1)
    left.batch("a")
    left.prepare()
    right.batch("x")
    right.prepare()  # This decides the checkpoint, while the next batch of the other region is running.
    left.batch("b")
    left.prepare()
    assert newest(job) == ["a", "x"]
    assert left.committed == ["a"]
    right.prepare()
    left.checkpoints.settle()
    assert newest(job) == ["b", "x"]
    assert left.committed == ["a", "b"]


def test_other_regions_take_checkpoints_while_one_restarts(job: JobCheckpoints) -> None:
    left, right = Region(job, 0), Region(job, 1)
    for region, text in ((left, "a"), (right, "x")):
        region.batch(text)
        region.prepare()
    left.checkpoints.settle()
    right.batch("y")
    right.prepare()
    right.fail()  # Its prepared part is void.
    for text in "bc":
        left.batch(text)
        left.prepare()
        assert newest(job) == [text, "x"]
    again = Region(job, 1)
    assert again.checkpoints.next_batch().batch_id == 1
    assert (left.committed, again.committed) == (["a", "b", "c"], [])
    again.batch("z")
    again.prepare()
    left.batch("d")
    left.prepare()
    again.checkpoints.settle()
    assert newest(job) == ["d", "z"]
    assert (left.committed, again.committed) == (["a", "b", "c", "d"], ["z"])


def test_uncommitted_committables_of_a_failed_region_are_committed_when_it_resumes(job: JobCheckpoints) -> None:
    left, right = Region(job, 0), Region(job, 1)
    right.batch("x")
    right.prepare()
    left.batch("a")
    left.prepare()
    right.fail()
    left.batch("b")
    left.prepare()
    assert newest(job) == ["b", "x"]
    assert Region(job, 1).committed == ["x"]


def test_a_region_without_progress_does_not_prevent_others_from_committing(job: JobCheckpoints) -> None:
    left, right = Region(job, 0), Region(job, 1)
    right.fail()
    left.batch("a")
    left.prepare()
    assert (newest(job), left.committed) == (["a"], ["a"])
    again = Region(job, 1)
    assert again.checkpoints.next_batch().batch_id == 0


def test_a_savepoint_has_all_regions_as_they_were_when_they_covered_it(job: JobCheckpoints, tmp_path: Path) -> None:
    left, right = Region(job, 0), Region(job, 1)
    left.batch("a")
    left.prepare()
    answers: list[Answer] = []
    job.ask(Request(answers.append, savepoint_parent=tmp_path / "savepoints", after=AfterSavepoint.STOP))
    assert min(left.wakes, right.wakes) > 0
    right.batch("x")
    right.prepare()
    assert answers == [], "the part of the first one was prepared before the savepoint was asked for"
    left.batch("b")
    left.prepare()
    assert answers == []
    right.checkpoints.settle()
    assert texts(Path(str(answers[0]))) == ["b", "x"]
    assert right.checkpoints.protocol.next_step(has_ended=False) is Step.FINISH
    assert [stats.is_savepoint for stats in right.taken] == [False, True]


def test_a_savepoint_is_refused_if_a_region_fails_and_a_checkpoint_if_none_is_left(
    job: JobCheckpoints, tmp_path: Path
) -> None:
    left, right = Region(job, 0), Region(job, 1)
    answers: list[Answer] = []
    job.ask(Request(answers.append, savepoint_parent=tmp_path))
    job.ask(Request(answers.append))
    left.batch("a")
    left.prepare()
    right.fail()
    assert [str(answer).partition(": ")[2] for answer in answers] == [
        "a region of it failed before the savepoint was taken"
    ]
    left.checkpoints.settle()
    assert answers[1:] == [1]
    left.fail()
    job.ask(Request(answers.append))
    assert "it ended before the checkpoint was taken" in str(answers[2])


def test_no_region_continues_after_another_job_manager_took_a_checkpoint(job: JobCheckpoints) -> None:
    left, right = Region(job, 0), Region(job, 1)
    other = JobCheckpoints(job.plan, {}, job.directory)
    for region, text in ((Region(other, 0), "a"), (Region(other, 1), "x")):
        region.batch(text)
        region.prepare()
    right.fail()
    with pytest.raises(CheckpointExistsError):
        Region(job, 1)
    left.batch("b")
    with pytest.raises(CheckpointExistsError):
        left.prepare()
    assert newest(job) == ["a", "x"]


def test_a_superseded_run_decides_nothing(job: JobCheckpoints) -> None:
    given_up = Region(job, 0)
    given_up.batch("a")
    after = Region(job, 0)
    with pytest.raises(RunIsOverError):
        given_up.prepare()
    given_up.fail()
    after.batch("b")
    after.prepare()
    assert after.committed == ["b"]


def test_a_region_that_fails_while_a_checkpoint_is_being_written_resumes_from_it(
    job: JobCheckpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No event waits for the store, but a region that restarts waits for the outcome."""
    left, right = Region(job, 0), Region(job, 1)
    left.batch("a")
    left.prepare()
    right.batch("x")
    is_writing, may_write = threading.Event(), threading.Event()
    write = job.files.write

    def slowly(*rest: Any) -> Any:
        is_writing.set()
        may_write.wait()
        return write(*rest)

    monkeypatch.setattr(job.files, "write", slowly)
    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(right.prepare)
        is_writing.wait()
        left.fail()
        restarting = threads.submit(Region, job, 0)
        may_write.set()
        writing.result()
        again = restarting.result()
    assert newest(job) == ["a", "x"]
    assert (again.committed, again.checkpoints.next_batch().batch_id) == (["a"], 1)


def test_a_write_that_fails_leaves_the_checkpoint_to_the_other_regions(
    job: JobCheckpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = Region(job, 0), Region(job, 1)
    left.batch("a")
    left.prepare()
    right.batch("x")

    def fails(*_: Any) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(job.files, "write", fails)
        with pytest.raises(OSError, match="no space"):
            right.prepare()
    right.fail()
    left.checkpoints.settle()
    assert (newest(job), left.committed) == (["a"], ["a"])
    assert Region(job, 1).checkpoints.next_batch().batch_id == 0


# --- other parallelism -----------------------------------------------------------------------------------------------


def rescaled(job: JobCheckpoints, parallelism: int) -> JobCheckpoints:
    return JobCheckpoints(StagePlan(two_regions(parallelism)), {}, job.directory)


def slots(checkpoints: Checkpoints, region: int) -> list[int]:
    """Return the slots in which the next batch of a region finds versions of its own."""
    return [slot for slot, chain in checkpoints.parents(region).items() if chain]


def test_each_region_of_a_rescaled_job_takes_over_its_state_when_it_begins(job: JobCheckpoints) -> None:
    """Also if another one has taken a checkpoint before."""
    left, right = Region(job, 0), Region(job, 1)
    for region in (left, right):
        region.batch("before")
        region.prepare()
    left.checkpoints.settle()
    after = rescaled(job, 2)
    left = Region(after, 0)
    left.batch("after")
    left.prepare()
    assert [chk.name for chk in checkpoints_in(job.directory)] == ["chk-2"]
    right = Region(after, 1)
    assert slots(right.checkpoints, 1) == [], "its versions are in other slots"
    plan = read_rescaled_state(job.directory, job.directory, region=1)
    assert plan is not None, "it has to share its state anew"
    left = Region(after, 0)
    assert slots(left.checkpoints, 0) == [0, 1]


def test_a_checkpoint_says_where_the_state_of_each_region_is(job: JobCheckpoints, tmp_path: Path) -> None:
    left, right = Region(job, 0), Region(job, 1)
    for region in (left, right):
        region.batch("before")
        region.prepare()
    left.checkpoints.settle()
    after = rescaled(job, 2)
    left = Region(after, 0)
    left.batch("after")
    left.prepare()
    metadata = read_metadata(checkpoints_in(job.directory)[0])
    assert [vertex.parallelism for vertex in metadata.vertices] == [2, 1]
    for vertex in metadata.vertices:
        assert {(vertex.stage, subtask) for subtask in range(vertex.parallelism)} <= set(metadata.chains)
    again = rescaled(job, 1)
    assert slots(Region(again, 1).checkpoints, 1) == [0], "it never ran with the other parallelism"
    assert slots(Region(again, 0).checkpoints, 0) == []


# --- start from a savepoint ------------------------------------------------------------------------------------------


def test_a_region_begins_with_the_savepoint_after_another_one_took_a_checkpoint(
    job: JobCheckpoints, tmp_path: Path
) -> None:
    left, right = Region(job, 0), Region(job, 1)
    for region in (left, right):
        region.batch("before")
        assert region.enumerator.plan(0).ranges
        region.prepare()
    left.checkpoints.settle()
    savepoint = job.write_savepoint(tmp_path).external_path
    job_graph = two_regions()
    job_graph.configuration[RECOVERY_PATH.key] = savepoint
    directory = tmp_path / "second"
    directory.mkdir()
    second = JobCheckpoints(StagePlan(job_graph), {}, directory)
    left = Region(second, 0)
    left.batch("after")
    left.prepare()
    assert [chk.name for chk in checkpoints_in(directory)] == ["chk-1"]
    right = Region(second, 1)
    assert not right.enumerator.plan(0).ranges, "it does not read its input again"
