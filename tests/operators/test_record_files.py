"""Avro and Parquet files written by FileSink are read by FileSource and create_input."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource
from firesteel.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from firesteel.testing import run_local

FIELDS = [
    {"name": "word", "type": "string"},
    {"name": "total", "type": ["null", "long"]},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
]
SCHEMA = json.dumps({"type": "record", "name": "Total", "fields": FIELDS})
RECORDS = [{"word": "a", "total": 1, "tags": {"x": 1}}, {"word": "b", "total": None, "tags": {}}]
ROW_TYPE = Types.ROW_NAMED(["word", "total", "at"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
ROWS = [Row("a", 1, datetime.datetime(2021, 1, 9, 1, 2, 3)), Row(None, None, None)]


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


@pytest.fixture
def schema():
    pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")
    from firesteel.datastream.formats.avro import AvroSchema

    return AvroSchema.parse_string(SCHEMA)


def write(values, type_info, factory, directory) -> None:
    sink = FileSink.for_bulk_format(str(directory), factory)
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    env = environment()
    env.from_collection(values, type_info).sink_to(sink.build())
    run_local(env)
    assert len(list(Path(directory).iterdir())) == 1


def read(stream):
    stream.collect_async()
    return run_local(stream.get_execution_environment()).elements


def source(builder):
    return environment().from_source(builder.build(), WatermarkStrategy.no_watermarks(), "files")


def test_avro_files(schema, tmp_path):
    from firesteel.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, GenericRecordAvroTypeInfo

    write(RECORDS, None, AvroBulkWriters.for_generic_record(schema), tmp_path)
    stream = environment().create_input(AvroInputFormat(str(tmp_path), schema))
    assert isinstance(stream.get_type(), GenericRecordAvroTypeInfo)
    assert read(stream) == RECORDS


def test_avro_files_of_another_schema_are_resolved(schema, tmp_path):
    from firesteel.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema

    write(RECORDS, None, AvroBulkWriters.for_generic_record(schema), tmp_path)
    fields = [{"name": "word", "type": "string"}, {"name": "new", "type": "int", "default": 7}]
    reader = AvroSchema(json.dumps({"type": "record", "name": "Total", "fields": fields}))
    found = read(environment().create_input(AvroInputFormat(str(tmp_path), reader)))
    assert found == [{"word": "a", "new": 7}, {"word": "b", "new": 7}]


def test_parquet_files_of_records(schema, tmp_path):
    write(RECORDS, None, AvroParquetWriters.for_generic_record(schema), tmp_path)
    builder = FileSource.for_record_stream_format(AvroParquetReaders.for_generic_record(schema), str(tmp_path))
    assert read(source(builder)) == RECORDS


def test_parquet_files_of_rows(tmp_path):
    write(ROWS, ROW_TYPE, ParquetBulkWriters.for_row_type(ROW_TYPE), tmp_path)
    stream = source(FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW_TYPE), str(tmp_path)))
    assert stream.get_type() == ROW_TYPE
    assert read(stream) == ROWS


@pytest.mark.parametrize(("sensitive", "word"), [(True, None), (False, "a")])
def test_columns_are_found_by_name(tmp_path, sensitive, word):
    write(ROWS[:1], ROW_TYPE, ParquetBulkWriters.for_row_type(ROW_TYPE), tmp_path)
    asked = Types.ROW_NAMED(["none", "total", "WORD"], [Types.INT(), Types.LONG(), Types.STRING()])
    parquet = ParquetColumnarRowInputFormat(asked, is_case_sensitive=sensitive)
    found = read(source(FileSource.for_bulk_file_format(parquet, str(tmp_path))))
    assert found == [Row(none=None, total=1, WORD=word)]


def test_times_with_a_zone_are_read_as_in_utc_or_here(tmp_path, monkeypatch):
    import time

    import pyarrow
    import pyarrow.parquet

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    moment = datetime.datetime(2021, 1, 9, tzinfo=datetime.UTC)
    table = pyarrow.table({"at": pyarrow.array([moment], pyarrow.timestamp("us", "UTC"))})
    pyarrow.parquet.write_table(table, tmp_path / "times.parquet")
    row_type = Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()])
    for is_utc, hour in [(True, 0), (False, 9)]:
        parquet = ParquetColumnarRowInputFormat(row_type, is_utc_timestamp=is_utc)
        found = read(source(FileSource.for_bulk_file_format(parquet, str(tmp_path))))
        assert found == [Row(at=datetime.datetime(2021, 1, 9, hour))]
    monkeypatch.undo()
    time.tzset()


def test_rows_of_other_types_are_refused():
    with pytest.raises(TypeError, match=r"takes a DataTypes\.ROW or a Types\.ROW_NAMED of primitive types"):
        ParquetColumnarRowInputFormat(Types.ROW_NAMED(["a"], [Types.LIST(Types.INT())]))
