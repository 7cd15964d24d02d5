"""Each option of tables that is read has the effect that its description promises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.common.options import table_options
from firesteel.common.options.option import Option
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, EnvironmentSettings, ExplainDetail, Schema, StreamTableEnvironment
from firesteel.table.errors import TableException, ValidationException
from firesteel.testing import ManualClock, run_local

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


MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "1000",
}


def counted(**options: str) -> int:
    """The number of changes of three groups that get ten rows each, in three batches."""
    env, t_env = environment(**options)
    rows = [Row(number % 3) for number in range(30)]
    t_env.create_temporary_view(
        "t", t_env.from_data_stream(env.from_collection(rows, Types.ROW_NAMED(["k"], [Types.INT()])))
    )
    t_env.to_changelog_stream(t_env.sql_query("SELECT k, COUNT(*) FROM t GROUP BY k")).collect_async()
    return len(run_local(env, batch_elements=10).elements)


def test_mini_batches_leave_out_what_is_replaced_at_once() -> None:
    assert counted() == 3 + 2 * 27
    assert counted(**MINI_BATCH) == 3 + 2 * 6
    assert counted(**MINI_BATCH | {"table.exec.mini-batch.size": "1"}) == counted()
    with pytest.raises(ValidationException, match="MiniBatch Latency must be greater than 0 ms"):
        counted(**MINI_BATCH | {"table.exec.mini-batch.allow-latency": "0 ms"})


@pytest.mark.parametrize(("strategy", "is_local"), [("AUTO", True), ("TWO_PHASE", True), ("ONE_PHASE", False)])
def test_groups_are_aggregated_before_they_are_sent(strategy: str, is_local: bool) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("table.optimizer.agg-phase-strategy", strategy)
    t_env.execute_sql("CREATE TABLE t (k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9')")
    t_env.to_data_stream(t_env.sql_query("SELECT k, COUNT(*) FROM t GROUP BY k")).print()
    names = [node.name for node in env.get_stream_graph().nodes.values()]
    assert any(name.startswith("LocalGroupAggregate") for name in names) == is_local


HERE = "tests/table/test_table_options.py"
ASYNC = "tests/operators/test_async_calls.py"
SHOWN_BY = {
    "table.display.max-column-width": (HERE, "test_printed_columns_are_as_wide_as_the_option_says"),
    "table.dml-sync": ("tests/cli/test_sql.py", "test_a_file_whose_inserts_wait_for_their_jobs_succeeds"),
    "table.exec.async-scalar.max-attempts": (ASYNC, "test_a_failed_call_is_repeated"),
    "table.exec.async-scalar.max-concurrent-operations": (ASYNC, "test_no_more_calls_run_at_a_time_than_allowed"),
    "table.exec.async-scalar.retry-delay": (ASYNC, "test_a_failed_call_is_repeated_after_a_delay"),
    "table.exec.async-scalar.retry-strategy": (ASYNC, "test_a_failed_call_is_repeated"),
    "table.exec.async-scalar.timeout": (ASYNC, "test_a_call_that_takes_too_long_fails_with_its_arguments"),
    **dict.fromkeys(MINI_BATCH, (HERE, "test_mini_batches_leave_out_what_is_replaced_at_once")),
    "table.exec.resource.default-parallelism": (HERE, "test_the_parallelism_of_tables_is_that_of_the_environment_then"),
    "table.exec.simplify-operator-name-enabled": (HERE, "test_operators_are_named_by_kind_and_number"),
    "table.exec.sink.not-null-enforcer": (HERE, "test_null_in_a_not_null_column_is_an_error_or_dropped"),
    "table.exec.sink.type-length-enforcer": (HERE, "test_texts_are_cut_and_padded"),
    "table.exec.sink.require-on-conflict": (
        "tests/table/test_on_conflict.py",
        "test_the_last_row_of_a_key_is_kept_with_and_without_the_clause",
    ),
    "table.exec.sink.upsert-materialize": (
        "tests/table/test_upsert_sinks.py",
        "test_the_materializer_can_be_forced_and_a_wrong_value_is_named",
    ),
    "table.exec.source.cdc-events-duplicate": (HERE, "test_changes_that_come_again_are_compared_with_the_last_row"),
    "table.exec.source.idle-timeout": (
        "tests/table/test_kafka_tables.py",
        "test_a_partition_without_rows_holds_windows_back_until_it_is_idle",
    ),
    "table.exec.state.ttl": (HERE, "test_groups_that_expire_start_anew"),
    "table.local-time-zone": ("tests/table/test_time_zones.py", "test_days_are_cut_at_local_midnight"),
    "table.optimizer.agg-phase-strategy": (HERE, "test_groups_are_aggregated_before_they_are_sent"),
    "table.optimizer.join-reorder-enabled": ("tests/table/test_join_order.py", "test_small_inputs_are_joined_first"),
    "table.optimizer.join.broadcast-threshold": (
        "tests/table/test_broadcast_joins.py",
        "test_the_limit_is_flinks_by_default",
    ),
    "table.optimizer.prune-top-n-enabled": (
        "tests/table/test_pruning.py",
        "test_the_option_lets_a_top_n_keep_all_columns",
    ),
    "table.optimizer.reuse-source-enabled": (HERE, "test_equal_parts_of_a_plan_run_once_or_twice"),
    "table.optimizer.reuse-sub-plan-enabled": (HERE, "test_equal_parts_of_a_plan_run_once_or_twice"),
    "table.plan.force-recompile": ("tests/table/test_compiled_plans.py", "test_a_statement_set_is_one_plan"),
}
"""The test that shows the effect of each option."""

ONE_VALUE = {"table.sql-dialect"}
"""Options whose other values are refused."""


NAMED = {
    "INSERT INTO s SELECT k, COUNT(*) FROM t GROUP BY k": [
        ("Source: t[1]", "[1]:TableSourceScan("),
        ("Calc[2]", "[2]:Calc(select=[k])"),
        ("GroupAggregate[4]", "[4]:GroupAggregate(groupBy=[k], select=[k, COUNT(*) AS EXPR$1])"),
        ("Calc[5]", "[5]:Calc("),
        ("ConstraintEnforcer[6]", "[6]:ConstraintEnforcer(NotNullEnforcer(fields=[k]))"),
        ("Sink: s[6]", "[6]:Sink(table=[default_catalog.default_database.s], fields=[k, "),
    ],
    "INSERT INTO s VALUES (1, 2)": [
        ("Source: Values[7]", "[7]:Values("),
        ("Calc[8]", "[8]:C"),
        ("Sink: s[9]", "[9]:S"),
    ],
}
"""The first statements of a session: an exchange takes a number, and the checks of a sink have its number."""


@pytest.mark.parametrize("is_short", [True, False])
def test_operators_are_named_by_kind_and_number(is_short: bool) -> None:
    _, t_env = environment(**{"table.exec.simplify-operator-name-enabled": str(is_short).lower()})
    t_env.execute_sql("CREATE TABLE t (k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1')")
    t_env.execute_sql("CREATE TABLE s (k INT PRIMARY KEY NOT ENFORCED, n BIGINT) WITH ('connector' = 'blackhole')")
    for statement, named in NAMED.items():
        plan = t_env.explain_sql(statement, ExplainDetail.JSON_EXECUTION_PLAN).partition("Physical Execution Plan ==")[
            2
        ]
        nodes = json.loads(plan)["nodes"]
        for node, (name, description) in zip(nodes, named, strict=True):
            if is_short:
                assert node["type"] == name
                assert node["contents"].startswith(description)
            else:
                assert node["type"].removeprefix("Source: ").removeprefix("Sink: ") == node["contents"]
                assert node["contents"].startswith(description.partition(":")[2])


def test_groups_that_expire_start_anew() -> None:
    env, t_env = environment(**{"table.exec.state.ttl": "1 s"})
    stream = env.from_collection([Row(1)] * 3, Types.ROW_NAMED(["k"], [Types.INT()]))
    t_env.create_temporary_view("t", t_env.from_data_stream(stream))
    t_env.to_changelog_stream(t_env.sql_query("SELECT k, COUNT(*) FROM t GROUP BY k")).collect_async()
    with ManualClock() as clock:
        found = run_local(env, batch_elements=1, clock=clock, clock_step_ms=2000).elements
    assert [tuple(row) for row in found] == [(1, 1)] * 3


@pytest.mark.parametrize(("option", "expected"), [("-1", 2), ("3", 3)])
def test_the_parallelism_of_tables_is_that_of_the_environment_then(option: str, expected: int) -> None:
    env, t_env = environment(**{"table.exec.resource.default-parallelism": option})
    env.set_parallelism(2)
    t_env.execute_sql("CREATE TABLE n (k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9')")
    t_env.to_changelog_stream(t_env.sql_query("SELECT k, COUNT(*) FROM n GROUP BY k")).collect_async()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert {node["parallelism"] for node in nodes if "GroupAggregate" in node["type"]} == {expected}
    assert env.get_parallelism() == expected


def test_the_effect_of_each_option_is_shown() -> None:
    options = {found.key for found in vars(table_options).values() if isinstance(found, Option)}
    assert {key for key in options if key.startswith("table.")} == SHOWN_BY.keys() | ONE_VALUE
    for path, name in SHOWN_BY.values():
        assert f"def {name}(" in (Path(__file__).parents[2] / path).read_text(), (path, name)
