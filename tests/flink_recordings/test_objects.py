"""Compares statements about models and functions with those that Flink ran, in the same order."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from firesteel.compat import alias_pyflink
from firesteel.table import TableEnvironment
from firesteel.table.errors import SqlParserError, TableException
from tests.flink_recordings.recordings import recorded_objects
from tests.table.environments import environment

RECORDED = recorded_objects()


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of functions that Flink loaded, `funcs`."""
    alias_pyflink()
    (tmp_path / "funcs.py").write_text(RECORDED["module"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "funcs", raising=False)
    yield importlib.import_module("funcs")
    sys.modules.pop("funcs", None)


@pytest.mark.parametrize("sequence", RECORDED["sequences"])
def test_statements_have_flinks_results(sequence: str, functions: Any) -> None:
    t_env = environment()
    differences = []
    for statement in RECORDED["sequences"][sequence]:
        if "python" in statement:
            exec(statement["python"], {"t_env": t_env, "funcs": functions})
            continue
        found = outcome(t_env, statement["sql"])
        if not fits(found, statement):
            differences.append((statement["sql"], found))
    assert differences == []


def outcome(t_env: TableEnvironment, sql: str) -> Any:
    try:
        result = t_env.execute_sql(sql)
    except TableException as error:
        return error
    with result.collect() as rows:
        values = [[None if value is None else str(value) for value in row] for row in rows]
    return [result.get_table_schema().get_field_names(), values]


def fits(found: Any, statement: dict[str, Any]) -> bool:
    if "parse_error" in statement:
        return isinstance(found, SqlParserError)
    if "error" in statement:
        return isinstance(found, TableException) and statement["error"] in str(found)
    return found == [statement["columns"], without_built_in_signature(statement["rows"])]


def without_built_in_signature(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows without a row that firesteel does not have: built-in functions do not declare signatures."""
    built_in = rows[:2] == [["is system function", "true"], ["is temporary", "false"]]
    return [row for row in rows if not (built_in and row[0] == "signature")]
