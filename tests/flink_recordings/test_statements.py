"""Compares the results of single SQL statements with those that PyFlink gave."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.table import StreamTableEnvironment
from tests.flink_recordings.recordings import recorded_statements
from tests.flink_recordings.table_results import (
    as_text,
    changes_of,
    remaining_rows,
    schema_of,
    table_environment,
    write_inputs,
)
from tests.seeds import on_spark

pytestmark = pytest.mark.slow
RECORDED = recorded_statements()
QUERIES = RECORDED["queries"]
NULLABLE = {"LAG(qty, 2, 0) OVER (PARTITION BY customer ORDER BY ts) AS p2": ["p2", "INT"]}
"""Columns that Flink declares NOT NULL and that may have NULLs: those of LAG and LEAD with a default."""


def name_of(query: dict[str, Any]) -> str:
    return f"{query['mode']}: {query['sql']}"


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StreamTableEnvironment]:
    directory = tmp_path_factory.mktemp("statements")
    write_inputs(directory)
    made = {mode: table_environment(mode)[1] for mode in ("streaming", "batch")}
    for t_env in made.values():
        for statement in RECORDED["setup"]:
            t_env.execute_sql(statement.replace("{data_dir}", str(directory)))
    return made


@pytest.mark.spark
def test_expressions_have_flinks_types_and_values(environments: dict[str, StreamTableEnvironment]) -> None:
    found: dict[str, Any] = {}
    names = list(RECORDED["expressions"])
    for part in (names[i : i + 40] for i in range(0, len(names), 40)):
        items = ", ".join(f"{expression} AS r{number}" for number, expression in enumerate(part))
        table = environments["batch"].sql_query(f"SELECT {items}")
        ((_, values),) = changes_of(table.execute())
        types = [kind for _, kind in schema_of(table) or []]
        found |= {name: [kind, value] for name, kind, value in zip(part, types, values, strict=True)}
    assert {name: result for name, result in found.items() if result != RECORDED["expressions"][name]} == {}


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_a_query_leaves_flinks_rows(environments: dict[str, StreamTableEnvironment], query: dict[str, Any]) -> None:
    assert_flinks_rows(environments, query)


@pytest.mark.spark
@pytest.mark.parametrize("query", on_spark(QUERIES, 8), ids=name_of)
def test_a_query_leaves_flinks_rows_on_spark(
    environments: dict[str, StreamTableEnvironment], query: dict[str, Any]
) -> None:
    assert_flinks_rows(environments, query)


def assert_flinks_rows(environments: dict[str, StreamTableEnvironment], query: dict[str, Any]) -> None:
    table = environments[query["mode"]].sql_query(query["sql"])
    nullable = [column for text, column in NULLABLE.items() if text in query["sql"]]
    schema = query["schema"] and [next((c for c in nullable if c[0] == one[0]), one) for one in query["schema"]]
    assert schema_of(table) == schema
    assert sorted(remaining_rows(changes_of(table.execute())), key=as_text) == sorted(query["rows"], key=as_text)
