"""When a job continues with another parallelism, and with which."""

from __future__ import annotations

import pytest

from firesteel.graph.job_graph import ParallelismBounds
from firesteel.runtime.scheduler.rescaling import Rescaling, RescalingOptions
from tests.runtime.helpers import an_id, job_graph

A = an_id("a")
OPTIONS = RescalingOptions(is_adaptive=False, cooldown_s=30, running_s=60, submission_s=10)
ADAPTIVE = RescalingOptions(is_adaptive=True, cooldown_s=30, running_s=60, submission_s=10)


def rescaling(options: RescalingOptions, parallelism: int = 4) -> Rescaling:
    return Rescaling(job_graph(("a", parallelism, [])), options)


def required(rescaling: Rescaling, lower: int, upper: int) -> Rescaling:
    rescaling.require({A: ParallelismBounds(lower, upper)})
    return rescaling


@pytest.mark.parametrize(("slots", "is_up"), [(2, False), (4, True), (8, True)])
def test_a_job_that_nobody_changes_stays_as_it_is(slots: int, is_up: bool) -> None:
    assert rescaling(OPTIONS).target(0, {A: 4}, slots, is_up) is None


def test_a_running_job_changes_at_once_if_it_has_the_slots() -> None:
    assert required(rescaling(OPTIONS), 1, 6).target(5, {A: 4}, 6, True) == ({A: 6}, float("-inf"))


def test_it_waits_for_slots_and_then_makes_do_with_fewer() -> None:
    job = required(rescaling(OPTIONS), 1, 6)
    assert job.target(5, {A: 4}, 4, True) is None
    assert job.target(7, {A: 4}, 5, True) == ({A: 5}, 67)
    assert job.target(20, {A: 4}, 5, True) == ({A: 5}, 67)
    assert job.target(21, {A: 4}, 6, True) == ({A: 6}, float("-inf"))


def test_it_does_not_change_if_the_slots_are_too_few() -> None:
    assert required(rescaling(OPTIONS), 5, 6).target(5, {A: 4}, 4, True) is None


def test_changes_of_a_running_job_are_some_time_apart() -> None:
    job = required(rescaling(OPTIONS), 1, 2)
    job.rescaled(100)
    required(job, 1, 3)
    assert job.target(101, {A: 2}, 4, True) == ({A: 3}, 130)
    assert job.target(101, {A: 2}, 4, False) == ({A: 3}, 101)


def test_a_parallelism_that_is_not_possible_is_not_tried_again_until_others_are_required() -> None:
    job = required(rescaling(OPTIONS), 1, 6)
    job.refused({A: 6})
    assert job.target(5, {A: 4}, 6, True) is None
    assert required(job, 1, 6).target(5, {A: 4}, 6, True) is not None


def test_an_adaptive_job_starts_with_the_slots_that_there_are() -> None:
    job = rescaling(ADAPTIVE)
    assert job.target(0, {A: 4}, 0, False) is None
    assert job.target(3, {A: 4}, 2, False) == ({A: 2}, 13)
    assert job.target(5, {A: 4}, 3, False) == ({A: 3}, 13)


def test_an_adaptive_job_grows_when_slots_come() -> None:
    job = rescaling(ADAPTIVE)
    job.rescaled(10)
    assert job.target(20, {A: 2}, 3, True) == ({A: 3}, 80)
    assert job.target(25, {A: 2}, 4, True) == ({A: 4}, 40)
