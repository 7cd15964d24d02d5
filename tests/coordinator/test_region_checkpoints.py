"""What a region does about checkpoints: when it takes a part, what it commits, and what it does next."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.coordinator.checkpoint_messages import CommitPart, Directive, Part, Request
from firesteel.coordinator.region_checkpoints import RegionCheckpoints, Step
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import RegionState


def take(region: RegionCheckpoints, *covers: Request, has_ended: bool = False) -> Part:
    """Take a part whose files are stored."""
    state = RegionState(0, {}, b"", b"", None)
    region.take(Part(state, frozenset(covers), 0.0, {}), set(), has_ended, 0.0)
    assert region.part is not None
    return region.part


def request(after: AfterSavepoint | None = AfterSavepoint.GO_ON) -> Request:
    """Return a request for a savepoint, or without an action after it for a checkpoint."""
    parent = None if after is None else Path("/savepoints")
    return Request(lambda answer: None, parent, after or AfterSavepoint.GO_ON)


def test_a_decided_part_is_committed_once_and_without_what_came_later() -> None:
    region = RegionCheckpoints({})
    region.batch_ended(["a"], [], 0.0)
    first = take(region)
    region.batch_ended(["b"], [], 0.0)
    second = take(region)
    decided = Directive(1, first, frozenset({0}))
    assert region.directed(decided, 0.0) == [CommitPart(("a",), 0, frozenset({0}))]
    assert (region.directed(decided, 0.0), region.directed(Directive(2, first), 0.0)) == ([], [])
    assert (region.part, region.settled) == (second, 0)
    region.committed()
    assert region.settled == 1
    assert region.directed(Directive(3, second), 0.0) == [CommitPart(("b",), 0, frozenset())]
    assert region.part is None


def test_a_directive_that_comes_late_changes_nothing() -> None:
    region = RegionCheckpoints({})
    asked = request()
    region.directed(Directive(2), 0.0)
    region.directed(Directive(1, asked=frozenset({asked}), is_wanted=True), 0.0)
    assert (region.asked, region.is_wanted) == (frozenset(), False)


def test_a_newer_part_covers_what_the_one_before_covered() -> None:
    region = RegionCheckpoints({})
    one, other = request(None), request(None)
    take(region, one)
    assert take(region, other).covers == {one, other}


def test_a_region_takes_part_when_it_is_asked_whatever_the_limits() -> None:
    region = RegionCheckpoints({"execution.checkpointing.min-pause": "1 h"}, interval_s=100.0)
    take(region)
    region.directed(Directive(1, region.part), now_s=1.0)
    assert not region.is_due(2.0, 0.1)
    region.directed(Directive(2, is_wanted=True), now_s=2.0)
    assert (region.is_wanted, region.is_due(2.0, 0.1)) == (True, False), "the pause has not passed"
    region.directed(Directive(3, asked=frozenset({request(None)})), now_s=2.0)
    assert region.is_due(2.0, 0.1)


def test_a_checkpoint_is_due_only_if_there_is_something_for_it() -> None:
    region = RegionCheckpoints({}, interval_s=10.0)
    assert region.due_in_s(0.0) == float("inf")
    region.processed(is_checkpoint=False, was_idle=False, has_more=False)
    take(region)
    assert region.due_in_s(4.0) == 6.0
    region.processed(is_checkpoint=False, was_idle=True, has_more=False)
    assert region.due_in_s(4.0) == 6.0
    region.processed(is_checkpoint=True, was_idle=False, has_more=False)
    assert region.due_in_s(4.0) == float("inf")
    region.processed(is_checkpoint=True, was_idle=False, has_more=True)
    assert region.due_in_s(4.0) == 6.0


AFTER = {
    AfterSavepoint.GO_ON: Step.GO_ON,
    AfterSavepoint.STOP: Step.FINISH,
    AfterSavepoint.DRAIN: Step.FINISH,
    AfterSavepoint.HOLD: Step.WAIT,
}


@pytest.mark.parametrize("after", AfterSavepoint)
def test_a_region_stands_still_for_a_savepoint_and_does_then_what_was_asked(after: AfterSavepoint) -> None:
    region = RegionCheckpoints({})
    savepoint = request(after)
    region.directed(Directive(1, asked=frozenset({savepoint})), 0.0)
    drains = after is AfterSavepoint.DRAIN
    assert region.next_step(has_ended=False) is (Step.DRAIN if drains else Step.TAKE_NOTHING)
    take(region, savepoint, has_ended=drains)
    assert region.next_step(has_ended=drains) is Step.WAIT
    region.directed(Directive(2, region.part, outcomes={savepoint: True}), 0.0)
    assert region.next_step(has_ended=drains) is AFTER[after]
    restarted = RegionCheckpoints({})
    restarted.directed(Directive(3, outcomes={savepoint: True}), 0.0)
    assert restarted.next_step(has_ended=False) is AFTER[after], "a region that has just restarted does so, too"


@pytest.mark.parametrize("after", AfterSavepoint)
def test_a_region_goes_on_after_a_refused_savepoint_unless_its_sources_were_ended(after: AfterSavepoint) -> None:
    region = RegionCheckpoints({})
    savepoint = request(after)
    drains = after is AfterSavepoint.DRAIN
    take(region, savepoint, has_ended=drains)
    region.directed(Directive(1, outcomes={savepoint: False}), 0.0)
    assert region.next_step(has_ended=drains) is (Step.RESTART if drains else Step.GO_ON)


def test_a_region_that_waits_for_a_savepoint_takes_another_part_if_it_is_asked() -> None:
    region = RegionCheckpoints({})
    savepoint, checkpoint = request(), request(None)
    take(region, savepoint)
    region.directed(Directive(1, asked=frozenset({checkpoint})), 0.0)
    assert region.next_step(has_ended=False) is Step.TAKE_NOTHING
    take(region, checkpoint)
    assert region.next_step(has_ended=False) is Step.WAIT


def test_a_region_that_has_ended_waits_until_its_last_part_is_decided() -> None:
    region = RegionCheckpoints({})
    part = take(region, has_ended=True)
    region.directed(Directive(1, asked=frozenset({request()})), 0.0)
    assert (region.asked, region.next_step(has_ended=True)) == (frozenset(), Step.WAIT)
    region.directed(Directive(2, part), 0.0)
    assert region.next_step(has_ended=True) is Step.FINISH
