from __future__ import annotations

import bz2
import gzip
import io
import zlib

import pyarrow
import pyarrow.parquet
import pytest

from firesteel.common import Configuration, Duration, Types, WatermarkStrategy
from firesteel.connectors.files import splits as file_splits
from firesteel.connectors.files.splits import FileEnumerator, FileReader
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.formats.parquet import ParquetColumnarRowInputFormat
from firesteel.errors import InvalidProgramError
from firesteel.functions.splits import Known, SplitRange
from firesteel.testing import run_local
from tests.objects.server import Bucket

pytestmark = pytest.mark.slow


def lines_of(path: str, interval: Duration | None = None) -> FileSource:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)
    return (builder if interval is None else builder.monitor_continuously(interval)).build()


def read_all(source: FileSource, bucket: Bucket) -> list[object]:
    reader = FileReader(source, bucket.options)
    splits = FileEnumerator(source, bucket.options).discover(2, Known())[0]
    return [
        value
        for split in splits
        for chunk in reader.read(SplitRange(split, split.start, split.end, is_last=True))
        for value in chunk
    ]


def environment(bucket: Bucket) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in bucket.options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def test_a_job_reads_all_files_below_a_prefix_but_hidden_ones(bucket: Bucket):
    for name in ("in/b/2.txt", "in/1.txt", "in/_tmp/3.txt", "in/.4.txt", "in2/5.txt"):
        bucket.put(name, f"{name}\n".encode())
    env = environment(bucket)
    source = env.from_source(lines_of(bucket.uri("in")), WatermarkStrategy.no_watermarks(), "in", Types.STRING())
    source.collect_async()
    assert sorted(run_local(env, batch_elements=1).elements) == ["in/1.txt", "in/b/2.txt"]


def test_a_range_of_a_large_file_is_read_alone(bucket: Bucket, monkeypatch):
    monkeypatch.setattr(file_splits, "_FILE_SPLIT_BYTES", 100_000)
    text = [f"line {number:06}" for number in range(100_000)]
    path = bucket.put("in/large.txt", "\n".join(text).encode())
    source = lines_of(path)
    assert read_all(source, bucket) == text
    splits = FileEnumerator(source, bucket.options).discover(2, Known())[0]
    assert len(splits) == 12
    bucket.server.requests.clear()
    part = SplitRange(splits[5], 500_000, 501_000)
    found = [line for chunk in FileReader(source, bucket.options).read(part) for line in chunk]
    assert found == text[500_000 // 12 + 1 : 501_000 // 12]
    assert len(bucket.server.requests) <= 2


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("deflate", zlib.compress)])
def test_compressed_files_are_read_whole(bucket: Bucket, suffix, pack):
    bucket.put(f"in/a.{suffix}", pack(b"one\ntwo\n"))
    assert read_all(lines_of(bucket.uri("in")), bucket) == ["one", "two"]


def test_parquet_files_are_read(bucket: Bucket):
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "name": ["a", "b"]}), buffer)
    bucket.put("in/a.parquet", buffer.getvalue())
    row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), bucket.uri("in")).build()
    assert [tuple(row) for row in read_all(source, bucket)] == [(1, "a"), (2, "b")]


def test_a_monitored_prefix_yields_new_files_and_forgets_removed_ones(bucket: Bucket):
    enumerator = FileEnumerator(lines_of(bucket.uri("in"), Duration.of_millis(1)), bucket.options)
    with pytest.raises(InvalidProgramError, match=r"input path 's3://.*/in' does not exist"):
        enumerator.discover(1, Known())
    first = bucket.put("in/1", b"1\n")
    splits, there = enumerator.discover(1, Known())
    assert ([split.path for split in splits], there) == ([first], set())
    second = bucket.put("in/2", b"2\n")
    splits, there = enumerator.discover(1, Known(frozenset({first}), is_first=False))
    assert ([split.path for split in splits], there) == ([second], {first})
    bucket.fs.rm([first, second])
    assert enumerator.discover(1, Known(frozenset({first, second}), is_first=False)) == ([], set())
