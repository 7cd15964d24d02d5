"""A table with a primary key has, at the end, the rows of the query: none too old, none too many."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.options.option import InvalidOptionError
from firesteel.table import ExplainDetail
from firesteel.table.errors import TableException
from firesteel.testing import run_local
from tests.table.test_row_kinds import changelog, environment, folded

NAMES = [(number, f"n{number}") for number in range(8)]


def written(
    path: Path, query: str, columns: str, key: str, tables: dict[str, list[Row]], **options: str
) -> set[tuple[Any, ...]]:
    """The rows of a table of SQLite after an INSERT."""
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE t ({columns}, PRIMARY KEY ({key}))")
    env, t_env = environment(tables)
    for option, value in options.items():
        t_env.get_config().set(option.replace("_", "."), value)
    t_env.create_temporary_view("names", t_env.from_elements(NAMES, ["number", "name"]))
    t_env.execute_sql(
        f"CREATE TABLE t ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 't')"
    )
    statements = t_env.create_statement_set()
    statements.add_insert_sql(f"INSERT INTO t {query}")
    statements.attach_as_datastream()
    run_local(env, batch_elements=7)
    with sqlite3.connect(path) as database:
        return set(database.execute("SELECT * FROM t").fetchall())


def rows(seed: int) -> list[Row]:
    return folded(changelog(seed))


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_a_condition_no_longer_passes_are_deleted(seed: int, tmp_path: Path) -> None:
    tables = {"a": changelog(seed)}
    query = "SELECT k, COUNT(*) FROM a GROUP BY k HAVING COUNT(*) < 4"
    counts = {row[1]: sum(other[1] == row[1] for other in rows(seed)) for row in rows(seed)}
    expected = {(k, n) for k, n in counts.items() if n < 4}
    assert written(tmp_path / "a.db", query, "k STRING, n BIGINT", "k", tables) == expected
    found = written(tmp_path / "b.db", "SELECT id, v FROM a WHERE v < 4", "id INT, v INT", "id", tables)
    assert found == {(row[0], row[2]) for row in rows(seed) if row[2] < 4}


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_take_other_ways_leave_no_stale_ones(seed: int, tmp_path: Path) -> None:
    """The rows of one id are joined in the subtask of `v`, which changes."""
    query = "SELECT a.id, a.v, name FROM a JOIN names ON a.v = number"
    found = written(tmp_path / "t.db", query, "id INT, v INT, name STRING", "id", {"a": changelog(seed)})
    assert found == {(row[0], row[2], f"n{row[2]}") for row in rows(seed)}


@pytest.mark.parametrize("seed", range(3))
def test_of_several_rows_of_a_key_one_that_is_there_is_shown(seed: int, tmp_path: Path) -> None:
    found = written(tmp_path / "t.db", "SELECT k, id, v FROM a", "k STRING, id INT, v INT", "k", {"a": changelog(seed)})
    there = {(row[1], row[0], row[2]) for row in rows(seed)}
    assert found <= there
    assert {row[0] for row in found} == {row[0] for row in there}


COUNTS = "(SELECT k, COUNT(*) AS n FROM a GROUP BY k)"
RANKED = "(SELECT *, ROW_NUMBER() OVER (ORDER BY n DESC, k) AS r FROM {})"
REPLACED = {
    f"SELECT k, n FROM {COUNTS} AS c": "k STRING, n BIGINT",
    f"SELECT k, n FROM {RANKED.format(COUNTS)} WHERE r <= 2": "k STRING, n BIGINT",
    f"SELECT k, n FROM {RANKED.format(COUNTS)} WHERE r BETWEEN 2 AND 3": "k STRING, n BIGINT",
    f"SELECT r, k, n FROM {RANKED.format(COUNTS)} WHERE r BETWEEN 2 AND 3": "r BIGINT, k STRING, n BIGINT",
    "SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS r FROM a) WHERE r = 1": (
        "k STRING, id INT, v INT"
    ),
    f"SELECT k, n FROM {COUNTS} AS c WHERE n > 2 UNION ALL SELECT CONCAT(k, '!'), n FROM {COUNTS} AS c": (
        "k STRING, n BIGINT"
    ),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("query", REPLACED)
def test_rows_are_replaced_as_often_as_they_are_updated(query: str, seed: int, tmp_path: Path) -> None:
    """Whatever of each update is sent: the rows of the last moment are those of the query over what is left."""
    columns = REPLACED[query]
    key = columns.split()[0]
    found = written(tmp_path / "a.db", query, columns, key, {"a": changelog(seed)})
    assert found == written(tmp_path / "b.db", query, columns, key, {"a": rows(seed)})
    assert found


def test_the_materializer_can_be_forced_and_a_wrong_value_is_named(tmp_path: Path) -> None:
    tables, query = {"a": changelog(0)}, "SELECT id, v FROM a"
    option = "table.exec.sink.upsert-materialize"
    found = written(tmp_path / "a.db", query, "id INT, v INT", "id", tables, **{option: "FORCE"})
    assert found == {(row[0], row[2]) for row in rows(0)}
    with pytest.raises(InvalidOptionError, match="'SOMETIMES' is unknown; allowed: AUTO, FORCE, NONE"):
        written(tmp_path / "b.db", query, "id INT, v INT", "id", tables, **{option: "SOMETIMES"})


def test_changes_of_files_reach_no_sink_that_takes_inserts(tmp_path: Path) -> None:
    _, t_env = environment({"a": changelog(0)})
    (tmp_path / "in").mkdir()
    t_env.execute_sql(
        "CREATE TABLE changes (id INT, v INT) WITH ('connector' = 'filesystem', 'format' = 'debezium-json', "
        f"'path' = '{tmp_path}/in')"
    )
    t_env.execute_sql(
        "CREATE TABLE plain (id INT, v INT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{tmp_path}/out')"
    )
    with pytest.raises(TableException, match="plain' doesn't support consuming update and delete"):
        t_env.execute_sql("INSERT INTO plain SELECT * FROM changes")


def test_a_group_that_is_updated_is_replaced_and_not_deleted(tmp_path: Path) -> None:
    """Keys of tables are NOT NULL, so the column of the query is cast; it is the same column."""
    _, t_env = environment({"a": rows(0)})
    t_env.execute_sql(
        "CREATE TABLE t (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{tmp_path}/t.db', 'table-name' = 't')"
    )
    plan = t_env.explain_sql("INSERT INTO t SELECT k, COUNT(*) FROM a GROUP BY k", ExplainDetail.JSON_EXECUTION_PLAN)
    assert "DropUpdateBefore" in plan or "ConstraintEnforcer" in plan
    assert "SinkMaterializer" not in plan
