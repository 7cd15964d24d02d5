"""Snapshots of Iceberg tables: what the writers and the committer of a sink make."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from itertools import count

import numpy as np
import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.last_rows import last_by_key
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.datastream.connectors.base import CommitRequest
from firesteel.table.errors import TableException

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform

from firesteel.connectors.iceberg.committer import CHECKPOINT_ID, JOB_ID, OPERATOR_ID, WriteMode
from firesteel.connectors.iceberg.writer import IcebergSink
from tests.table.iceberg_lake import Lake


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path)


def test_a_checkpoint_is_one_snapshot_with_the_files_of_all_subtasks(lake):
    sink = lake.sink()
    requests = lake.written(sink, lake.batch((1, "a")), lake.batch((2, None)))
    requests += lake.written(sink, lake.batch((3, "c")), subtask=1)
    sink.create_committer().commit(requests)
    lake.commit(sink, lake.batch((4, "d")), number=1)
    assert lake.rows() == [(1, "a"), (2, None), (3, "c"), (4, "d")]
    summaries = [snapshot.summary for snapshot in lake.snapshots()]
    assert [(s[JOB_ID], s[OPERATOR_ID], s[CHECKPOINT_ID], s["added-data-files"]) for s in summaries] == [
        ("job", "operator", "1", "2"),
        ("job", "operator", "2", "1"),
    ]


@pytest.mark.parametrize("mode", list(WriteMode))
def test_a_repeated_commit_does_nothing(lake, mode):
    sink = lake.sink(mode)
    requests = lake.commit(sink, lake.batch((1, "a"), (2, "b")))
    for _ in range(2):
        sink.create_committer().commit(requests)
    assert lake.rows() == [(1, "a"), (2, "b")]
    assert len(lake.snapshots()) == 1


def test_a_commit_adds_what_a_former_one_did_not(lake):
    sink = lake.sink()
    first = lake.commit(sink, lake.batch((1, "a")))
    sink.create_committer().commit([*first, *lake.written(sink, lake.batch((2, "b")), subtask=1)])
    assert lake.rows() == [(1, "a"), (2, "b")]


def test_changes_replace_and_remove_rows_by_key(lake):
    lake.commit(lake.sink(), lake.batch((1, "a"), (2, "b"), (3, "c")))
    lake.commit(lake.sink(), lake.batch((7, "far")))
    sink = lake.sink(WriteMode.UPSERT)
    changes = lake.batch((1, "A"), (2, "b"), (4, "d"), (4, "D"), (5, "e"), (5, "e"),
                         kinds=[Kind.UPDATE_AFTER, Kind.DELETE, Kind.INSERT, Kind.UPDATE_AFTER, Kind.INSERT,
                                Kind.DELETE])  # fmt: skip
    lake.commit(sink, changes)
    assert lake.rows() == [(1, "A"), (3, "c"), (4, "D"), (7, "far")]
    assert len(lake.snapshots()) == 3
    assert lake.snapshots()[-1].summary["deleted-data-files"] == "1"


def test_rows_that_are_only_deleted_leave_the_table(lake):
    sink = lake.sink(WriteMode.UPSERT)
    lake.commit(sink, lake.batch((1, "a"), (2, "b")))
    requests = lake.commit(sink, lake.batch((1, None), (2, None), (9, None), kinds=[Kind.DELETE] * 3), number=1)
    sink.create_committer().commit(requests)
    assert lake.rows() == []
    lake.commit(sink, lake.batch((9, None), kinds=[Kind.DELETE]), number=2)
    assert lake.rows() == []


def test_checkpoints_that_are_committed_together_keep_their_order(lake):
    sink = lake.sink(WriteMode.UPSERT)
    later = lake.written(sink, lake.batch((1, "b")), number=1)
    sink.create_committer().commit([*later, *lake.written(sink, lake.batch((1, "a")), number=0)])
    assert lake.rows() == [(1, "b")]


def test_the_last_row_of_each_key_is_kept():
    rows = ColumnBatch((pa.array([1, 2, 1]), pa.array(["a", "b", "c"])), 3, np.array([0, 3, 2], np.int8))
    last = last_by_key(rows, (0,))
    assert [column.to_pylist() for column in last.columns] == [[2, 1], ["b", "c"]]
    assert list(last.kinds) == [3, 2]


def test_keys_of_several_columns_and_types_are_replaced(tmp_path):
    columns = "k INT NOT NULL, s STRING NOT NULL, n DECIMAL(4,1), l ARRAY<STRING>"
    lake = Lake(tmp_path, columns, ("k", "s"))
    sink = IcebergSink(lake.address, ("k", "s", "n", "l"), (0, 1), WriteMode.UPSERT)
    lake.commit(sink, lake.batch((1, "x", Decimal("1.5"), ["p"]), (1, "y", Decimal("2.5"), [])))
    lake.commit(sink, lake.batch((1, "y", Decimal("9.5"), None)), number=1)
    assert lake.rows() == [(1, "x", Decimal("1.5"), ["p"]), (1, "y", Decimal("9.5"), None)]


def test_nanoseconds_are_cut_to_microseconds(tmp_path):
    lake = Lake(tmp_path, "k INT NOT NULL, t TIMESTAMP(9), l ARRAY<TIMESTAMP(9)>")
    ns = pa.timestamp("ns")
    columns = (pa.array([1], pa.int32()), pa.array([1_999], ns), pa.array([[2_001]], pa.list_(ns)))
    lake.commit(lake.sink(), ColumnBatch(columns, 1))
    first = datetime.datetime(1970, 1, 1)
    assert lake.rows() == [(1, first.replace(microsecond=1), [first.replace(microsecond=2)])]


def test_no_rows_are_no_files(lake):
    empty = lake.batch((1, "a")).slice(0, 0)
    assert [lake.written(lake.sink(mode), empty) for mode in WriteMode] == [[], [], []]


@pytest.mark.parametrize("mode", [WriteMode.APPEND, WriteMode.UPSERT])
def test_rows_between_checkpoints_survive_a_crash_of_the_writer(lake, mode):
    sink, checkpoints = lake.sink(mode), [False, False, True]
    writer = lake.writer(sink, lambda: checkpoints[0])
    writer.write_all([lake.batch((1, "a"))], None)
    writer.flush(False)
    assert writer.prepare_commit() == []
    state = pickle.loads(pickle.dumps(writer.snapshot_state()))
    writer.write_all([lake.batch((2, "lost"))], None)
    writer.flush(False)
    writer.close()
    restored = lake.writer(sink, lambda: checkpoints[0])
    restored.restore_state(state)
    restored.write_all([lake.batch((2, "b"))], None)
    checkpoints[:] = [True]
    restored.flush(False)
    requests = [CommitRequest("job", "vertex/operator", 0, 0, part) for part in restored.prepare_commit()]
    assert restored.snapshot_state() is None
    restored.close()
    sink.create_committer().commit(requests)
    assert lake.rows() == [(1, "a"), (2, "b")]


@pytest.fixture
def before_commits(monkeypatch):
    """Return a function that sets what happens just before each commit, after the committer has loaded the table."""
    original = Table._do_commit

    def set_action(action):
        def commit(table, **changes):
            with monkeypatch.context() as context:
                context.setattr(Table, "_do_commit", original)
                action()
            original(table, **changes)

        monkeypatch.setattr(Table, "_do_commit", commit)

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return set_action


def test_concurrent_writers_do_not_lose_rows(lake, before_commits):
    sink = lake.sink()
    requests = lake.written(sink, lake.batch((1, "a")))
    others = [lake.written(sink, lake.batch((2, "b")), subtask=1)]
    before_commits(lambda: sink.create_committer().commit(others.pop()) if others else None)
    sink.create_committer().commit(requests)
    assert lake.rows() == [(1, "a"), (2, "b")]
    assert len(lake.snapshots()) == 2


def test_a_former_leader_that_commits_the_same_files_wins_once(lake, before_commits):
    sink = lake.sink()
    requests = lake.written(sink, lake.batch((1, "a")))
    before_commits(lambda: sink.create_committer().commit(requests))
    sink.create_committer().commit(requests)
    assert lake.rows() == [(1, "a")]
    assert len(lake.snapshots()) == 1


def test_a_commit_that_always_conflicts_fails(lake, before_commits):
    sink = lake.sink()
    requests, numbers = lake.written(sink, lake.batch((1, "a"))), count(1)
    before_commits(lambda: lake.commit(sink, lake.batch((2, "other")), number=next(numbers)))
    with pytest.raises(CommitFailedException, match="branch main has changed"):
        sink.create_committer().commit(requests)
    assert lake.rows() == [(2, "other")] * 6


def test_files_of_another_table_or_partitioning_are_refused(lake):
    sink = lake.sink()
    requests = lake.written(sink, lake.batch((1, "a")))
    with lake.address.opened() as table:
        table.update_spec().add_field("k", BucketTransform(4), "bucket").commit()
    with pytest.raises(TableException, match=r"partitioning of the Iceberg table lake\.db\.t was changed"):
        sink.create_committer().check(requests)
    with lake.address.catalog.opened() as catalog:
        catalog.drop_table(("db", "t"))
    lake.address.ensure(ResolvedTable(("lake", "db", "t"), lake.columns, {}))
    with pytest.raises(TableException, match="dropped and created again"):
        sink.create_committer().check(requests)


def test_overwrite_replaces_the_partitions_that_are_written(tmp_path):
    lake = Lake(tmp_path, "k INT, p STRING", (), ("p",))
    lake.commit(lake.sink(), lake.batch((1, "x"), (2, "y"), (3, None)))
    lake.commit(lake.sink(WriteMode.OVERWRITE), lake.batch((4, "y"), (5, None)), number=1)
    with lake.address.opened() as table:
        assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 4, 5]
        assert {file["partition"]["p"] for file in table.inspect.files().to_pylist()} == {"x", "y", None}
    assert len(lake.snapshots()) == 2
