"""Tables and statements that Flink takes are taken, others are refused: `ddl/record.py` made the recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.errors import FiresteelError
from firesteel.table import EnvironmentSettings, TableEnvironment

RECORDED = json.loads((Path(__file__).parent / "ddl" / "recorded.json").read_text())
DIFFERENT = {
    "a INT, b DECIMAL(39,1)": "refused when the table is created; Flink fails when it is used",
    "a INT, b TIMESTAMP(10)": "refused when the table is created; Flink fails when it is used",
    "a INT, b INTERVAL DAY": "columns can have the type; Flink's parser lacks it in DDL",
    "a INT, b MULTISET<INT>": "JSON has its keys as texts; Flink refuses all keys but texts",
}
"""Columns about which we decide otherwise, and why."""


@pytest.mark.parametrize("connector", RECORDED["connectors"])
def test_tables_are_taken_as_by_flink(connector: str) -> None:
    cases = [case for case in RECORDED["cases"] if case["connector"] == connector]
    different = [case for case in cases if is_taken(case) != case["flink"] and case["columns"] not in DIFFERENT]
    assert different == []


def test_differences_are_there_still() -> None:
    cases = [case for case in RECORDED["cases"] if case["columns"] in DIFFERENT]
    assert {case["columns"] for case in cases if is_taken(case) != case["flink"]} == set(DIFFERENT)


def is_taken(case: dict[str, Any]) -> bool:
    is_batch = case["mode"] == "batch"
    settings = EnvironmentSettings.in_batch_mode() if is_batch else EnvironmentSettings.in_streaming_mode()
    t_env, options = TableEnvironment.create(settings), RECORDED["connectors"][case["connector"]]
    try:
        t_env.execute_sql(f"CREATE TABLE t ({case['columns']}) {case['tail']} WITH ({options})")
        t_env.explain_sql(case["statement"])
    except FiresteelError:
        return False
    return True


def test_types_views_and_replacement_in_ddl() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE t (ltz TIMESTAMP_LTZ(3), xs ARRAY<TIMESTAMP_LTZ(6)>) WITH ('connector' = 'datagen')"
    )
    with t_env.execute_sql("SHOW CREATE TABLE t").collect() as rows:
        [(text,)] = rows
    assert "`ltz` TIMESTAMP(3) WITH LOCAL TIME ZONE,\n  `xs` ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>\n" in text
    t_env.execute_sql("CREATE VIEW v AS SELECT 1 AS a")
    with pytest.raises(FiresteelError, match=r"Source table '.*`v`' of the LIKE clause can not be a VIEW"):
        t_env.execute_sql("CREATE TABLE w LIKE v")
    with pytest.raises(FiresteelError, match="already exists"):
        t_env.execute_sql("CREATE OR REPLACE TABLE t (a INT) WITH ('connector' = 'datagen')")
