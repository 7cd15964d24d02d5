"""Schemas of tables over streams; the expected ones are those that PyFlink 2.3 prints."""

from __future__ import annotations

import pickle

import pytest

from firesteel.common import Types
from firesteel.common.table_errors import ValidationException
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, Schema, StreamTableEnvironment
from firesteel.testing import run_local

ROW = Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE()])


def builder() -> Schema.Builder:
    return Schema.new_builder()


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
    "no field": (
        builder().column_by_expression("c", "f0 + 1"),
        "`f0` INT, `f1` STRING, `f2` DOUBLE, `c` INT AS `f0` + 1",
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
    with pytest.raises(ValidationException, match=r"Unable to find a field named 'no'.*available fields are: \['f0'"):
        t_env.from_data_stream(env.from_collection([(1, "a", 1.5)], ROW), builder().column("no", "INT").build())


def test_a_stream_without_a_type_is_a_column_of_pickled_bytes(caplog):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    values = [1, ("a", None)]
    table = t_env.from_data_stream(env.from_collection(values))
    assert str(table.get_schema()) == "root\n |-- f0: BYTES\n"
    assert "'Collection Source' has no declared type" in caplog.text
    assert "output_type=Types.ROW" in caplog.text
    t_env.to_data_stream(table).collect_async()
    assert [pickle.loads(row[0]) for row in run_local(env).elements] == values
