"""Checkpoints and savepoints of jobs on Spark: taken while the job runs, and restored in other jobs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.client.client_errors import JobCanceledError
from firesteel.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from firesteel.common.job_status import JobStatus
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.task.checkpoint_metadata import checkpoints_in, read_metadata
from tests.seeds import combinations
from tests.waiting import wait_for

pytestmark = pytest.mark.spark

WAIT_S = 30


class RunningCount(KeyedProcessFunction):
    """Emits how often a word came so far; says at the end of time how often it came in all."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(2**60)
        yield f"{value} {count}"

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"{ctx.get_current_key()} total {self.count.value()}"


class Tail:
    """A job that counts the words of the files in a directory, as they come, into another directory."""

    def __init__(self, directory: Path) -> None:
        self.input, self.output = directory / "in", directory / "out"
        self.checkpoints, self.savepoints = directory / "checkpoints", directory / "savepoints"
        for path in (self.input, self.output):
            path.mkdir()
        self._files = 0

    def write(self, *words: str) -> None:
        self._files += 1
        hidden = self.input / f".{self._files}"
        hidden.write_text("".join(f"{word}\n" for word in words))
        hidden.rename(self.input / f"{self._files:04d}")

    def start(self, parallelism: int, shape: Callable[[Any], Any] | None = None, **options: str) -> Any:
        configuration = Configuration()
        for key, value in {"execution.checkpointing.dir": str(self.checkpoints), **options}.items():
            configuration.set_string(key.replace("__", "."), value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(self.input))
        source = lines.monitor_continuously(Duration.of_millis(50)).build()
        words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words", Types.STRING()).uid("words")
        counted = words.key_by(lambda word: word, Types.STRING()).process(RunningCount(), Types.STRING()).uid("count")
        sink = FileSink.for_row_format(str(self.output), Encoder.simple_string_encoder())
        shape = shape or (lambda sink: sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()))
        counted.sink_to(shape(sink).build()).uid("out")
        return env.execute_async("tail")

    def lines(self) -> Counter[str]:
        files = [path for path in self.output.rglob("*") if path.is_file() and not path.name.startswith(".")]
        return Counter(line for path in files for line in path.read_text().splitlines())


def test_a_savepoint_is_taken_while_the_job_is_idle_and_goes_on_in_another_parallelism(tmp_path: Path) -> None:
    tail = Tail(tmp_path)
    tail.write("to", "be", "or", "not", "to", "be")
    first = tail.start(2)
    wait_for(lambda: tail.lines().total() == 6)
    savepoint = first.trigger_savepoint(tail.savepoints.as_uri()).result()
    assert Path(savepoint).parent == tail.savepoints
    assert first.get_job_status().result() == JobStatus.RUNNING
    first.cancel().result()
    with pytest.raises(JobCanceledError):
        first.get_job_execution_result().result()
    tail.write("to", "question")
    second = tail.start(3, **{"execution.state-recovery.path": savepoint})
    wait_for(lambda: tail.lines().total() == 8)
    second.cancel_and_wait()
    assert tail.lines() == Counter(["to 1", "to 2", "to 3", "be 1", "be 2", "or 1", "not 1", "question 1"])


@pytest.mark.parametrize("drains", [False, True])
def test_stop_with_savepoint_finishes_the_job(tmp_path: Path, drains: bool) -> None:
    tail = Tail(tmp_path)
    first = tail.start(2, **{"execution.checkpointing.savepoint-dir": str(tail.savepoints)})
    tail.write("a", "b", "a")
    wait_for(lambda: tail.lines().total() == 3)
    savepoint = first.stop_with_savepoint(drains).result()
    first.get_job_execution_result().result()
    assert Path(savepoint).parent == tail.savepoints
    totals = {line for line in tail.lines() if "total" in line}
    assert totals == ({"a total 2", "b total 1"} if drains else set())
    assert list(tail.checkpoints.iterdir()) == []


def test_sinks_commit_at_checkpoints_and_jobs_resume_from_the_last_one(tmp_path: Path) -> None:
    tail = Tail(tmp_path)
    options = {
        "execution.checkpointing.interval": "2 s",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    first = tail.start(2, **options)
    tail.write("a")
    wait_for(lambda: tail.lines().total() == 1)
    stopped = threading.Event()

    def trickle() -> None:
        while not stopped.wait(0.1):
            tail.write("a")

    thread = threading.Thread(target=trickle)
    thread.start()
    wait_for(lambda: tail.lines().total() > 20)
    first.cancel_and_wait()
    stopped.set()
    thread.join()
    (job,) = tail.checkpoints.iterdir()
    (newest,) = checkpoints_in(job)
    files = [path for path in tail.output.rglob("part-*") if path.is_file()]
    assert len(files) <= 2 * int(newest.name.removeprefix("chk-"))
    second = tail.start(1, **{"execution.state-recovery.path": str(newest)})
    wait_for(lambda: tail.lines().total() == tail._files)
    second.cancel_and_wait()
    assert tail.lines() == Counter(f"a {count + 1}" for count in range(tail._files))


def test_a_checkpoint_is_taken_when_it_is_asked_for(tmp_path: Path) -> None:
    """Of an idle job at once, by an empty batch; what sinks have ready is committed with it."""
    tail = Tail(tmp_path)
    job: Any = tail.start(2, **{"execution.checkpointing.interval": "1 h"})
    tail.write("a")
    wait_for(lambda: tail.lines().total() == 1)  # the first batch is followed by a checkpoint

    def checkpoint(full: bool) -> int:
        return int(job._cluster.ask(lambda dispatcher: dispatcher.trigger_checkpoint(job._job_id, full)).result())

    assert [checkpoint(full) for full in (False, True)] == [2, 3]
    (directory,) = tail.checkpoints.iterdir()
    (newest,) = checkpoints_in(directory)
    assert newest.name == "chk-3"
    metadata = read_metadata(newest)
    names = {file.path.rpartition("/")[2] for chain in metadata.chains.values() for file in chain}
    assert names == {f"{metadata.states[0].batch_id}-1.full"}, "not all state was written"
    job.cancel_and_wait()


def test_the_last_of_the_input_is_committed_although_nothing_comes_after_it(tmp_path: Path) -> None:
    tail = Tail(tmp_path)
    job: Any = tail.start(2, **{"execution.checkpointing.interval": "1 s"})
    tail.write("a")
    wait_for(lambda: tail.lines().total() == 1)
    tail.write("a")  # a batch before the next checkpoint is due
    wait_for(lambda: tail.lines().total() == 2)
    job.cancel_and_wait()


def by_inactivity(sink: Any) -> Any:
    return sink.with_rolling_policy(RollingPolicy.default_rolling_policy(inactivity_interval=500))


def by_age(sink: Any) -> Any:
    return sink.with_rolling_policy(RollingPolicy.default_rolling_policy(rollover_interval=500))


def compacted(sink: Any) -> Any:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    return sink.with_rolling_policy(policy).enable_compact(strategy, FileCompactor.concat_file_compactor())


@pytest.mark.parametrize(("shape", "interval"), combinations([by_inactivity, by_age, compacted], ["0 ms", "200 ms"]))
def test_a_stream_that_goes_quiet_shows_its_last_records(tmp_path: Path, shape: Any, interval: str) -> None:
    tail = Tail(tmp_path)
    tail.write("a", "b", "a")
    job = tail.start(2, shape, execution__checkpointing__interval=interval)
    try:
        wait_for(lambda: tail.lines() == Counter(["a 1", "a 2", "b 1"]))
    finally:
        job.cancel_and_wait()
