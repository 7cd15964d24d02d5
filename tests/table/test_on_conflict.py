"""INSERT ... ON CONFLICT: what it says about rows that share a primary key of the sink."""

from __future__ import annotations

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.errors import SqlParserException, ValidationException

GROUPS = "SELECT MAX(k), COUNT(*) FROM t GROUP BY s"
CLAUSE = "ON CONFLICT DO DEDUPLICATE"
SINKS = {"blackhole": "it is an upsert sink", "print": "requires UPDATE_BEFORE", "filesystem": "only accepts INSERT"}


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (k INT, s STRING) WITH ('connector' = 'datagen')")
    for name in SINKS:
        options = ", 'path' = '/nowhere', 'format' = 'json'" if name == "filesystem" else ""
        columns = "k INT, c BIGINT, PRIMARY KEY (k) NOT ENFORCED"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = '{name}'{options})")
    return t_env


def test_the_last_row_of_a_key_is_kept_with_and_without_the_clause(t_env: TableEnvironment) -> None:
    plans = [t_env.explain_sql(f"INSERT INTO blackhole {GROUPS}{clause}") for clause in ("", f" {CLAUSE}")]
    assert plans[0] == plans[1]
    t_env.get_config().set("table.exec.sink.require-on-conflict", "true")
    assert t_env.explain_sql(f"INSERT INTO blackhole {GROUPS} {CLAUSE}") == plans[0]
    message = "default_database.blackhole'. Primary key: \\[k\\], upsert key: none. .* Add ON CONFLICT DO DEDUPLICATE"
    with pytest.raises(ValidationException, match=message):
        t_env.explain_sql(f"INSERT INTO blackhole {GROUPS}")
    same_key = t_env.explain_sql("INSERT INTO blackhole SELECT k, COUNT(*) FROM t GROUP BY k")
    assert "GroupAggregate" in same_key


@pytest.mark.parametrize("sink", ["print", "filesystem"])
def test_a_sink_that_does_not_replace_rows_can_not_have_the_clause(t_env: TableEnvironment, sink: str) -> None:
    rows = "SELECT k, CAST(k AS BIGINT) FROM t" if sink == "filesystem" else GROUPS
    with pytest.raises(ValidationException, match=f"only allowed for upsert sinks. .*{SINKS[sink]}"):
        t_env.explain_sql(f"INSERT INTO {sink} {rows} {CLAUSE}")


@pytest.mark.parametrize("strategy", ["ERROR", "NOTHING"])
def test_other_strategies_are_refused_by_name(t_env: TableEnvironment, strategy: str) -> None:
    with pytest.raises(SqlParserException, match=f"ON CONFLICT DO {strategy} is not supported.*DO DEDUPLICATE keeps"):
        t_env.explain_sql(f"INSERT INTO blackhole {GROUPS} ON CONFLICT DO {strategy}")
    with pytest.raises(SqlParserException, match='Encountered "REPLACE"'):
        t_env.explain_sql(f"INSERT INTO blackhole {GROUPS} ON CONFLICT DO REPLACE")
