"""Tables of a database."""

import sqlite3

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


def test_rows_replace_those_of_their_keys_and_come_back(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE totals (k TEXT PRIMARY KEY, n BIGINT)")
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(
        "CREATE TABLE t (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'totals')"
    )
    t_env.execute_sql("INSERT INTO t SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS T(k) GROUP BY k").wait()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT k, n FROM totals ORDER BY k").fetchall() == [("a", 2), ("b", 1)]
    with t_env.execute_sql("SELECT n, k FROM t").collect() as rows:
        assert sorted(tuple(row) for row in rows) == [(1, "b"), (2, "a")]
