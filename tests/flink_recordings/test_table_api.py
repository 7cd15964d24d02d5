"""Compares the results of single expressions and operations of the Table API with those that PyFlink gave."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from firesteel import table as table_package
from firesteel.common import Row
from firesteel.table import expression, expressions, udf, window
from tests.flink_recordings.recordings import recorded_table_api
from tests.flink_recordings.table_results import as_text, changes_of, remaining_rows, schema_of, table_environment
from tests.seeds import on_spark

pytestmark = pytest.mark.slow
RECORDED = recorded_table_api()
EVENTS = "2024-01-01 00:00:01,a,1\n2024-01-01 00:00:04,b,2\n2024-01-01 00:00:12,a,3\n2024-01-01 00:00:27,a,4\n"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the recorded code uses: what PyFlink's modules export, and the tables `t`, `u` and `ev`."""
    events = tmp_path_factory.mktemp("table_api") / "events.csv"
    events.write_text(EVENTS)
    t_env = table_environment("streaming")[1]
    t_env.execute_sql(f"""CREATE TEMPORARY TABLE ev (ts TIMESTAMP(3), k STRING, v INT, pt AS PROCTIME(),
        WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
        WITH ('connector' = 'filesystem', 'path' = '{events}', 'format' = 'csv')""")
    found: dict[str, Any] = {"datetime": datetime, "Decimal": Decimal, "Row": Row, "expr": expressions, "t_env": t_env}
    for module in (table_package, expressions, expression, udf, window):
        found |= {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    found["t"] = t_env.from_elements([(1, "a", 2.5), (2, "b", 3.5), (3, "a", 4.5)], ["id", "k", "v"])
    found["u"] = t_env.from_elements([("a", 10), ("c", 30)], ["k2", "w"])
    found["ev"] = t_env.from_path("ev")
    return found


@pytest.mark.spark
def test_expressions_have_flinks_types_and_values(names: dict[str, Any]) -> None:
    found: dict[str, Any] = {}
    recorded = list(RECORDED["expressions"])
    for part in (recorded[i : i + 40] for i in range(0, len(recorded), 40)):
        items = [eval(code, dict(names)).alias(f"r{number}") for number, code in enumerate(part)]
        table = names["t_env"].from_elements([(1,)], ["q"]).select(*items)
        ((_, values),) = changes_of(table.execute())
        types = [kind for _, kind in schema_of(table) or []]
        found |= {name: [kind, value] for name, kind, value in zip(part, types, values, strict=True)}
    assert {name: result for name, result in found.items() if result != RECORDED["expressions"][name]} == {}


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("name", RECORDED["tables"])
def test_a_table_has_flinks_schema_and_rows(name: str, names: dict[str, Any]) -> None:
    assert_flinks_rows(name, names)


@pytest.mark.spark
@pytest.mark.parametrize("name", on_spark(RECORDED["tables"], 7))
def test_a_table_has_flinks_schema_and_rows_on_spark(name: str, names: dict[str, Any]) -> None:
    assert_flinks_rows(name, names)


def assert_flinks_rows(name: str, names: dict[str, Any]) -> None:
    recorded = RECORDED["tables"][name]
    local = dict(names)
    exec(recorded["code"], local)
    table = local["R"]
    schema = (
        [pair for pair in schema_of(table) or [] if pair[0] != "$watermark"] if hasattr(table, "get_schema") else []
    )
    assert schema == recorded["schema"]
    result = table.execute() if hasattr(table, "execute") else table
    assert sorted(remaining_rows(changes_of(result)), key=as_text) == sorted(recorded["rows"], key=as_text)
