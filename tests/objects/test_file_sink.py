"""File sinks on S3: multipart uploads, completed at checkpoints, through failures of writers and of the store."""

from __future__ import annotations

import io
import itertools
import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.parquet
import pytest

from firesteel.common import Configuration, Encoder, Row, Types, WatermarkStrategy
from firesteel.common.files.remote_files import RemoteFileError
from firesteel.connectors.files.committer import FileCommitter
from firesteel.connectors.files.writer import FileWriter
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.formats.parquet import ParquetBulkWriters
from firesteel.testing import Fault, run_local
from tests.objects.server import Bucket

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

FLAT = BucketAssigner.base_path_bucket_assigner()
MIB = 1 << 20
LARGE = "x" * (MIB - 1)


def rows_to(path: str, **rolling: int) -> FileSink:
    builder = FileSink.for_row_format(path, Encoder.simple_string_encoder()).with_bucket_assigner(FLAT)
    return builder.with_rolling_policy(RollingPolicy.default_rolling_policy(**rolling)).build()


class Writers:
    """The writers of one subtask, one after the other."""

    def __init__(self, bucket: Bucket, directory: Path) -> None:
        self.bucket = bucket
        self.directory = directory
        self.sink = rows_to(bucket.uri("out"))
        self.is_checkpoint = True
        self._batches = itertools.count()
        self._made: list[FileWriter] = []
        self.committer = FileCommitter()
        self.committer.configure(bucket.options)

    def writer(self, state: Any = None) -> FileWriter:
        context = WriterInitContext(
            "job",
            "sink",
            0,
            2,
            0,
            False,
            Types.STRING(),
            self.bucket.options,
            lambda: 0,
            lambda: self.is_checkpoint,
            began=(1, next(self._batches), 1),
            spool_directory=str(self.directory),
        )
        writer = FileWriter(self.sink.settings, context)
        self._made.append(writer)
        if state is not None:
            writer.restore_state(state)
        return writer

    def close(self) -> None:
        for writer in self._made:
            writer.close()

    def commit(self, committables: Any) -> None:
        requests = [CommitRequest("job", "sink", 0, n, one) for n, one in enumerate(committables)]
        self.committer.check(requests)
        self.committer.commit(requests)

    def shown(self) -> list[int]:
        """How many lines each part has; it checks that these are whole."""
        lines = [self.bucket.read(name).decode().split("\n") for name in self.bucket.names("out") if "/." not in name]
        assert all(set(of_part[:-1]) <= {LARGE, "small"} and not of_part[-1] for of_part in lines)
        return [len(of_part) - 1 for of_part in lines]

    def left(self) -> list[str]:
        return [*self.bucket.uploads(), *(name for name in self.bucket.names("out") if "/." in name)]


@pytest.fixture
def writers(bucket: Bucket, tmp_path: Path) -> Iterator[Writers]:
    with closing(Writers(bucket, tmp_path / "spool")) as writers:
        yield writers


def test_parts_are_sent_as_they_fill_and_shown_once_they_are_committed(writers: Writers):
    writer = writers.writer()
    for _ in range(12):
        writer.write(LARGE, None)
    writer.flush(False)
    sent = [query for method, _, query in writers.bucket.server.requests if method == "PUT" and "partNumber" in query]
    assert len(sent) == 2
    writer.write("small", None)
    writer.flush(True)
    assert writers.shown() == []
    writers.commit(writer.prepare_commit())
    assert (writers.shown(), writers.left()) == ([13], [])
    assert len(list(writers.directory.iterdir())) <= 2


@pytest.mark.parametrize("is_other_host", [False, True])
def test_a_writer_resumes_from_a_checkpoint_despite_an_earlier_writer(writers: Writers, is_other_host):
    first = writers.writer()
    for _ in range(7):
        first.write(LARGE, None)
    first.flush(False)
    state = first.snapshot_state()
    for _ in range(5):
        first.write(LARGE, None)
    if is_other_host:
        shutil.rmtree(writers.directory)
    second = writers.writer(state)
    second.write_all(["small"] * 3, None)
    second.flush(False)
    for _ in range(5):
        second.write(LARGE, None)
    second.flush(True)
    if not is_other_host:
        first.flush(True)
    writers.commit(second.prepare_commit())
    assert (writers.shown(), writers.left()) == ([15], [])


def test_uploads_of_an_earlier_writer_are_aborted(writers: Writers):
    first = writers.writer()
    first.flush(False)
    for _ in range(6):
        first.write(LARGE, None)
    first.flush(False)
    assert len(writers.left()) == 2
    second = writers.writer()
    second.flush(False)
    writers.commit(second.prepare_commit())
    assert writers.left() == []


def test_a_commit_whose_answer_is_lost_has_no_further_effect(writers: Writers):
    writer = writers.writer()
    writer.write("small", None)
    writer.flush(True)
    committables, lost = writer.prepare_commit(), ["lost"]
    with writers.bucket.server.failing(lambda method, path, query: lost.pop() if method == "POST" and lost else None):
        writers.commit(committables)
    writers.commit(committables)
    assert (writers.shown(), writers.left(), lost) == ([1], [], [])


def test_uncommittable_requests_are_refused_before_the_decision(writers: Writers):
    writer = writers.writer()
    writer.write("small", None)
    writer.flush(True)
    committables = writer.prepare_commit()
    (name,) = writers.bucket.uploads()
    upload = writers.bucket.fs.call_s3("list_multipart_uploads", Bucket=writers.bucket.name)["Uploads"][0]
    writers.bucket.fs.call_s3(
        "abort_multipart_upload", Bucket=writers.bucket.name, Key=name, UploadId=upload["UploadId"]
    )
    with pytest.raises(
        RemoteFileError, match=r"cannot complete s3://.*: its upload of 6 bytes was removed .* no object"
    ):
        writers.commit(committables)


@pytest.mark.parametrize("count", [2, 7])
def test_a_version_is_resumed_although_its_part_was_published_later(writers: Writers, count):
    first = writers.writer()
    for _ in range(count):
        first.write(LARGE, None)
    first.flush(False)
    state = first.snapshot_state()
    first.write("small", None)
    first.flush(True)
    writers.commit(first.prepare_commit())
    assert writers.shown() == [count + 1]
    second = writers.writer(state)
    second.write_all(["small", "small"], None)
    second.flush(True)
    writers.commit(second.prepare_commit())
    assert (writers.shown(), writers.left()) == ([count + 2], [])


def test_the_remainder_of_a_part_is_kept_for_the_last_checkpoint_only(writers: Writers):
    writer = writers.writer()
    for number in range(6):
        writers.is_checkpoint = number % 2 == 1
        writer.write("small", None)
        writer.flush(False)
        writers.commit(writer.prepare_commit())
        assert len(writers.left()) == (0 if number == 0 else 1)
    state = writer.snapshot_state()
    shutil.rmtree(writers.directory)
    second = writers.writer(state)
    second.flush(True)
    writers.commit(second.prepare_commit())
    assert (writers.shown(), writers.left()) == ([6], [])


def test_the_remainder_is_kept_for_each_retained_checkpoint_although_others_were_subsumed(writers: Writers):
    option = "execution.checkpointing."
    writers.bucket.options |= {f"{option}num-retained": "2", f"{option}max-concurrent-checkpoints": "2"}
    writer, states, pending = writers.writer(), [], []
    for number in range(8):
        writer.write("small", None)
        writer.flush(False)
        pending += writer.prepare_commit()
        if number % 2 == 1:  # It subsumes the one before.
            writers.commit(pending)
            states.append(writer.snapshot_state())
            pending.clear()
    assert len(writers.left()) == 3
    shutil.rmtree(writers.directory)
    second = writers.writer(states[-2])
    second.flush(True)
    writers.commit(second.prepare_commit())
    assert writers.shown() == [6]


# --- jobs ------------------------------------------------------------------------------------------------------------


def run_job(sink: FileSink, bucket: Bucket, is_batch: bool = False, **settings: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(bucket.options))
    env.set_parallelism(2)
    if is_batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    numbers = env.from_source(NumberSequenceSource(1, 40), WatermarkStrategy.no_watermarks(), "n", Types.LONG())
    numbers.map(lambda n: Row(f"p{n}", n), Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])).sink_to(sink)
    run_local(env, **settings)


FAULTS = [Fault(1, 0, 0), Fault(3, 0, 1)]


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_job_writes_each_row_once_although_slots_die(bucket: Bucket, is_batch):
    sink = rows_to(bucket.uri("out"), part_size=40)
    faults = [] if is_batch else FAULTS
    run_job(sink, bucket, is_batch, batch_elements=4, faults=faults, replayed=[] if is_batch else [2])
    found = [line for name in bucket.names("out") for line in bucket.read(name).decode().splitlines()]
    assert sorted(found) == sorted(f"+I[p{n}, {n}]" for n in range(1, 41))
    assert bucket.uploads() == []


def test_a_store_that_fails_a_third_of_its_requests_changes_nothing(bucket: Bucket):
    count = itertools.count()
    kinds = ["refused", None, None, "lost", None, None]
    with bucket.server.failing(lambda method, path, query: kinds[next(count) % 6]):
        run_job(rows_to(bucket.uri("out"), part_size=200), bucket, batch_elements=40)
    found = [line for name in bucket.names("out") for line in bucket.read(name).decode().splitlines()]
    assert sorted(found) == sorted(f"+I[p{n}, {n}]" for n in range(1, 41))


def test_parquet_files_are_sent_when_they_are_complete(bucket: Bucket):
    row_type = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
    builder = FileSink.for_bulk_format(bucket.uri("out"), ParquetBulkWriters.for_row_type(row_type))
    run_job(builder.with_bucket_assigner(FLAT).build(), bucket, batch_elements=10, faults=FAULTS[:1])
    tables = [pyarrow.parquet.read_table(io.BytesIO(bucket.read(name))) for name in bucket.names("out")]
    assert sorted(n for table in tables for n in table["n"].to_pylist()) == list(range(1, 41))


def test_other_file_systems_get_files_at_each_checkpoint(bucket: Bucket):
    base = f"/{uuid.uuid4().hex}"
    run_job(rows_to(f"memory://{base}"), bucket, batch_elements=10, faults=FAULTS[:1], replayed=[0])
    memory = fsspec.filesystem("memory")
    names = memory.find(base)
    found = [line for name in names for line in memory.cat_file(name).decode().splitlines()]
    assert sorted(found) == sorted(f"+I[p{n}, {n}]" for n in range(1, 41))
    assert len(names) == 4
