"""Bounds of the parallelism of a job's vertices: which are possible, and what fits into some slots."""

from __future__ import annotations

import pickle

import pytest

from firesteel.graph.job_graph import JobGraph, ParallelismBounds, Partitioner
from firesteel.graph.resource_requirements import (
    ResourceRequirementsError,
    checked_requirements,
    fitting_parallelism,
    requirements_of,
    slots_of,
)
from tests.runtime.helpers import an_id, job_graph

A, B, C = (an_id(name) for name in "abc")


def pair(**groups: str) -> JobGraph:
    job = job_graph(("a", 2, []), ("b", 4, [("a", "ALL_TO_ALL", "PIPELINED")]), groups=groups)
    for vertex in job.vertices:
        vertex.max_parallelism = 8
    return job


def bounds(**of: tuple[int, int]) -> dict[str, ParallelismBounds]:
    return {an_id(name): ParallelismBounds(*pair) for name, pair in of.items()}


def test_without_requirements_a_vertex_runs_with_at_most_the_parallelism_of_the_program() -> None:
    assert requirements_of(pair()) == bounds(a=(1, 2), b=(1, 4))


def test_requirements_are_stored_with_the_job_and_missing_in_jobs_of_earlier_versions() -> None:
    job = pair()
    job.resource_requirements = bounds(a=(1, 1), b=(2, 3))
    assert requirements_of(pickle.loads(pickle.dumps(job))) == bounds(a=(1, 1), b=(2, 3))
    state = job.__getstate__()
    del state["resource_requirements"]
    old = JobGraph("", "")
    old.__setstate__(state)
    assert requirements_of(old) == bounds(a=(1, 2), b=(1, 4))


def test_minus_one_stands_for_the_smallest_and_the_largest_parallelism() -> None:
    assert checked_requirements(pair(), bounds(a=(-1, -1), b=(2, -1))) == bounds(a=(1, 8), b=(2, 8))


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (bounds(a=(0, 1), b=(1, 1)), "must be greater than zero"),
        (bounds(a=(3, 2), b=(1, 1)), "is higher than the upper bound [2]"),
        (bounds(a=(1, 9), b=(1, 1)), "The newly requested parallelism 9 for the job vertex"),
        (bounds(a=(1, 1)), "The request is incomplete, missing job vertex"),
        (bounds(a=(1, 1), b=(1, 1), c=(1, 1)), f"Job vertex [{C}] was not found in the JobGraph."),
    ],
)
def test_impossible_bounds_are_refused(requested: dict[str, ParallelismBounds], message: str) -> None:
    with pytest.raises(ResourceRequirementsError) as error:
        checked_requirements(pair(), requested)
    assert message in str(error.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ResourceRequirementsError) as error:
        checked_requirements(pair(), bounds(a=(0, 1), c=(1, 1)))
    assert len(str(error.value).splitlines()) == 3


def test_vertices_that_are_connected_by_forward_need_the_same_bounds() -> None:
    job = pair()
    job.vertices[1].inputs[0].partitioner = Partitioner("FORWARD")
    with pytest.raises(ResourceRequirementsError, match="connected by FORWARD and need the same bounds"):
        checked_requirements(job, bounds(a=(1, 2), b=(1, 3)))
    assert checked_requirements(job, bounds(a=(1, 3), b=(1, 3))) == bounds(a=(1, 3), b=(1, 3))


@pytest.mark.parametrize(("slots", "expected"), [(0, None), (1, {A: 1, B: 1}), (3, {A: 2, B: 3}), (9, {A: 2, B: 4})])
def test_vertices_of_one_group_share_slots(slots: int, expected: dict[str, int] | None) -> None:
    job = pair()
    assert fitting_parallelism(job, requirements_of(job), slots) == expected
    assert expected is None or slots_of(job, expected) == max(expected.values()) <= slots


@pytest.mark.parametrize(
    ("slots", "expected"),
    [(1, None), (2, {A: 1, B: 1}), (3, {A: 1, B: 2}), (4, {A: 2, B: 2}), (5, {A: 2, B: 3}), (9, {A: 2, B: 4})],
)
def test_groups_get_slots_evenly_and_leave_what_they_do_not_need(slots: int, expected: dict[str, int] | None) -> None:
    job = pair(a="first", b="second")
    assert fitting_parallelism(job, requirements_of(job), slots) == expected
    assert expected is None or slots_of(job, expected) == sum(expected.values()) <= slots


def test_forward_keeps_vertices_of_different_groups_equal() -> None:
    job = pair(a="first", b="second")
    job.vertices[1].inputs[0].partitioner = Partitioner("FORWARD")
    assert fitting_parallelism(job, bounds(a=(1, 4), b=(1, 4)), 5) == {A: 2, B: 2}
