"""The fixture that lets EXPLAIN refuse what an execution refuses sees refusals of each way to run a statement."""

from __future__ import annotations

import pytest

from firesteel.table import TableEnvironment

TABLES = (
    "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen')",
    "CREATE TABLE nothing (n INT) WITH ('connector' = 'blackhole')",
)


@pytest.fixture
def tables(t_env: TableEnvironment) -> TableEnvironment:
    for statement in TABLES:
        t_env.execute_sql(statement)
    return t_env


WAYS = {
    "an INSERT": lambda env: env.execute_sql("INSERT INTO nothing SELECT n FROM numbers"),
    "a statement set in SQL": lambda env: env.execute_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO nothing SELECT n FROM numbers; END"
    ),
    "a statement set": lambda env: (
        env.create_statement_set().add_insert_sql("INSERT INTO nothing SELECT n FROM numbers").execute()
    ),
    "a table": lambda env: env.from_path("numbers").execute_insert("nothing"),
    "a query": lambda env: env.execute_sql("SELECT n FROM numbers"),
    "the query of a table": lambda env: env.from_path("numbers").execute(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("option", ["parallelism.default", "execution.checkpointing.num-retained"])
def test_invalid_options(way: str, option: str, tables: TableEnvironment, explain_refuses_the_same: list[str]) -> None:
    tables.get_config().get_configuration().set_string(option, "-2")
    with pytest.raises(Exception, match=option):
        WAYS[way](tables)
    assert explain_refuses_the_same
