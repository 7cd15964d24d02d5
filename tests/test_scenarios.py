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


@pytest.fixture(scope="module")
def tests(scenarios: dict[str, Any]) -> dict[str, list[str]]:
    """The tests of each scenario; all test files are read."""
    found: dict[str, list[str]] = scenarios["tests_by_scenario"]()
    return found


def test_each_scenario_has_a_test_or_a_reason_why_not(scenarios: dict[str, Any], tests: dict[str, list[str]]) -> None:
    assert len(scenarios["scenario_ids"]()) == 279
    assert scenarios["problems"](tests) == []


def test_the_document_is_up_to_date(scenarios: dict[str, Any], tests: dict[str, list[str]]) -> None:
    expected = scenarios["document"](tests)
    assert (DOCS / "scenarios.md").read_text() == expected, "run: python docs/scenarios.py"


def test_missing_or_unknown_names_are_reported(scenarios: dict[str, Any], tests: dict[str, list[str]]) -> None:
    changed = {**tests, "Z99": ["tests/a.py::test_a"]}
    del changed["A01"]
    assert scenarios["problems"](changed) == [
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
