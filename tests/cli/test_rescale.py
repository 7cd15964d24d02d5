"""The parallelism that `firesteel rescale` asks for."""

from __future__ import annotations

import pytest

from firesteel.cli.rescale import _all, _some, _together, _Vertex

VERTICES = [_Vertex("a", "source", 1, 1), _Vertex("b", "map", 1, 128), _Vertex("c", "keyed", 2, 128)]
TOGETHER = [{"a", "b"}, {"c"}]


@pytest.mark.parametrize(
    ("forwards", "groups"),
    [([("a", "b")], [["a", "b"], ["c"]]), ([("a", "c"), ("b", "c")], [["a", "b", "c"]]), ([], [["a"], ["b"], ["c"]])],
)
def test_vertices_that_forward_connects_are_together(forwards: list[tuple[str, str]], groups: list[list[str]]) -> None:
    assert sorted(map(sorted, _together(VERTICES, forwards))) == groups


def test_all_vertices_get_as_much_as_those_can_have_that_change_together() -> None:
    assert _all(VERTICES, TOGETHER, 4) == {"a": 1, "b": 1, "c": 4}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(("keyed=3",), {"c": 3}), (("map=3",), {"a": 3, "b": 3}), (("map=3", "source=2"), {"a": 2, "b": 3})],
)
def test_a_named_vertex_takes_others_along_unless_they_are_named(
    given: tuple[str, ...], wanted: dict[str, int]
) -> None:
    """The JobManager says what it can't do."""
    assert _some(VERTICES, TOGETHER, given) == wanted
