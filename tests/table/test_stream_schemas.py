"""Schemas of tables over streams; the expected ones are those that PyFlink 2.3 prints."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal

import pytest

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment, TableEnvironment
from firesteel.table.expressions import call_sql, col, lit
from firesteel.table.window import Tumble
from firesteel.testing import run_local

ROW = Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE()])


def builder() -> Schema.Builder:
    return Schema.new_builder()


def environments() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env, StreamTableEnvironment.create(env)


class BySecond(TimestampAssigner):
    """The first field in seconds."""

    def extract_timestamp(self, value, record_timestamp):
        return value[0] * 1000


CASES = {
    "a field alone": (builder().column("f1", "STRING"), "`f1` STRING", [("a",), ("b",)]),
    "fields in another order": (
        builder().column("f2", DataTypes.DOUBLE()).column("f0", DataTypes.INT()),
        "`f2` DOUBLE, `f0` INT",
        [(1.5, 1), (2.5, 2)],
    ),
    "an expression over a field that is not declared": (
        builder().column_by_expression("c", "f0 + 1").column("f1", "STRING"),
        "`c` INT, `f1` STRING",
        [(2, "a"), (3, "b")],
    ),
    "a watermark over such an expression": (
        builder()
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(f0, 3)")
        .column("f1", "STRING")
        .watermark("ts", "ts - INTERVAL '1' SECOND"),
        "`ts` TIMESTAMP_LTZ(3) *ROWTIME*, `f1` STRING",
        None,
    ),
    "a key of a field that comes first": (
        builder().column("f1", "STRING NOT NULL").column("f0", "INT").primary_key("f1"),
        "`f1` STRING NOT NULL, `f0` INT",
        [("a", 1), ("b", 2)],
    ),
    "a source watermark beside an expression": (
        builder()
        .column_by_expression("c", call_sql("UPPER(f1)"))
        .column_by_expression("d", col("f0") + 1)
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()"),
        "`f0` INT, `f1` STRING, `f2` DOUBLE, `c` STRING AS UPPER(f1), `d` INT AS plus(f0, 1), "
        "`rowtime` TIMESTAMP_LTZ(3) *ROWTIME* METADATA, "
        "WATERMARK FOR `rowtime`: TIMESTAMP_LTZ(3) AS SOURCE_WATERMARK()",
        None,
    ),
    "no field": (
        builder().column_by_expression("c", "f0 + 1"),
        "`f0` INT, `f1` STRING, `f2` DOUBLE, `c` INT AS f0 + 1",
        [(1, "a", 1.5, 2), (2, "b", 2.5, 3)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_schema_takes_some_fields_of_a_stream(case, capsys):
    schema, printed, rows = CASES[case]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    table = t_env.from_data_stream(env.from_collection([(1, "a", 1.5), (2, "b", 2.5)], ROW), schema.build())
    table.print_schema()
    assert " ".join(capsys.readouterr().out.split()) == f"( {printed} )"
    if rows is not None:
        t_env.to_data_stream(table).collect_async()
        assert sorted(map(tuple, run_local(env).elements)) == rows


def test_a_declared_field_must_be_one_of_the_stream():
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    with pytest.raises(ValidationException, match=r"Unable to find a field named 'no'.*available fields are: \[f0, f1"):
        t_env.from_data_stream(env.from_collection([(1, "a", 1.5)], ROW), builder().column("no", "INT").build())


def test_a_stream_without_a_type_is_a_column_of_pickled_bytes(caplog):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    values = [1, ("a", None)]
    table = t_env.from_data_stream(env.from_collection(values))
    assert str(table.get_schema()) == "root\n |-- f0: BYTES NOT NULL\n"
    assert "'Collection Source' has no declared type" in caplog.text
    assert "output_type=Types.ROW" in caplog.text
    t_env.to_data_stream(table).collect_async()
    assert [pickle.loads(row[0]) for row in run_local(env).elements] == values


def test_watermarks_of_the_stream_pass_computed_columns():
    env, t_env = environments()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(BySecond())
    stream = env.from_collection([(1, "a", 1.0), (9, "b", 2.0), (11, "a", 3.0)], ROW)
    schema = builder().column_by_expression("u", "UPPER(f1)").column_by_metadata("rt", "TIMESTAMP(3)", "rowtime")
    schema.watermark("rt", "SOURCE_WATERMARK()")
    table = t_env.from_data_stream(stream.assign_timestamps_and_watermarks(strategy), schema.build())
    window = Tumble.over(lit(10).seconds).on(col("rt")).alias("w")
    counted = table.window(window).group_by(col("w"), col("u")).select(col("u"), col("f0").sum.alias("s"))
    t_env.to_data_stream(counted).collect_async()
    assert sorted(map(tuple, run_local(env).elements)) == [("A", 1), ("A", 11), ("B", 9)]


def test_a_source_watermark_needs_a_column_of_the_stream():
    env, t_env = environments()
    schema = builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(f0, 3)").watermark("ts", "SOURCE_WATERMARK()")
    with pytest.raises(ValidationException, match=r"SOURCE_WATERMARK\(\) of the computed column 'ts' is not supported"):
        t_env.from_data_stream(env.from_collection([(1, "a", 1.5)], ROW), schema.build())


def test_a_view_of_a_table_keeps_its_schema():
    env, t_env = environments()
    schema = builder().column_by_metadata("rt", "TIMESTAMP_LTZ(3)", "rowtime").column_by_expression("c", "f0 + 1")
    schema.watermark("rt", "SOURCE_WATERMARK()")
    table = t_env.from_data_stream(env.from_collection([(1, "a", 1.5)], ROW), schema.build())
    t_env.create_temporary_view("v", table)
    assert t_env.from_path("v").get_resolved_schema() == table.get_resolved_schema()
    described = [tuple(row) for row in t_env.execute_sql("DESCRIBE v").collect()]
    assert described[3:] == [
        ("rt", "TIMESTAMP_LTZ(3) *ROWTIME*", True, None, "METADATA FROM 'rowtime'", "SOURCE_WATERMARK()"),
        ("c", "INT", True, None, "AS f0 + 1", None),
    ]
    with pytest.raises(TableException, match="not supported for views registered by Table API"):
        t_env.execute_sql("SHOW CREATE VIEW v")


def test_columns_of_ddl_are_shown_with_quoted_names(capsys):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    columns = "a INT, ts TIMESTAMP(3), d AS a + 1, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
    t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ('connector' = 'datagen')")
    t_env.from_path("t").print_schema()
    printed = capsys.readouterr().out
    assert "`d` INT AS `a` + 1" in printed
    assert "AS `ts` - INTERVAL '5' SECOND" in printed


NULLABLE = {
    "STRING": (Types.STRING(), "a"),
    "DECIMAL(38, 18)": (Types.BIG_DEC(), Decimal(1)),
    "DATE": (Types.SQL_DATE(), datetime.date(2020, 1, 1)),
    "BIGINT NOT NULL": (Types.LONG(), 1),
    "BOOLEAN NOT NULL": (Types.BOOLEAN(), True),
    "ARRAY<INT NOT NULL> NOT NULL": (Types.PRIMITIVE_ARRAY(Types.INT()), [1]),
    "ARRAY<INT> NOT NULL": (Types.BASIC_ARRAY(Types.INT()), [1]),
    "MAP<STRING, INT> NOT NULL": (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}),
}


@pytest.mark.parametrize("text", NULLABLE)
def test_an_element_is_null_where_its_serializer_takes_null(text):
    env, t_env = environments()
    kind, value = NULLABLE[text]
    assert str(t_env.from_data_stream(env.from_collection([value], kind)).get_schema()) == f"root\n |-- f0: {text}\n"


def test_fields_of_a_tuple_are_no_fields_of_a_row():
    env, t_env = environments()
    stream = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    table = t_env.from_data_stream(stream)
    assert str(table.get_schema()) == "root\n |-- f0: INT NOT NULL\n |-- f1: STRING\n"


def test_null_in_such_a_field_is_refused():
    env, t_env = environments()
    stream = env.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
    nulls = stream.map(lambda pair: (None, pair[1]), Types.TUPLE([Types.INT(), Types.STRING()]))
    t_env.to_data_stream(t_env.from_data_stream(nulls)).collect_async()
    with pytest.raises(Exception, match="declared as INT NOT NULL, found NoneType"):
        run_local(env)


ELEMENTS = {
    "rows have the names of the type": (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()]), Row(x=1, y="a")),
    "rows without names": (Types.ROW([Types.INT(), Types.STRING()]), Row(f0=1, f1="a")),
    "tuples": (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a")),
}


@pytest.mark.parametrize("case", ELEMENTS)
@pytest.mark.parametrize("method", ["to_append_stream", "to_retract_stream"])
def test_elements_are_of_the_type_that_was_asked_for(case, method):
    kind, expected = ELEMENTS[case]
    env, t_env = environments()
    getattr(t_env, method)(t_env.sql_query("SELECT 1 AS a, 'a' AS b"), kind).collect_async()
    (found,) = run_local(env).elements
    assert repr(found) == repr(expected if method == "to_append_stream" else (True, expected))


def test_a_single_column_becomes_a_value():
    env, t_env = environments()
    t_env.to_append_stream(t_env.sql_query("SELECT 5"), Types.INT()).collect_async()
    assert run_local(env).elements == [5]


def test_local_times_are_printed_as_java_prints_them():
    env, t_env = environments()
    times = "DATE '1970-01-02', TIME '03:04:05', TIMESTAMP '1970-01-02 03:04:05'"
    t_env.to_data_stream(t_env.sql_query(f"SELECT {times}")).print()
    assert run_local(env).lines == ["+I[1970-01-02, 03:04:05, 1970-01-02T03:04:05]"]
