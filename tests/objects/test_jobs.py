"""Jobs on Spark that read from S3, write to S3 and keep their checkpoints there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.client.client_errors import JobFailedError
from firesteel.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from firesteel.common.files.file_systems import Files
from firesteel.datastream import KeyedProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.entrypoint.savepoint_disposal import dispose_savepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, checkpoints_in, read_metadata
from tests.objects.server import Bucket
from tests.waiting import wait_for

pytestmark = pytest.mark.spark

WORDS = ["to", "be", "or", "not", "that", "is", "the", "question"]
LINES = 6000


def environment(bucket: Bucket, **options: str) -> StreamExecutionEnvironment:
    configuration = {
        "execution.checkpointing.dir": bucket.uri("checkpoints"),
        "execution.checkpointing.interval": "200 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
        **bucket.options,
        **options,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration))
    env.set_parallelism(2)
    return env


def word_count(env: StreamExecutionEnvironment, bucket: Bucket, split: Any) -> None:
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), bucket.uri("in")).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    pairs = lines.flat_map(split, Types.TUPLE([Types.STRING(), Types.INT()]))
    counts = pairs.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1]))
    sink = FileSink.for_row_format(bucket.uri("out"), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    rolling = RollingPolicy.default_rolling_policy(part_size=50_000)
    counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()).sink_to(sink.with_rolling_policy(rolling).build())


def put_lines(bucket: Bucket) -> Counter[str]:
    words: Counter[str] = Counter()
    for number in range(3):
        lines = [f"{WORDS[i % 8]}{' ' * 60}{WORDS[(i * 7 + number) % 8]}" for i in range(LINES // 3)]
        lines[-1] += f" last{number}"
        bucket.put(f"in/{number}.txt", "\n".join(lines).encode())
        words.update(word for line in lines for word in line.split())
    return words


def check_counts(bucket: Bucket, expected: Counter[str]) -> None:
    """Each word was counted up to its last count, each count once."""
    counted: dict[str, list[int]] = {}
    for name in bucket.names("out"):
        assert "/." not in name
        for line in bucket.read(name).decode().splitlines():
            word, count = line.split()
            counted.setdefault(word, []).append(int(count))
    assert {word: sorted(counts) for word, counts in counted.items()} == {
        word: list(range(1, count + 1)) for word, count in expected.items()
    }


def dying_split(directory: Path, deaths: dict[str, str]):
    """A function that splits lines and at certain words kills its slot once: `killed`, or `lost` with its disk."""

    def split(line):
        time.sleep(0.0005)
        for word in line.split():
            death = deaths.get(word)
            if death is not None and not (directory / death).exists():
                (directory / death).touch()
                if death == "lost":
                    for versions in directory.glob("firesteel-jobs-*/*/versions-*"):
                        shutil.rmtree(versions)
                os.kill(os.getpid(), signal.SIGKILL)
            yield word, 1

    return split


def test_a_killed_slot_resumes_from_its_disk_and_a_lost_disk_from_a_checkpoint_on_s3(bucket: Bucket, tmp_path: Path):
    expected = put_lines(bucket)

    env = environment(bucket, **{"io.tmp.dirs": str(tmp_path)})
    word_count(env, bucket, dying_split(tmp_path, {"last0": "killed", "last2": "lost"}))
    env.execute("word count")
    check_counts(bucket, expected)
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "lost").exists()
    assert any(method == "GET" and "/versions-" in path for method, path, _ in bucket.server.requests)
    assert list(tmp_path.glob("firesteel-jobs-*/*")) == []
    puts = Counter(path for method, path, _ in bucket.server.requests if method == "PUT" and bucket.name in path)
    assert sum(path.endswith("/_metadata") for path in puts) >= 2
    assert bucket.names("checkpoints") == []
    assert bucket.uploads() == []


def test_checkpoints_begin_while_earlier_ones_are_uploaded_and_output_is_exactly_once(bucket: Bucket, tmp_path: Path):
    """The files of the first checkpoint arrive after those of a later one are sent; then a disk is lost."""
    expected = put_lines(bucket)
    is_pending = threading.Event()

    def hold_first(method: str, path: str, query: str) -> None:
        found = re.search(r"/versions-\d+/\d+/\d+/(\d+)-", path)
        if method == "PUT" and found is not None:
            if found[1] != "0":
                is_pending.set()
            is_pending.wait()

    options = {"io.tmp.dirs": str(tmp_path), "execution.checkpointing.max-concurrent-checkpoints": "3"}
    env = environment(bucket, **options)
    word_count(env, bucket, dying_split(tmp_path, {"last2": "lost"}))
    with bucket.server.failing(hold_first):
        env.execute("word count")
    check_counts(bucket, expected)
    assert is_pending.is_set()
    assert (tmp_path / "lost").exists()
    assert (bucket.names("checkpoints"), bucket.uploads()) == ([], [])


def checkpoints_of(bucket: Bucket) -> list[tuple[Any, CheckpointMetadata]]:
    (job,) = {name.split("/")[1] for name in bucket.names("checkpoints")}
    found = checkpoints_in(Files(bucket.options).path(bucket.uri("checkpoints", job)))
    return [(path, read_metadata(path)) for path in found]


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        assert value != "poison"
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value} {count}"


def start_tail(bucket: Bucket, parallelism: int, **options: str) -> Any:
    env = environment(bucket, **options)
    env.set_parallelism(parallelism)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), bucket.uri("in"))
    source = source.monitor_continuously(Duration.of_millis(50)).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING()).uid("lines")
    counts = lines.key_by(lambda word: word, Types.STRING()).process(RunningCount(), Types.STRING()).uid("count")
    sink = FileSink.for_row_format(bucket.uri("out"), Encoder.simple_string_encoder())
    counts.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()).uid("out")
    return env.execute_async("tail")


def counted(bucket: Bucket) -> list[str]:
    return sorted(line for name in bucket.names("out") for line in bucket.read(name).decode().splitlines())


def test_a_retained_checkpoint_is_whole_and_restores_on_another_host(bucket: Bucket, tmp_path: Path):
    retained = {
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": "2",
        "restart-strategy.type": "none",
        "io.tmp.dirs": str(tmp_path),
    }
    first = start_tail(bucket, 2, **retained)
    for number, word in enumerate(["to", "be", "to"]):
        bucket.put(f"in/{number}", f"{word}\n".encode())
        wait_for(lambda count=number + 1: len(counted(bucket)) == count)
    poison = bucket.put("in/poison", b"poison\n")
    with pytest.raises(JobFailedError):
        first.get_job_execution_result().result()
    (newest, metadata), (older, _) = checkpoints = checkpoints_of(bucket)
    needed = {path for _, one in checkpoints for path in one.files()}
    needed |= {f"{path.name}/_metadata" for path, _ in checkpoints}
    names = bucket.names("checkpoints")
    job = names[0].split("/")[1]
    assert {name.partition(f"{job}/")[2] for name in names} == needed
    puts = [path for method, path, _ in bucket.server.requests if method == "PUT" and f"{bucket.name}/check" in path]
    assert len(puts) == len(set(puts))
    assert list(tmp_path.glob("firesteel-jobs-*/*")) == []

    bucket.fs.rm_file(poison)
    bucket.put("in/more", b"to\n")
    again = start_tail(bucket, 3, **{"execution.state-recovery.path": str(newest)})
    wait_for(lambda: len(counted(bucket)) == 4)
    again.cancel().result()
    assert counted(bucket) == ["be 1", "to 1", "to 2", "to 3"]

    lost = next(file for chain in metadata.chains.values() for file in chain).path
    bucket.fs.rm_file(bucket.uri("checkpoints", job, lost))
    with pytest.raises(
        Exception, match=rf"{lost} is missing; .*{newest} can't be used, the newest intact checkpoint is {older}"
    ):
        start_tail(bucket, 2, **{"execution.state-recovery.path": str(newest)}).get_job_execution_result().result()


def test_a_savepoint_on_s3_is_restored_with_another_checkpoint_directory(bucket: Bucket, tmp_path: Path):
    bucket.put("in/1", b"to\nbe\nor\nnot\nto\nbe\n")
    first = start_tail(bucket, 2)
    wait_for(lambda: len(counted(bucket)) == 6)
    savepoint = first.stop_with_savepoint(False, bucket.uri("savepoints")).result()
    first.get_job_execution_result().result()
    assert savepoint.startswith(bucket.uri("savepoints", "savepoint-"))
    assert bucket.names("checkpoints") == []
    bucket.put("in/2", b"to\nquestion\n")
    # The savepoint is on S3, and the checkpoints of the job are not.
    local = {"execution.checkpointing.dir": tmp_path.as_uri(), "execution.state-recovery.path": savepoint}
    second = start_tail(bucket, 3, **local)
    wait_for(lambda: len(counted(bucket)) == 8)
    assert counted(bucket) == ["be 1", "be 2", "not 1", "or 1", "question 1", "to 1", "to 2", "to 3"]
    saved = second.stop_with_savepoint(False, (tmp_path / "savepoints").as_uri()).result()
    bucket.put("in/3", b"or\n")
    third = start_tail(bucket, 2, **{"execution.state-recovery.path": saved})
    wait_for(lambda: len(counted(bucket)) == 9)
    third.cancel().result()
    assert counted(bucket)[4] == "or 2"
    assert bucket.uploads() == []
    dispose_savepoint(Files(bucket.options).path(savepoint))
    assert bucket.names("savepoints") == []


def test_a_batch_job_reads_writes_and_decides_on_s3_with_a_module_from_there(bucket: Bucket):
    expected = put_lines(bucket)
    bucket.put("modules/objects_words.py", b"def words(line):\n    return line.split()\n")

    def split(line):
        import objects_words

        for word in objects_words.words(line):
            yield word, 1

    env = environment(bucket, **{"python.files": bucket.uri("modules", "objects_words.py")})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    word_count(env, bucket, split)
    env.execute("batch")
    found = sorted(line for name in bucket.names("out") for line in bucket.read(name).decode().splitlines())
    assert found == sorted(f"{word} {count}" for word, count in expected.items())
    puts = [path for method, path, _ in bucket.server.requests if method == "PUT"]
    assert any(path.startswith(f"/{bucket.name}/checkpoints") and path.endswith("/_decision") for path in puts)
    assert (bucket.names("checkpoints"), bucket.uploads()) == ([], [])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"execution.checkpointing.dir": "s3://no-such-bucket/ck"},
            r"cannot write s3://no-such-bucket/ck/\w+/_job: The specified bucket does not exist",
        ),
        ({"s3.access-key": "wrong"}, r"access was denied \(The key does not exist .* s3.access-key and s3.secret-key"),
    ],
)
def test_a_wrong_bucket_and_wrong_credentials_are_named(bucket: Bucket, options: dict[str, str], text: str):
    bucket.put("in/1", b"to be")
    env = environment(bucket, **{"restart-strategy.type": "none", **options})
    word_count(env, bucket, lambda line: [(word, 1) for word in line.split()])
    with pytest.raises(Exception, match=text):
        env.execute()
