"""What the coordinator of a job's checkpoints does with events; most of them come late, again, or at a bad moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.trust.pickling import pickled
from firesteel.coordinator.checkpoint_coordinator import TRANSITIONS, CheckpointCoordinator, Phase
from firesteel.coordinator.checkpoint_messages import (
    CheckpointAction,
    EndRun,
    GiveAnswer,
    Part,
    ReadCheckpoints,
    RemoveCheckpoint,
    RemoveClaimed,
    Request,
    Restore,
    RunId,
    Wake,
    WriteCheckpoint,
    WriteSavepoint,
)
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState


class Job:
    """A coordinator, and the metadata that its actions write."""

    def __init__(self, regions: int = 2, retained: int = 1, has_claimed: bool = False) -> None:
        self.coordinator = CheckpointCoordinator("job", regions, retained, has_claimed)
        self.stored: list[CheckpointMetadata] = []
        self.runs = [self.start(region) for region in range(regions)]

    def start(self, region: int) -> RunId:
        run, _ = self.coordinator.run_entered(region)
        [read] = self.coordinator.run_begun(run, None)
        assert isinstance(self.read(read)[0], Restore)
        return run

    def read(self, read: CheckpointAction, newest: int | None = None) -> list[CheckpointAction]:
        assert isinstance(read, ReadCheckpoints)
        found = self.stored[-1].checkpoint_id if self.stored else 0
        kept = tuple(self.stored) if read.in_full else None
        return self.coordinator.checkpoints_read(read, found if newest is None else newest, kept)

    def report(self, region: int, number: int = 0, settled: int = 0, covers: Request | None = None) -> list[object]:
        part = part_of(number, *([] if covers is None else [covers])) if number else None
        return of_interest(self.coordinator.reported(self.runs[region], part, settled))

    def write(self, action: object) -> list[object]:
        assert isinstance(action, WriteCheckpoint)
        self.stored.append(CheckpointMetadata(action.checkpoint_id, 0, "job", "", False, (), action.regions))
        return of_interest(self.coordinator.checkpoint_written(self.stored[-1]))

    def take(self, number: int) -> list[object]:
        """Take a checkpoint of both regions, without their commits."""
        self.report(0, number, settled=number - 1)
        [write] = [action for action in self.report(1, number, number - 1) if isinstance(action, WriteCheckpoint)]
        return self.write(write)


def part_of(number: int, *covers: Request, is_final: bool = False) -> Part:
    state = RegionState(number, {}, b"", pickled([number]), None)
    return Part(state, frozenset(covers), 0.0, {}, number=number, is_final=is_final)


def of_interest(actions: list[CheckpointAction]) -> list[object]:
    return [action for action in actions if not isinstance(action, Wake)]


def savepoint(after: AfterSavepoint = AfterSavepoint.GO_ON) -> Request:
    return Request(lambda answer: None, Path("/savepoints"), after)


def answers(actions: list[object]) -> list[object]:
    return [action.answer for action in actions if isinstance(action, GiveAnswer)]


def test_each_phase_can_be_entered_and_left() -> None:
    assert {old for old, _ in TRANSITIONS} == {new for _, new in TRANSITIONS} == set(Phase)


def test_a_report_that_comes_late_or_again_has_no_effect() -> None:
    job = Job()
    job.report(0, 2)
    assert job.report(0, 1) == []
    [write] = job.report(1, 1)
    assert isinstance(write, WriteCheckpoint)
    assert [state and state.batch_id for state in write.regions] == [2, 1]
    assert job.report(1, 1) == []
    job.write(write)
    assert job.coordinator.checkpoint_written(job.stored[-1]) == []
    assert job.report(1, 1) == []
    directive = job.coordinator.directive(job.runs[0])
    assert directive is not None
    assert directive.decided == part_of(2)


def test_a_part_that_is_prepared_while_a_checkpoint_is_written_belongs_to_the_next() -> None:
    job = Job()
    job.report(0, 1)
    [write] = job.report(1, 1)
    assert job.report(0, 2) == []
    job.write(write)
    job.report(0, 2, settled=1)
    *_, following = job.report(1, 2, settled=1)
    assert isinstance(following, WriteCheckpoint)
    assert [state and state.batch_id for state in following.regions] == [2, 2]


def test_a_region_that_restarts_waits_for_the_outcome_of_a_write() -> None:
    job = Job()
    job.report(0, 1)
    [write] = job.report(1, 1)
    job.coordinator.run_ended(job.runs[0], has_failed=True)
    again, _ = job.coordinator.run_entered(0)
    assert job.coordinator.run_begun(again, None) == []
    [read] = job.write(write)
    assert job.read(read)[0] == Restore(again, tuple(job.stored))  # type: ignore[arg-type]


def test_what_was_read_before_a_write_is_read_again() -> None:
    job = Job()
    job.coordinator.run_ended(job.runs[0], has_failed=True)
    again, _ = job.coordinator.run_entered(0)
    [early] = job.coordinator.run_begun(again, None)
    [write] = job.report(1, 1)
    assert job.read(early, newest=0) == []
    [late] = job.write(write)
    assert isinstance(job.read(late)[0], Restore)  # type: ignore[arg-type]


def test_a_checkpoint_of_another_job_manager_ends_a_region_that_restarts() -> None:
    job = Job()
    job.coordinator.run_ended(job.runs[0], has_failed=True)
    again, _ = job.coordinator.run_entered(0)
    [read] = job.coordinator.run_begun(again, None)
    assert job.read(read, newest=7) == [EndRun(again, 7)]


def test_a_write_that_fails_is_tried_by_another_run() -> None:
    job = Job()
    job.report(0, 1)
    job.report(1, 1)
    assert of_interest(job.coordinator.checkpoint_not_written(1)) == []
    [write] = job.report(0, 1)
    assert isinstance(write, WriteCheckpoint)
    assert (write.run, write.checkpoint_id) == (job.runs[0], 1)


def test_a_run_that_was_replaced_is_told_so_and_decides_nothing() -> None:
    job = Job()
    before = job.runs[0]
    job.runs[0], actions = job.coordinator.run_entered(0)
    assert EndRun(before) in actions
    assert job.coordinator.reported(before, part_of(1), 0) == [EndRun(before)]
    assert job.coordinator.directive(before) is None
    assert of_interest(job.coordinator.run_ended(before, has_failed=True)) == []


def test_checkpoints_beyond_the_retained_ones_are_removed_and_then_the_claimed_one() -> None:
    job = Job(retained=2, has_claimed=True)
    assert job.take(1) == []
    assert job.take(2) == [RemoveClaimed()]
    assert job.take(3) == [RemoveCheckpoint(1)]


def test_output_that_a_failed_region_has_not_committed_stays_in_later_checkpoints() -> None:
    job = Job()
    job.take(1)
    job.coordinator.run_ended(job.runs[1], has_failed=True)
    [_, write] = job.report(0, 2, settled=1)
    assert isinstance(write, WriteCheckpoint)
    assert [state and state.committables for state in write.regions] == [pickled([2]), pickled([1])]


def test_a_savepoint_is_refused_while_a_region_has_failed_and_waits_for_one_that_starts() -> None:
    """It has no committables, so what the region has not committed would be missing in it."""
    job = Job()
    job.take(1)
    job.coordinator.run_ended(job.runs[1], has_failed=True)
    [refused] = answers(of_interest(job.coordinator.requested(savepoint())))
    assert str(refused) == ("job job: region 1 of it failed and has not restarted before the savepoint was taken")
    starting, _ = job.coordinator.run_entered(1)
    request = savepoint()
    assert of_interest(job.coordinator.requested(request)) == []
    assert not any(isinstance(action, WriteCheckpoint) for action in job.report(0, 2, 1, covers=request))
    [read] = job.coordinator.run_begun(starting, None)
    job.read(read)
    job.runs[1] = starting
    [write] = job.report(1, 1, covers=request)
    assert isinstance(write, WriteCheckpoint)


def test_the_last_part_of_a_region_that_has_ended_covers_later_requests() -> None:
    job = Job()
    job.coordinator.reported(job.runs[0], part_of(1, is_final=True), 0)
    request = savepoint()
    job.coordinator.requested(request)
    directive = job.coordinator.directive(job.runs[0])
    assert directive is not None
    assert directive.asked == frozenset()
    [write] = job.report(1, 1, covers=request)
    assert isinstance(write, WriteCheckpoint)


def test_a_request_that_comes_again_is_answered_once() -> None:
    job = Job()
    request = Request(lambda answer: None)
    for _ in range(2):
        job.coordinator.requested(request)
    job.report(0, 1, covers=request)
    [write] = job.report(1, 1, covers=request)
    job.write(write)
    assert answers(job.report(0, settled=1)) == []
    assert answers(job.report(1, settled=1)) == [1]
    assert job.coordinator.requested(request) == []


def hold() -> Request:
    """Return the request with which a job is rescaled."""
    return Request(lambda answer: None, after=AfterSavepoint.HOLD)


def taken_together(job: Job, *requests: Request) -> list[object]:
    """Take a checkpoint for all requests, and return the last actions."""
    for request in requests:
        job.coordinator.requested(request)
    part = part_of(1, *requests)
    job.coordinator.reported(job.runs[0], part, 0)
    [write] = of_interest(job.coordinator.reported(job.runs[1], part, 0))
    job.write(write)
    job.report(0, settled=1)
    return job.report(1, settled=1)


def test_a_job_is_not_held_for_another_parallelism_before_its_savepoints_are_written() -> None:
    job, held, asked = Job(), hold(), savepoint()
    _, write = taken_together(job, held, asked)
    assert isinstance(write, WriteSavepoint)
    actions = of_interest(job.coordinator.savepoint_written(asked, "path"))
    assert actions == [GiveAnswer(asked, "path"), GiveAnswer(held, 1)]


@pytest.mark.parametrize("after", [AfterSavepoint.STOP, AfterSavepoint.DRAIN, AfterSavepoint.HOLD])
def test_a_job_that_a_savepoint_ends_does_not_get_another_parallelism(after: AfterSavepoint) -> None:
    job, held, stop = Job(), hold(), savepoint(after)
    taken_together(job, held, stop)
    of_stop, of_held = of_interest(job.coordinator.savepoint_written(stop, "path"))
    assert of_stop == GiveAnswer(stop, "path")
    assert isinstance(of_held, GiveAnswer)
    assert (of_held.request, str(of_held.answer)) == (
        held,
        "job job: it ends with a savepoint before the checkpoint was taken",
    )


def test_a_job_whose_last_savepoint_fails_can_get_another_parallelism() -> None:
    job, held, stop = Job(), hold(), savepoint(AfterSavepoint.STOP)
    taken_together(job, held, stop)
    full = OSError("no space")
    assert of_interest(job.coordinator.savepoint_written(stop, full)) == [GiveAnswer(stop, full), GiveAnswer(held, 1)]


@pytest.mark.parametrize("after", [AfterSavepoint.STOP, AfterSavepoint.HOLD])
def test_nothing_is_decided_after_a_savepoint_that_ends_the_job(after: AfterSavepoint) -> None:
    job = Job()
    request = savepoint(after)
    job.coordinator.requested(request)
    job.report(0, 1, covers=request)
    [write] = job.report(1, 1, covers=request)
    job.write(write)
    job.report(0, settled=1)
    _, save = job.report(1, settled=1)
    assert isinstance(save, WriteSavepoint)
    assert job.report(0, 2, settled=1) == []
    assert answers(of_interest(job.coordinator.savepoint_written(request, "path"))) == ["path"]
    job.report(0, 2, settled=1)
    assert job.report(1, 2, settled=1) == []


@pytest.mark.parametrize("hangs", [False, True])
def test_what_a_run_was_to_do_when_its_thread_ended_or_hangs_is_not_waited_for(hangs: bool) -> None:
    job = Job()
    request = savepoint()
    job.report(0, 1)
    job.report(1, 1)
    job.coordinator.run_ended(job.runs[1], has_failed=True)
    [write] = job.report(0, 1)
    job.write(write)
    job.runs[1] = job.start(1)
    job.coordinator.requested(request)
    job.report(1, 1, covers=request)
    write = job.report(0, 2, settled=1, covers=request)[-1]
    job.write(write)
    job.report(1, settled=1)
    assert isinstance(job.report(0, settled=2)[-1], WriteSavepoint)
    event = job.coordinator.run_entered(0)[1] if hangs else job.coordinator.run_ended(job.runs[0], has_failed=True)
    [refused] = answers(of_interest(event))
    assert "a region of it failed" in str(refused)
    assert isinstance(job.report(1, 2, settled=1)[-1], WriteCheckpoint)


def test_a_savepoint_waits_for_regions_that_have_not_begun_and_not_for_those_that_have_ended() -> None:
    """A former JobManager may have decided output of a region that has not begun, and not committed it."""
    for ended, is_written in ((set(), False), ({1}, True)):
        coordinator = CheckpointCoordinator("job", 2, 1, ended=ended)
        run, _ = coordinator.run_entered(0)
        [read] = coordinator.run_begun(run, None)
        assert isinstance(read, ReadCheckpoints)
        coordinator.checkpoints_read(read, 0, ())
        request = savepoint()
        coordinator.requested(request)
        actions = coordinator.reported(run, part_of(1, request), 0)
        assert any(isinstance(action, WriteCheckpoint) for action in actions) is is_written
