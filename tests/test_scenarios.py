"""docs/scenarios.md is up to date."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "scenarios.py"))


def test_each_scenario_has_a_test_or_a_reason_why_not(scenarios: dict[str, Any]) -> None:
    assert len(scenarios["scenario_ids"]()) == 279
    assert scenarios["problems"](scenarios["tests_by_scenario"]()) == []


def test_the_document_is_up_to_date(scenarios: dict[str, Any]) -> None:
    expected = scenarios["document"](scenarios["tests_by_scenario"]())
    assert (DOCS / "scenarios.md").read_text() == expected, "run: python docs/scenarios.py"


def test_missing_or_unknown_names_are_reported(scenarios: dict[str, Any]) -> None:
    tests = scenarios["tests_by_scenario"]()
    del tests["A01"]
    tests["Z99"] = ["tests/a.py::test_a"]
    assert scenarios["problems"](tests) == [
        "A01 has no test and no reason why",
        "Z99 is no scenario, but tests/a.py::test_a names it",
    ]


def test_ids_are_found_after_long_signatures(scenarios: dict[str, Any]) -> None:
    source = """
def test_a(
    one: int,
) -> None:  # A01 B02
    pass  # C03

def other() -> None:  # D04
    pass
"""
    assert list(scenarios["_tests_of"](source)) == [("test_a", ["A01", "B02"])]
