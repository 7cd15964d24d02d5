"""INSERT ... ON CONFLICT: what it says about rows that share a primary key of the sink."""

from __future__ import annotations

import pytest

from firesteel.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from firesteel.table.errors import SqlParserException, ValidationException

GROUPS = "SELECT MAX(k), COUNT(*) FROM t GROUP BY s"
CLAUSE = "ON CONFLICT DO DEDUPLICATE"
OPTIONS = {
    "jdbc": "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:/nowhere.db', 'table-name' = 't'",
    "print": "'connector' = 'print'",
    "filesystem": "'connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json'",
}
REFUSED = {"print": "requires UPDATE_BEFORE", "filesystem": "only accepts INSERT"}


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (k INT, s STRING) WITH ('connector' = 'datagen')")
    for name, options in OPTIONS.items():
        t_env.execute_sql(f"CREATE TABLE {name} (k INT, c BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ({options})")
    return t_env


def test_the_last_row_of_a_key_is_kept_with_and_without_the_clause(t_env: TableEnvironment) -> None:
    details = ExplainDetail.JSON_EXECUTION_PLAN
    plans = [t_env.explain_sql(f"INSERT INTO jdbc {GROUPS}{clause}", details) for clause in ("", f" {CLAUSE}")]
    assert all("SinkMaterializer" in plan for plan in plans)
    config = t_env.get_config()
    config.set("table.exec.sink.require-on-conflict", "true")
    assert "SinkMaterializer" in t_env.explain_sql(f"INSERT INTO jdbc {GROUPS} {CLAUSE}", details)
    message = "default_database.jdbc'. Primary key: \\[k\\], upsert key: none. .* Add ON CONFLICT DO DEDUPLICATE"
    with pytest.raises(ValidationException, match=message):
        t_env.explain_sql(f"INSERT INTO jdbc {GROUPS}")
    config.set("table.exec.sink.upsert-materialize", "FORCE")
    same_key = t_env.explain_sql("INSERT INTO jdbc SELECT k, COUNT(*) FROM t GROUP BY k", details)
    assert "SinkMaterializer" in same_key  # Its upsert key is the primary key, so no clause is asked for.


@pytest.mark.parametrize("sink", REFUSED)
def test_a_sink_that_does_not_replace_rows_can_not_have_the_clause(t_env: TableEnvironment, sink: str) -> None:
    rows = "SELECT k, CAST(k AS BIGINT) FROM t" if sink == "filesystem" else GROUPS
    with pytest.raises(ValidationException, match=f"only allowed for upsert sinks. .*{REFUSED[sink]}"):
        t_env.explain_sql(f"INSERT INTO {sink} {rows} {CLAUSE}")


@pytest.mark.parametrize("strategy", ["ERROR", "NOTHING"])
def test_other_strategies_are_refused_by_name(t_env: TableEnvironment, strategy: str) -> None:
    with pytest.raises(SqlParserException, match=f"ON CONFLICT DO {strategy} is not supported.*DO DEDUPLICATE keeps"):
        t_env.explain_sql(f"INSERT INTO jdbc {GROUPS} ON CONFLICT DO {strategy}")
    with pytest.raises(SqlParserException, match='Encountered "REPLACE"'):
        t_env.explain_sql(f"INSERT INTO jdbc {GROUPS} ON CONFLICT DO REPLACE")
