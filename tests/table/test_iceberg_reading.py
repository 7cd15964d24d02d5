"""Splits of Iceberg tables, and the types of their columns."""

from __future__ import annotations

import datetime
import pickle
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.type_text import parse_type, type_text
from firesteel.connectors.table_connector import Column
from firesteel.connectors.table_options import Options
from firesteel.table.errors import ValidationException

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from firesteel.connectors.iceberg.committer import WriteMode
from firesteel.connectors.iceberg.iceberg_types import schema_of, sql_type, stored_table
from firesteel.connectors.iceberg.source import files_of
from firesteel.connectors.iceberg.tables import IcebergCatalogAddress, IcebergTableAddress
from firesteel.connectors.iceberg.writer import IcebergSink
from tests.table.iceberg_lake import TYPES, Lake, options_of, read


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path)


def test_each_data_file_is_a_split(lake):
    for number in range(3):
        lake.commit(lake.sink(), lake.batch((number, "a")), number=number)
    assert len(lake.source().discover_splits()) == 3
    assert read(lake.source()) == [(0, "a"), (1, "a"), (2, "a")]


def test_older_snapshots_and_appended_files_are_read(lake):
    for number in range(3):
        lake.commit(lake.sink(), lake.batch((number, "a")), number=number)
    first, second, third = lake.snapshots()

    def rows(**options):
        with lake.address.opened() as table:
            found = files_of(Options({k.replace("_", "-"): str(v) for k, v in options.items()}, "iceberg"), table, True)
        return [key for key, _ in read(lake.source(found))]

    assert rows(snapshot_id=second.snapshot_id) == [0, 1]
    assert rows(as_of_timestamp=third.timestamp_ms) == [0, 1, 2]
    assert rows(start_snapshot_id=first.snapshot_id) == [1, 2]
    assert rows(start_snapshot_id=third.snapshot_id) == []
    assert rows(start_snapshot_id=first.snapshot_id, end_snapshot_id=second.snapshot_id) == [1]
    assert rows(end_snapshot_id=second.snapshot_id) == [0, 1]
    with pytest.raises(ValidationException, match="exclude each other"):
        rows(snapshot_id=1, as_of_timestamp=1)
    with pytest.raises(ValidationException, match=f"snapshot of the table .*{third.snapshot_id}"):
        rows(snapshot_id=1)
    with pytest.raises(ValidationException, match="Cannot find a snapshot older than"):
        rows(as_of_timestamp=1)


def refs_of(lake):
    """Make a tag of the first of two snapshots, and a branch of it with a third one."""
    for key in (1, 2):
        lake.commit(lake.sink(), lake.batch((key, "main")), number=key)
    first = lake.snapshots()[0].snapshot_id
    with lake.address.opened() as table:
        table.manage_snapshots().create_tag(first, "v1").create_branch(first, "dev").commit()
        table.append(pa.table({"k": pa.array([3], pa.int32()), "v": ["dev"]}, schema_of_keys()), branch="dev")


def schema_of_keys():
    return pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())])


def test_branches_and_tags_are_read(lake):
    refs_of(lake)

    def keys(is_bounded=True, **options):
        with lake.address.opened() as table:
            options = {key.replace("_", "-"): value for key, value in options.items()}
            found = files_of(Options(options, "iceberg"), table, is_bounded)
        return [key for key, _ in read(lake.source(found, monitor_ms=None if is_bounded else 5))]

    assert (keys(), keys(tag="v1"), keys(branch="dev"), keys(branch="main")) == ([1, 2], [1], [1, 3], [1, 2])
    assert (keys(start_tag="v1"), keys(end_tag="v1"), keys(branch="dev", start_tag="v1")) == ([2], [1], [3])
    assert (keys(False, branch="dev"), keys(False, branch="dev", start_tag="v1")) == ([1, 3], [3])
    refusals = [
        ({"branch": "v1"}, r"a branch of the table \((main, dev|dev, main)\)"),
        ({"tag": "dev"}, r"a tag of the table \(v1\)"),
        ({"branch": "dev", "tag": "v1"}, "'branch' and 'tag' of 'iceberg' exclude each other"),
        ({"tag": "v1", "start_tag": "v1"}, "'tag' and 'start-tag' of 'iceberg' exclude"),
    ]
    for wrong, message in refusals:
        with pytest.raises(ValidationException, match=message):
            keys(**wrong)
    with pytest.raises(ValidationException, match="Cannot set tag option for streaming reader"):
        keys(False, tag="v1")


def test_a_streaming_source_of_a_branch_discovers_its_files(lake):
    refs_of(lake)
    with lake.address.opened() as table:
        source = lake.source(files_of(Options({"branch": "dev"}, "iceberg"), table, False), monitor_ms=5)
    assert [key for key, _ in read(source)] == [1, 3]
    with lake.address.opened() as table:
        table.append(pa.table({"k": pa.array([4], pa.int32()), "v": ["dev"]}, schema_of_keys()), branch="dev")
    lake.commit(lake.sink(), lake.batch((5, "main")), number=5)
    assert [key for key, _ in read(source)] == [1, 3, 4]


def test_a_streaming_source_discovers_appended_files_once(lake):
    lake.commit(lake.sink(), lake.batch((1, "a")))
    source = lake.source(monitor_ms=5)
    assert not source.is_bounded()
    assert source.discovery_interval_ms == 5
    assert [key for key, _ in read(source)] == [1]
    source.discover_splits()
    lake.commit(lake.sink(), lake.batch((2, "b")), number=1)
    lake.commit(lake.sink(WriteMode.UPSERT), lake.batch((1, "changed")), number=2)  # not appended
    found = [split.split_id for split in source.discover_splits()]
    after_restart = [split.split_id for split in pickle.loads(pickle.dumps(source)).discover_splits()]
    assert len(found) == 2
    assert after_restart == found
    assert [key for key, _ in read(source)] == [1, 2]


def test_a_streaming_source_of_an_empty_table_waits(tmp_path):
    lake = Lake(tmp_path)
    source = lake.source(monitor_ms=5)
    assert source.discover_splits() == []
    lake.commit(lake.sink(), lake.batch((1, "a")))
    assert [key for key, _ in read(source)] == [1]
    with lake.address.opened() as table, pytest.raises(ValidationException, match="Cannot set snapshot-id option for"):
        files_of(Options({"snapshot-id": str(lake.snapshots()[0].snapshot_id)}, "iceberg"), table, False)


def test_files_of_other_partitions_are_not_read(tmp_path):
    class OnlyNewYear:
        keys = (("p", t.DateType()),)

        def __call__(self, values):
            return values["p"] == datetime.date(2024, 1, 1)

    lake = Lake(tmp_path, "k INT, p DATE", (), ("p",))
    lake.commit(lake.sink(), lake.batch((1, datetime.date(2024, 1, 1)), (2, datetime.date(2024, 1, 2))))
    source = lake.source(partitions=OnlyNewYear())
    assert len(source.discover_splits()) == 1
    assert len(lake.source().discover_splits()) == 2


def test_position_deletes_are_applied(tmp_path, lake):
    lake.commit(lake.sink(), lake.batch((1, "a"), (2, "b"), (3, "c")))
    source = lake.source()
    [split] = source.discover_splits()
    path = tmp_path / "deletes.parquet"
    pq.write_table(pa.table({"file_path": [split.split_id], "pos": pa.array([1], pa.int64())}), path)
    # pyiceberg does not write such files, so that one is added to the task of the data file.
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=f"file://{path}", file_format=FileFormat.PARQUET,
        partition=Record(), record_count=1, file_size_in_bytes=path.stat().st_size,
    )  # fmt: skip
    source._files[split.split_id].delete_files.add(deletes)
    batches = list(source.read_split(split.split_id, 0, 1))
    assert [batch.columns[0].to_pylist() for batch in batches] == [[1, 3]]


def test_types_are_those_of_flink_both_ways():
    columns = [Column(name, parse_type(text)) for name, text in TYPES.items()]
    schema = schema_of(columns, ())
    assert {field.name: type_text(sql_type(field.field_type, field.name)) for field in schema.fields} == TYPES
    stored_table(schema, "t").check(columns, writes=True)


def test_types_without_counterpart_are_named():
    with pytest.raises(ValidationException, match=r"Column 'c' has the type INTERVAL .*Iceberg has no type"):
        schema_of([Column("c", parse_type("INTERVAL DAY"))], ())
    from pyiceberg.types import GeometryType

    with pytest.raises(ValidationException, match=r"Column 'c' has the type geometry .*supported: binary, boolean"):
        sql_type(GeometryType(), "c")


def test_uuids_are_bytes(tmp_path):
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField, UUIDType

    address = IcebergTableAddress(IcebergCatalogAddress.of_options("lake", options_of(tmp_path)), "db", "u")
    with address.catalog.opened() as catalog:
        catalog.create_namespace("db")
        catalog.create_table(("db", "u"), Schema(NestedField(1, "u", UUIDType(), required=True)))
    lake = Lake(tmp_path)
    lake.address, lake.columns = address, (Column("u", t.BinaryType(16).not_null()),)
    first, second = uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes
    sink = IcebergSink(address, ("u",), (0,), WriteMode.UPSERT)
    lake.commit(sink, ColumnBatch((pa.array([first, second], pa.binary()),), 2))
    lake.commit(sink, ColumnBatch((pa.array([first], pa.binary()),), 1, np.array([3], np.int8)), number=1)
    assert read(lake.source()) == [(second,)]
