"""Each option of tables that is read has the effect that its description promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, ExplainDetail, Schema, StreamTableEnvironment
from firesteel.table.errors import TableException
from firesteel.testing import run_local

INSERT, BEFORE, AFTER, DELETE = RowKind


def environment(**options: str) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    for key, value in options.items():
        t_env.get_config().set(key, value)
    return env, t_env


def written(env: Any, tmp_path: Any, columns: str, query: str) -> list[str]:
    """The lines of a file to which a query is written as JSON."""
    environment, t_env = env
    t_env.execute_sql(
        f"CREATE TABLE target ({columns}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    )
    statements = t_env.create_statement_set()
    statements.add_insert_sql(f"INSERT INTO target {query}")
    statements.attach_as_datastream()
    run_local(environment)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    return sorted(line for path in files for line in path.read_text().splitlines())


LENGTHS = "c CHAR(4), v VARCHAR(3)"


def with_texts(env: Any) -> None:
    """A table `t` whose values do not keep the lengths of its columns, as those of a source may."""
    schema = Schema.new_builder().column("c", DataTypes.CHAR(4)).column("v", DataTypes.VARCHAR(3)).build()
    rows = [Row("abcdef", "äöüß"), Row("ab", "x"), Row(None, None)]
    stream = env[0].from_collection(rows, Types.ROW_NAMED(["c", "v"], [Types.STRING(), Types.STRING()]))
    env[1].create_temporary_view("t", env[1].from_data_stream(stream, schema))


def test_lengths_are_ignored_by_default(tmp_path: Any) -> None:
    env = environment()
    with_texts(env)
    assert written(env, tmp_path, LENGTHS, "SELECT * FROM t") == [
        '{"c":"ab","v":"x"}',
        '{"c":"abcdef","v":"äöüß"}',
        '{"c":null,"v":null}',
    ]


def test_texts_are_cut_and_padded(tmp_path: Any) -> None:
    env = environment(**{"table.exec.sink.type-length-enforcer": "TRIM_PAD"})
    with_texts(env)
    assert written(env, tmp_path, LENGTHS, "SELECT * FROM t") == [
        '{"c":"ab  ","v":"x"}',
        '{"c":"abcd","v":"äöü"}',
        '{"c":null,"v":null}',
    ]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("c = 'ab'", r"Column 'c' is CHAR\(4\), however, a string of length 2 is being written into it"),
        ("c <> 'ab'", r"Column 'c' is CHAR\(4\), however, a string of length 6 is being written into it"),
    ],
)
def test_texts_of_other_lengths_are_errors(tmp_path: Any, where: str, message: str) -> None:
    env = environment(**{"table.exec.sink.type-length-enforcer": "ERROR"})
    with_texts(env)
    with pytest.raises(Exception, match=message):
        written(env, tmp_path, LENGTHS, f"SELECT * FROM t WHERE {where}")


def test_null_in_a_not_null_column_is_an_error_or_dropped(tmp_path: Any) -> None:
    query = "SELECT * FROM (VALUES (1, 'a'), (2, CAST(NULL AS STRING))) AS t (id, s)"
    with pytest.raises(Exception, match="Column 's' is NOT NULL, however, a null value is being written into it"):
        written(environment(), tmp_path / "error", "id INT, s STRING NOT NULL", query)
    env = environment(**{"table.exec.sink.not-null-enforcer": "drop"})
    assert written(env, tmp_path / "drop", "id INT, s STRING NOT NULL", query) == ['{"id":1,"s":"a"}']


def changes(env: Any, rows: list[tuple[RowKind, int, str]], key: bool = True) -> list[tuple[Any, ...]]:
    """What a changelog of a program has become when it is read."""
    schema = Schema.new_builder().column("id", DataTypes.INT().not_null()).column("s", DataTypes.STRING())
    schema = schema.primary_key("id") if key else schema
    elements = [Row.of_kind(kind, *values) for kind, *values in rows]
    stream = env[0].from_collection(elements, Types.ROW_NAMED(["id", "s"], [Types.INT(), Types.STRING()]))
    table = env[1].from_changelog_stream(stream, schema.build())
    env[1].to_changelog_stream(table).collect_async()
    return [(row.get_row_kind(), *row) for row in run_local(env[0]).elements]


REPEATED = [
    (INSERT, 1, "a"),
    (BEFORE, 1, "a"),
    (AFTER, 1, "b"),
    (INSERT, 1, "a"),  # the changes come again after a failure
    (BEFORE, 1, "a"),
    (AFTER, 1, "b"),
    (INSERT, 2, "c"),
    (DELETE, 2, "c"),
    (DELETE, 2, "c"),
]


def test_changes_that_come_again_are_compared_with_the_last_row() -> None:
    found = changes(environment(**{"table.exec.source.cdc-events-duplicate": "true"}), REPEATED)
    counts: Counter[tuple[Any, ...]] = Counter()
    for kind, *values in found:
        counts[tuple(values)] += 1 if kind in (INSERT, AFTER) else -1
        assert counts[tuple(values)] in (0, 1)
    assert list(counts.elements()) == [(1, "b")]
    assert len(changes(environment(), REPEATED)) == len(REPEATED)


def test_changes_that_may_come_again_need_a_primary_key() -> None:
    env = environment(**{"table.exec.source.cdc-events-duplicate": "true"})
    with pytest.raises(TableException, match="requires the changelog sources to define a PRIMARY KEY"):
        changes(env, REPEATED, key=False)


@pytest.mark.parametrize("key", ["table.optimizer.reuse-sub-plan-enabled", "table.optimizer.reuse-source-enabled"])
def test_equal_parts_of_a_plan_run_once_or_twice(key: str) -> None:
    scans = []
    for value in ("true", "false"):
        _, t_env = environment(**{key: value})
        t_env.execute_sql("CREATE TABLE t (id INT, s STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '5')")
        plan = t_env.explain_sql("SELECT * FROM t UNION ALL SELECT * FROM t", ExplainDetail.JSON_EXECUTION_PLAN)
        scans.append(plan.split("== Physical Execution Plan ==")[1].count("TableSourceScan"))
    assert scans[0] < scans[1]


@pytest.mark.spark
def test_printed_columns_are_as_wide_as_the_option_says(capsys: pytest.CaptureFixture[str]) -> None:
    t_env = environment(**{"table.display.max-column-width": "10"})[1]
    t_env.execute_sql("SELECT 'abcdefghijk' AS w, 1 AS n").print()
    assert "| +I | abcdefg... |           1 |" in capsys.readouterr().out.splitlines()
