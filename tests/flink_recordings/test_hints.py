"""Compares plans and errors of statements with hints with those that Flink gave."""

from __future__ import annotations

import re
from typing import Any

import pytest

from firesteel.table import TableEnvironment
from firesteel.table.errors import SqlParserError, ValidationException
from tests.flink_recordings.recordings import recorded_hints
from tests.table.environments import environment

RECORDED = recorded_hints()
STATEMENTS = RECORDED["statements"]


@pytest.fixture(scope="module")
def environments() -> dict[str, TableEnvironment]:
    made = {mode: environment(mode) for mode in ("streaming", "batch")}
    for t_env in made.values():
        for statement in RECORDED["setup"]:
            t_env.execute_sql(statement)
    return made


@pytest.mark.parametrize("statement", STATEMENTS, ids=[f"{s['mode']}: {s['sql']}" for s in STATEMENTS])
def test_hints_are_planned_and_rejected_as_in_flink(
    environments: dict[str, TableEnvironment], statement: dict[str, Any]
) -> None:
    t_env = environments[statement["mode"]]
    if "plan" in statement:
        text = t_env.explain_sql(statement["sql"])
        plan = text[text.index("== Optimized Physical Plan") : text.index("== Optimized Execution")]
        assert re.findall(r"stateTtlHints=\[\[\[.*?\]\]?\]\]", plan) == statement["plan"]
    elif "error" in statement:
        with pytest.raises(ValidationException) as caught:
            t_env.explain_sql(statement["sql"])
        assert statement["error"] in str(caught.value)
    else:
        with pytest.raises(SqlParserError, match="at line 1, column"):
            t_env.explain_sql(statement["sql"])
