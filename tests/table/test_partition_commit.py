"""Partitions of files are committed when they are complete."""

from __future__ import annotations

import datetime
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from firesteel.columns.column_types import VarCharType
from firesteel.connectors.files.partition_commit import CommitTrigger, PartitionTime, commit_trigger
from firesteel.connectors.files.sink_settings import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSinkSettings,
    OutputFileConfig,
)
from firesteel.connectors.files.table_writing import PartitionNames, TableFileCommitter, TableFileSettings
from firesteel.connectors.table_options import Options
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from tests.table.local_runs import create, explained, written

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("pattern", "formatter", "zone", "values", "found"),
    [
        ("", "", "UTC", {"dt": "2024-02-29"}, "2024-02-29T00:00:00+00:00"),
        ("", "", "UTC", {"dt": "2024-2-9 1:02:03"}, "2024-02-09T01:02:03+00:00"),
        ("$dt $hour:00:00", "", "UTC", {"dt": "2024-02-29", "hour": "05"}, "2024-02-29T05:00:00+00:00"),
        ("$day", "yyyyMMdd", "Asia/Shanghai", {"day": "20240229"}, "2024-02-29T00:00:00+08:00"),
        ("$d-$d2-$d3", "", "UTC", {"d": "2024", "d2": "02", "d3": "29"}, "2024-02-29T00:00:00+00:00"),
    ],
)
def test_times_of_partitions(pattern: str, formatter: str, zone: str, values: dict[str, str], found: str) -> None:
    wanted = datetime.datetime.fromisoformat(found)
    assert PartitionTime(pattern, formatter, zone).ms(values) == wanted.timestamp() * 1000


def test_other_values_are_no_times() -> None:
    with pytest.raises(ValueError, match=r"partition make 'x', which is no time"):
        PartitionTime("", "", "UTC").ms({"dt": "x"})


def test_a_partition_is_complete_after_its_time_or_its_creation() -> None:
    by_time = CommitTrigger(HOUR_MS, PartitionTime("", "", "UTC"))
    end = round(datetime.datetime(2024, 2, 29, 1, tzinfo=datetime.UTC).timestamp() * 1000)
    assert not by_time.is_due("dt=2024-02-29", 0, 1 << 60, end)
    assert by_time.is_due("dt=2024-02-29%2000:00:00", 0, 0, end + 1)
    by_clock = CommitTrigger(HOUR_MS, None)
    assert [by_clock.is_due("dt=a", 5, HOUR_MS + now, 1 << 60) for now in (4, 5)] == [False, True]


class Clock:
    """The clock of a writer, and whether a checkpoint follows."""

    now_ms = 0
    is_checkpoint = True


@pytest.fixture
def clock() -> Clock:
    return Clock()


def writer(path: Path, clock: Clock, trigger: CommitTrigger) -> Any:
    from firesteel.connectors.files.column_parts import TableFileWriter
    from firesteel.connectors.formats.table_format import Columns, make_format

    text = VarCharType(99)
    settings = FileSinkSettings(
        str(path),
        bucket_assigner=BucketAssigner.base_path_bucket_assigner(),
        rolling_policy=DefaultRollingPolicy(1 << 30, 1 << 50, 1 << 50),
        output_file_config=OutputFileConfig("part", ""),
        columns=TableFileSettings(PartitionNames((("dt", 1),), (text, text), "null"), (0,), trigger),
    )
    context = WriterInitContext(
        "job", "sink", 0, 1, 0, False, None, {}, lambda: clock.now_ms, lambda: clock.is_checkpoint
    )
    return TableFileWriter(settings, context, make_format("csv", Columns(("v",), (text,)), Options({}, "csv"), "files"))


def rows(*pairs: tuple[str, str]) -> Any:
    import pyarrow as pa

    from firesteel.columns.batch import ColumnBatch

    values, days = zip(*pairs, strict=True)
    return ColumnBatch((pa.array(values), pa.array(days)), len(pairs))


NUMBERS = itertools.count()


def commit(one: Any) -> None:
    one.flush(False)
    requests = [CommitRequest("job", "sink", 0, next(NUMBERS), made) for made in one.prepare_commit()]
    committer = TableFileCommitter("_SUCCESS", is_told=True)
    committer.check(requests)
    committer.commit(requests)


def marked(path: Path) -> list[str]:
    return sorted(found.parent.name for found in path.rglob("_SUCCESS"))


def test_a_writer_marks_partitions_after_the_delay(tmp_path: Path, clock: Clock) -> None:
    one = writer(tmp_path, clock, CommitTrigger(1000, None))
    one.write_all([rows(("a", "x"))], None)
    clock.now_ms = 500
    one.write_all([rows(("b", "x"), ("c", "y"))], None)
    commit(one)
    assert marked(tmp_path) == []
    assert one.next_flush_ms() == 1000
    clock.now_ms, clock.is_checkpoint = 1000, False
    assert one.awaits_checkpoint
    commit(one)
    assert marked(tmp_path) == [], "only checkpoints commit"
    state = one.snapshot_state()
    one.close()
    clock.is_checkpoint = True
    two = writer(tmp_path, clock, CommitTrigger(1000, None))
    two.restore_state(state)
    commit(two)
    assert marked(tmp_path) == ["dt=x"]
    [part] = [path for path in (tmp_path / "dt=x").iterdir() if path.name[0] not in "._"]
    assert part.read_text().splitlines() == ["a", "b"], "its part is finished"
    assert two.next_flush_ms() == 1500
    clock.now_ms = 1500
    commit(two)
    assert marked(tmp_path) == ["dt=x", "dt=y"]
    assert not two.awaits_checkpoint
    two.close()


def test_a_writer_marks_partitions_by_the_watermark(tmp_path: Path, clock: Clock) -> None:
    one = writer(tmp_path, clock, CommitTrigger(0, PartitionTime("", "", "UTC")))
    one.write_all([rows(("a", "1970-01-01"), ("b", "1970-01-02"))], None)
    commit(one)
    assert marked(tmp_path) == []
    one.write_watermark(24 * HOUR_MS)
    assert one.next_flush_ms() is None or one.next_flush_ms() > 1 << 49
    commit(one)
    assert marked(tmp_path) == ["dt=1970-01-01"]
    one.flush(True)
    assert len([made for made in one.prepare_commit() if hasattr(made, "directory")]) == 1, "the end commits the rest"
    one.close()


def table(path: Path, **options: str) -> str:
    given = {"connector": "filesystem", "path": str(path), "format": "csv",
             "sink.partition-commit.policy.kind": "success-file"}  # fmt: skip
    return create("t", "v INT, dt STRING", given | options, "PARTITIONED BY (dt)")


def test_a_query_commits_all_partitions_at_its_end(tmp_path: Path) -> None:
    options = {"sink.partition-commit.trigger": "partition-time", "sink.partition-commit.delay": "1 h"}
    written(table(tmp_path, **options), "SELECT * FROM (VALUES (1, '2024-02-28'), (2, '2024-02-29')) AS x (v, dt)")
    assert marked(tmp_path) == ["dt=2024-02-28", "dt=2024-02-29"]
    with pytest.raises(UserFunctionError, match="which is no time"):
        written(table(tmp_path / "bad", **options), "SELECT 1, 'x'")


def test_bad_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationException, match="without PARTITIONED BY"):
        commit_trigger(Options({"sink.partition-commit.trigger": "partition-time"}, "filesystem"), False)
    with pytest.raises(ValidationException, match="names a class of Java"):
        explained(table(tmp_path, **{"partition.time-extractor.class": "Mine"}), "SELECT 1, 'x'")
    assert not os.listdir(tmp_path)
