"""Compares the results of table programs with those that PyFlink gave."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from firesteel.compat import alias_pyflink
from tests.flink_recordings.recordings import TABLE_PROGRAMS, recorded_table_results
from tests.flink_recordings.table_results import TableProgram, as_text
from tests.seeds import on_spark

pytestmark = pytest.mark.slow


def modes(path: Path) -> list[str]:
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "MODES":
            return ast.literal_eval(statement.value)
    return ["streaming", "batch"]


CASES = [(path.stem, mode) for path in sorted(TABLE_PROGRAMS.glob("*.py")) for mode in modes(path)]


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_program_gives_pyflinks_results(
    name: str, mode: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert_pyflinks_results(name, mode, tmp_path, capfd)


@pytest.mark.spark
@pytest.mark.parametrize(("name", "mode"), on_spark(CASES, 7))
def test_a_program_gives_pyflinks_results_on_spark(
    name: str, mode: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert_pyflinks_results(name, mode, tmp_path, capfd)


def assert_pyflinks_results(name: str, mode: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    alias_pyflink()
    recorded = recorded_table_results(name)[mode]
    program = TableProgram(name, mode)
    capfd.readouterr()
    ours = program.run(tmp_path, lambda: capfd.readouterr().out)
    assert ours.get("printed") == recorded.get("printed")
    assert ours.get("files") == recorded.get("files")
    assert [error["raised"] for error in ours.get("errors", [])] == [
        error["error"] is not None for error in recorded.get("errors", [])
    ]
    for our_error, error in zip(ours.get("errors", []), recorded.get("errors", []), strict=True):
        assert our_error.get("mentioned") or not error.get("mentioned"), our_error
    for our_item, item in zip(ours.get("items", []), recorded.get("items", []), strict=True):
        assert comparable(our_item, program) == comparable(item, program)


def comparable(item: dict[str, Any], program: TableProgram) -> dict[str, Any]:
    """Return the compared part of a result; CHANGELOG of the program defines how changes are compared."""
    found = {key: value for key, value in item.items() if key in ("value", "final", "schema")}
    if item.get("schema"):
        found["schema"] = [[name, " ".join(kind.split())] for name, kind in item["schema"]]
    matters = program.says("CHANGELOG", True)
    if matters and "changelog" in item:
        found["changelog"] = sorted(item["changelog"], key=as_text) if matters == "multiset" else item["changelog"]
    return found
