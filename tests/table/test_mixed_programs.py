"""Statements in a program that has DataStream pipelines, too: they run without these, as in Flink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from tests.end_to_end.local_executor import local_execution


def _statement_set(t_env: StreamTableEnvironment) -> None:
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO copy SELECT n FROM numbers")
    statements.execute()


def _collected(t_env: StreamTableEnvironment) -> None:
    with t_env.sql_query("SELECT n FROM numbers").execute().collect() as rows:
        print(*(f"TABLE> +I[{row[0]}]" for row in rows), sep="\n")


STATEMENTS = {
    "INSERT": lambda t_env: t_env.execute_sql("INSERT INTO copy SELECT n FROM numbers").wait(),
    "execute_insert": lambda t_env: t_env.from_path("numbers").execute_insert("copy").wait(),
    "statement set": _statement_set,
    "collect": _collected,
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_runs_alone_and_execute_the_rest(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed() -> list[str]:
        return sorted(capsys.readouterr().out.splitlines())

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    numbers: Any = env.from_collection([(1,), (2,)], Types.ROW_NAMED(["n"], [Types.INT()]))
    t_env.create_temporary_view("numbers", t_env.from_data_stream(numbers))
    t_env.execute_sql("CREATE TABLE copy (n INT) WITH ('connector' = 'print', 'print-identifier' = 'TABLE')")
    numbers.map(str, Types.STRING()).print("OF THE SAME SOURCE")
    t_env.to_data_stream(t_env.from_path("numbers")).print("FROM TABLE")
    env.from_collection(["x"], Types.STRING()).print("STREAM")
    with local_execution():
        STATEMENTS[name](t_env)
        assert printed() == ["TABLE> +I[1]", "TABLE> +I[2]"]
        env.execute()
    of_rows = [f"{where}> {row}" for where in ("FROM TABLE", "OF THE SAME SOURCE") for row in ("+I[1]", "+I[2]")]
    assert [line.replace("Row(n=1)", "+I[1]").replace("Row(n=2)", "+I[2]") for line in printed()] == [
        *of_rows,
        "STREAM> x",
    ]
