"""The JdbcSource against SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Instant, Row, Types, WatermarkStrategy
from firesteel.connectors.jdbc.values import rows_of
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.jdbc import (
    GenericParameterValuesProvider,
    JdbcSource,
    NumericBetweenParametersProvider,
)
from firesteel.testing import Fault, run_local
from tests.datastream.connectors.conftest import Target

pytestmark = pytest.mark.slow

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
BETWEEN = "SELECT id, name FROM results WHERE id BETWEEN ? AND ? AND name LIKE '%row%'"


def fill(target: Target, count: int) -> list[tuple[int, str]]:
    target.execute("CREATE TABLE results (id BIGINT PRIMARY KEY, name VARCHAR(20))")
    rows = [(n, f"row {n}") for n in range(1, count + 1)]
    target.execute("INSERT INTO results VALUES " + ", ".join(map(repr, rows)))
    return rows


def source_of(target: Target, splits: Any = None, sql: str = BETWEEN) -> JdbcSource:
    builder = JdbcSource.builder().set_db_url(target.url).set_sql(sql).set_type_information(ROW)
    if splits is not None:
        builder.set_jdbc_parameter_values_provider(splits)
    return builder.set_result_set_fetch_size(3).build()


def program(source: JdbcSource, parallelism: int = 2, is_batch: bool = False) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    if is_batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    by_id = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row[0])
    env.from_source(source, by_id, "rows").map(tuple).collect_async()
    return env


@pytest.mark.parametrize("is_batch", [False, True])
def test_all_splits_are_read_by_several_subtasks(target: Target, is_batch: bool) -> None:
    rows = fill(target, 100)
    source = source_of(target, NumericBetweenParametersProvider(1, 100).of_batch_size(7))
    found = run_local(program(source, is_batch=is_batch), batch_elements=10)
    assert sorted(found.elements) == rows
    assert is_batch or found.batches > 3


def test_rows_are_read_once_whatever_dies(target: Target) -> None:
    rows = fill(target, 60)
    source = source_of(target, NumericBetweenParametersProvider(1, 60).of_batch_num(12))
    faults = [Fault(batch, 0, slot, after_rows) for batch in range(4) for slot in (0, 1) for after_rows in (0, 1)]
    assert sorted(run_local(program(source), batch_elements=5, faults=faults, replayed=[1, 3]).elements) == rows


def test_a_job_resumes_after_the_splits_of_its_checkpoint(sqlite: Target, tmp_path: Path) -> None:
    rows = fill(sqlite, 40)
    source = source_of(sqlite, NumericBetweenParametersProvider(1, 40).of_batch_size(4))
    first = run_local(program(source), batch_elements=4, batches=2, checkpoint=tmp_path)
    assert 0 < len(first.elements) < 40
    rest = run_local(program(source), batch_elements=4, checkpoint=tmp_path)
    assert sorted(first.elements + rest.elements) == rows


def test_a_program_that_lacks_the_splits_of_its_checkpoint_is_refused(sqlite: Target, tmp_path: Path) -> None:
    fill(sqlite, 40)
    source = source_of(sqlite, NumericBetweenParametersProvider(1, 40).of_batch_size(4))
    run_local(program(source), batch_elements=4, batches=2, checkpoint=tmp_path)
    other = source_of(sqlite, NumericBetweenParametersProvider(1, 40).of_batch_size(5))
    with pytest.raises(Exception, match=r"the program has no split '\d+: \d+, \d+' that its checkpoint has"):
        run_local(program(other), batch_elements=4, checkpoint=tmp_path)


def test_a_query_without_parameters_is_one_split(target: Target) -> None:
    rows = fill(target, 10)
    source = source_of(target, sql="SELECT id, name FROM results WHERE name LIKE '%row%'")
    assert sorted(run_local(program(source)).elements) == rows


def test_an_extractor_makes_elements_of_columns(target: Target) -> None:
    fill(target, 10)
    builder = JdbcSource.builder().set_db_url(target.url).set_sql("SELECT id FROM results WHERE name = ?")
    builder.set_jdbc_parameter_values_provider(GenericParameterValuesProvider([["row 2"], ["row 5"]]))
    env = StreamExecutionEnvironment.get_execution_environment()
    source = builder.set_result_extractor(lambda columns: columns[0] * 10).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").collect_async()
    assert sorted(run_local(env).elements) == [20, 50]


# --- values and errors -----------------------------------------------------------------------------------------------

MOMENT = datetime.datetime(2024, 1, 31, 12, 0, 0, 5000)
TYPES = [
    (Types.BOOLEAN(), [1, True], True),
    (Types.LONG(), [5, Decimal("5")], 5),
    (Types.DOUBLE(), [Decimal("1.5"), 1.5], 1.5),
    (Types.BIG_DEC(), [1.25, "1.25"], Decimal("1.25")),
    (Types.SQL_DATE(), ["2024-01-31", MOMENT, MOMENT.date()], MOMENT.date()),
    (Types.SQL_TIME(), ["12:00:00.005", datetime.timedelta(hours=12, milliseconds=5)], MOMENT.time()),
    (Types.SQL_TIMESTAMP(), ["2024-01-31 12:00:00.005", MOMENT], MOMENT),
    (Types.INSTANT(), ["1970-01-01T00:00:01", datetime.datetime(1970, 1, 1, 0, 0, 1)], Instant(1, 0)),
    (Types.STRING(), [None], None),
]


@pytest.mark.parametrize(("type_info", "found", "expected"), TYPES)
def test_values_of_drivers_become_those_of_the_type(type_info: Any, found: list[Any], expected: Any) -> None:
    rows = rows_of(Types.ROW([type_info]))([(value,) for value in found])
    assert [row[0] for row in rows] == [expected] * len(found)


def test_rows_have_the_types_of_the_columns(target: Target) -> None:
    target.execute("CREATE TABLE results (d DATE, c DECIMAL(10,2), b BOOLEAN)")
    target.execute("INSERT INTO results VALUES ('2024-01-31', 1.25, TRUE)")
    row_type = Types.ROW_NAMED(["d", "c", "b"], [Types.SQL_DATE(), Types.BIG_DEC(), Types.BOOLEAN()])
    builder = JdbcSource.builder().set_db_url(target.url).set_sql("SELECT * FROM results")
    env = StreamExecutionEnvironment.get_execution_environment()
    source = builder.set_type_information(row_type).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").collect_async()
    assert run_local(env).elements == [Row(datetime.date(2024, 1, 31), Decimal("1.25"), True)]


def test_a_query_that_fails_is_named_with_its_parameters(target: Target) -> None:
    fill(target, 3)
    source = source_of(target, GenericParameterValuesProvider([(1, 2)]), "SELECT nope FROM results WHERE id IN (?, ?)")
    with pytest.raises(Exception, match=r"JdbcSource: 'SELECT nope .*' with parameters \(1, 2\): .*nope"):
        run_local(program(source, 1))


def test_a_query_with_another_number_of_columns_is_refused(sqlite: Target) -> None:
    fill(sqlite, 3)
    with pytest.raises(Exception, match="the query has 1 columns, the type 2 fields"):
        run_local(program(source_of(sqlite, sql="SELECT id FROM results"), 1))


def test_numbers_are_cut_as_flink_cuts_them() -> None:
    by_size = NumericBetweenParametersProvider(-5, 9).of_batch_size(4)
    assert by_size.get_parameter_values() == [(-5, -2), (-1, 2), (3, 6), (7, 9)]
    assert NumericBetweenParametersProvider(1, 2).of_batch_num(5).get_parameter_values() == [(1, 1), (2, 2)]
    assert NumericBetweenParametersProvider(1, 2).of_batch_size(5).get_parameter_values() == [(1, 2)]
    with pytest.raises(ValueError, match="min_val must not be greater"):
        NumericBetweenParametersProvider(2, 1)
    with pytest.raises(ValueError, match="call of_batch_size"):
        NumericBetweenParametersProvider(1, 2).get_parameter_values()
    with pytest.raises(ValueError, match="batch_num must be 1 or greater, found 0"):
        NumericBetweenParametersProvider(1, 2).of_batch_num(0)


def test_missing_or_invalid_settings_are_named_when_the_source_is_built(sqlite: Target) -> None:
    builder = JdbcSource.builder()
    with pytest.raises(ValueError, match=r"call set_db_url\(\)"):
        builder.build()
    builder.set_db_url(sqlite.url).set_driver_name("org.sqlite.JDBC")
    with pytest.raises(ValueError, match=r"call set_sql\(\)"):
        builder.build()
    builder.set_sql(BETWEEN)
    with pytest.raises(ValueError, match=r"call set_type_information\(\)"):
        builder.build()
    builder.set_type_information(Types.LONG())
    with pytest.raises(TypeError, match=r"must be a Types.ROW or Types.ROW_NAMED, found"):
        builder.build()
    builder.set_type_information(ROW)
    with pytest.raises(ValueError, match=r"has 2 parameters, a split has 0: \(\); set_jdbc_parameter"):
        builder.build()
    with pytest.raises(ValueError, match="fetch size must be 1 or greater"):
        builder.set_result_set_fetch_size(0)


def test_user_password_and_properties_reach_the_driver() -> None:
    builder = JdbcSource.builder().set_db_url("jdbc:postgresql://h/d").set_username("me").set_password("secret")
    builder.set_connection_property("connectTimeout", "3").set_sql("SELECT 1").set_result_extractor(tuple)
    settings = builder.build().settings
    options = (("user", "me"), ("password", "secret"), ("connect_timeout", "3"))
    assert (settings.database.url, settings.database.options) == ("postgresql://h/d", options)  # type: ignore[attr-defined]
    assert "secret" not in repr(settings)
