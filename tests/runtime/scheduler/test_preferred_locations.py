"""Preferred locations of subtasks (scenarios I)."""

from __future__ import annotations

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.scheduler.preferred_locations import LocationPreferenceConstraint, PreferredLocations
from firesteel.runtime.slotpool.slot import TaskManagerLocation
from tests.runtime.helpers import an_id, job_graph

Edge = tuple[str, str, str]


def placed(producers: dict[str, list[str | None]]) -> ExecutionGraph:
    """A job of sources, each subtask on the TaskExecutor named or without a slot, and a subtask that reads them all."""
    inputs = [(name, "ALL_TO_ALL", "PIPELINED_BOUNDED") for name in producers]
    sources: list[tuple[str, int, list[Edge]]] = [(name, len(places), []) for name, places in producers.items()]
    graph = ExecutionGraph(job_graph(*sources, ("reader", 1, inputs)), ManualClock().now_ms)
    for name, places in producers.items():
        for vertex, place in zip(graph.job_vertices[an_id(name)].vertices, places, strict=True):
            if place is not None:
                vertex.current.assign(f"slot-{name}-{vertex.subtask_index}", place, "", "host")
    return graph


def preferred(graph: ExecutionGraph, **options: object) -> list[str] | None:
    reader = graph.job_vertices[an_id("reader")].vertices[0]
    found = PreferredLocations(graph, **options).of(reader)  # type: ignore[arg-type]
    return None if found is None else [location.task_manager_id for location in found]


def many(count: int, prefix: str = "tm") -> list[str | None]:
    return [f"{prefix}{number}" for number in range(count)]


def test_without_inputs_there_is_no_preference() -> None:  # I01
    graph = placed({"a": ["tm1"]})
    (source,) = graph.job_vertices[an_id("a")].vertices
    assert PreferredLocations(graph).of(source) == ()


def test_up_to_eight_distinct_places_of_an_input_are_preferred() -> None:  # I02
    assert preferred(placed({"a": ["tm1", "tm2", "tm1"]})) == ["tm1", "tm2"]
    assert preferred(placed({"a": many(8) * 2})) == many(8)


def test_an_input_with_more_places_is_ignored_as_a_whole() -> None:  # I03 I05
    assert preferred(placed({"a": many(9)})) == []


def test_the_input_with_the_fewest_places_wins_and_the_first_of_equals() -> None:  # I04
    assert preferred(placed({"a": ["tm1", "tm2"], "b": ["tm3"]})) == ["tm3"]
    assert preferred(placed({"a": ["tm1"], "b": ["tm3"]})) == ["tm1"]


def test_an_ignored_input_displaces_nothing() -> None:  # I04
    assert preferred(placed({"a": ["tm1", "tm2"], "b": many(9, "x")})) == ["tm1", "tm2"]
    assert preferred(placed({"a": many(9, "x"), "b": ["tm1", "tm2"]})) == ["tm1", "tm2"]


def test_if_all_inputs_are_ignored_there_is_no_preference() -> None:  # I05
    assert preferred(placed({"a": many(9), "b": many(10)})) == []


def test_the_location_of_state_overrides_other_preferences() -> None:  # I06
    state = TaskManagerLocation("with-state")
    assert preferred(placed({"a": ["tm1"]}), location_of_state=lambda _: state) == ["with-state"]


@pytest.mark.parametrize(
    ("constraint", "found"),
    [(LocationPreferenceConstraint.ANY, ["tm1"]), (LocationPreferenceConstraint.ALL, None)],
)
def test_any_uses_known_locations_and_all_waits(  # I07
    constraint: LocationPreferenceConstraint, found: list[str] | None
) -> None:
    graph = placed({"a": ["tm1", None]})
    assert preferred(graph, constraint=constraint) == found
    graph.job_vertices[an_id("a")].vertices[1].current.assign("late", "tm2", "", "host")
    assert preferred(graph, constraint=constraint) == ["tm1", "tm2"]
