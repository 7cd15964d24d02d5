"""Whole jobs on Spark, through the whole control plane, in one shared JVM."""

from __future__ import annotations

import os
import signal
import time
import uuid
import zipfile
from pathlib import Path

import pytest

from firesteel.client.client_errors import JobCanceledError, JobFailedError
from firesteel.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from firesteel.coordinator import split_enumerator
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.base import Committer, Sink, SinkWriter, Source, SourceSplit
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import ValueStateDescriptor

pytestmark = pytest.mark.spark

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
MODES = pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])


def environment(mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING, parallelism: int = 2):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    env.set_parallelism(parallelism)
    return env


def numbers(env: StreamExecutionEnvironment, count: int) -> DataStream:
    source = NumberSequenceSource(0, count - 1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())


@pytest.fixture(params=["small batches", "batches on lanes"])
def sizes(request, monkeypatch):
    """Let all batches of a STREAMING job run in one task, or on lanes with exchanges."""
    monkeypatch.setattr(split_enumerator, "_SMALL_S", 3600 if request.param == "small batches" else -1)


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def word_counts(env: StreamExecutionEnvironment) -> DataStream:
    lines = env.from_collection(["to be or not", "to be"], type_info=Types.STRING())
    return (
        lines.flat_map(lambda line: [(word, 1) for word in line.split()], PAIR)
        .key_by(lambda pair: pair[0], Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def test_streaming_prints_one_line_per_change_with_the_subtask_first(capsys, sizes):
    env = environment()
    word_counts(env).print()
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    assert {line[:3] for line in lines} <= {"1> ", "2> "}
    assert sorted(line[3:] for line in lines) == ["(be,1)", "(be,2)", "(not,1)", "(or,1)", "(to,1)", "(to,2)"]


def test_batch_prints_final_values_only(capsys):
    env = environment(RuntimeExecutionMode.BATCH)
    word_counts(env).print()
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line[3:] for line in lines) == ["(be,2)", "(not,1)", "(or,1)", "(to,2)"]


@MODES
def test_collected_elements_have_their_declared_types(mode):
    env = environment(mode)
    whole = numbers(env, 3).map(lambda n: n + 0.5, Types.INT())
    with whole.execute_and_collect() as results:
        assert [(type(one), one) for one in sorted(results)] == [(int, 0), (int, 1), (int, 2)]


@MODES
def test_a_result_out_of_range_fails_the_job_with_operator_record_and_type(mode):
    env = environment(mode)
    wide = numbers(env, 3).map(lambda n: n + 2**31 - 2, Types.INT()).name("wide")
    text = (
        r"operator 'wide'.* failed: ValueOverflowError: value: declared as INT \(int\), found int 2147483648, which is "
        r"out of range\s+on record 2147483648"
    )
    with pytest.raises(JobFailedError, match=text):
        list(wide.execute_and_collect())


@MODES
def test_side_outputs_and_two_sinks_in_one_job(mode, tmp_path):
    env = environment(mode)
    odd = OutputTag("odd", Types.LONG())

    class Split(ProcessFunction):
        def process_element(self, value, ctx):
            if value % 2:
                yield odd, value
            else:
                yield value

    main = numbers(env, 10).process(Split(), Types.LONG())
    for name, stream in (("even", main), ("odd", main.get_side_output(odd))):
        sink = (
            FileSink.for_row_format(str(tmp_path / name), Encoder.simple_string_encoder())
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .build()
        )
        stream.map(lambda value: value, Types.LONG()).sink_to(sink)
    env.execute()
    written = {name: read_parts(tmp_path / name) for name in ("even", "odd")}
    assert written == {"even": ["0", "2", "4", "6", "8"], "odd": ["1", "3", "5", "7", "9"]}
    assert not list(tmp_path.rglob(".*inprogress*"))


def read_parts(directory: Path) -> list[str]:
    return sorted(line for part in directory.iterdir() for line in part.read_text().split())


def test_lines_of_a_directory_are_read_once(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("".join(f"{number}-{line}\n" for line in range(1000)))
    env = environment()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    with lines.execute_and_collect() as results:
        found = sorted(results)
    assert found == sorted(f"{number}-{line}" for number in range(3) for line in range(1000))


def test_a_killed_slot_process_changes_no_result(tmp_path, sizes):
    """The user's function kills its own process in the middle of a batch, at each of three places of the input once."""

    def kill_once(value):
        marker = tmp_path / str(value)
        if value in (50_001, 150_001, 399_999) and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    env = environment()
    counts = (
        numbers(env, 400_000)
        .map(kill_once, Types.LONG())
        .key_by(lambda n: n % 100, Types.LONG())
        .process(RunningCount(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    )
    seen: dict[int, int] = {}
    with counts.execute_and_collect() as results:
        for key, count in results:
            assert count == seen.get(key, 0) + 1
            seen[key] = count
    assert seen == dict.fromkeys(range(100), 4000)
    assert len(list(tmp_path.iterdir())) == 3


class Failing(MapFunction):
    def map(self, value):
        return 10 // (value - 7)


@MODES
def test_a_raising_function_fails_the_job_and_is_named(mode):
    env = environment(mode)
    numbers(env, 10).map(Failing(), Types.LONG()).name("divide").print()
    with pytest.raises(JobFailedError) as caught:
        env.execute()
    failure = caught.value.failure
    assert failure.operator_name == "divide"
    assert failure.message.startswith("ZeroDivisionError: ")
    assert "in map: return 10 // (value - 7)" in failure.user_location
    assert str(caught.value).splitlines()[0].endswith(f"(subtask 2/2) failed: {failure.message}")


def test_a_missing_input_fails_the_job_with_its_path():
    env = environment()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/no/such/file").build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING()).print()
    with pytest.raises(JobFailedError, match="'/no/such/file' does not exist"):
        env.execute()


@MODES
def test_a_cancelled_job_ends_with_a_message(mode):
    env = environment(mode)
    numbers(env, 2_000_000_000).filter(lambda n: False).print()
    client = env.execute_async("endless")
    assert client.get_job_status().result().name in ("CREATED", "RUNNING")
    client.cancel().result()
    with pytest.raises(JobCanceledError):
        client.get_job_execution_result().result()
    assert client.get_job_status().result().name == "CANCELED"
    client.close()


def test_a_closed_iterator_ends_the_job():
    env = environment()
    with numbers(env, 2_000_000_000).execute_and_collect() as results:
        assert next(results) in (0, 1_000_000_000)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_failed_job_is_restarted_from_its_last_batch(tmp_path, parallelism, sizes):
    marker = tmp_path / "failed once"

    def fail_once(value):
        if value == 150_000 and not marker.exists():
            marker.touch()
            raise RuntimeError("once")
        return value

    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "1")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    counts = (
        numbers(env, 300_000)
        .map(fail_once, Types.LONG())
        .key_by(lambda n: n % 3, Types.LONG())
        .process(RunningCount(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    )
    with counts.execute_and_collect() as results:
        found = sorted(results)
    assert found == [(key, count) for key in range(3) for count in range(1, 100_001)]
    assert marker.exists()


def test_a_monitored_directory_is_read_as_files_appear_and_processing_time_goes_on(tmp_path):
    """An unbounded source: a timer that fires without new data proves that the clock advances."""

    class Deadline(KeyedProcessFunction):
        def process_element(self, value, ctx):
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 300)
            yield f"saw {value}"

        def on_timer(self, timestamp, ctx):
            yield f"no more of {ctx.get_current_key()}"

    (tmp_path / "1.txt").write_text("a\n")
    env = environment()
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        .monitor_continuously(Duration.of_millis(200))
        .build()
    )
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    events = lines.key_by(lambda line: line, Types.STRING()).process(Deadline(), Types.STRING())
    with events.execute_and_collect() as results:
        assert [next(results), next(results)] == ["saw a", "no more of a"]
        (tmp_path / "2.txt").write_text("b\n")
        assert [next(results), next(results)] == ["saw b", "no more of b"]


class DependentMap(MapFunction):
    """Uses a module and a file that only the job's own files and archives hold."""

    def map(self, value):
        from dependency_of_the_job import FACTOR

        return value * FACTOR + int(Path("data.zip/offset.txt").read_text())


@MODES
def test_functions_find_the_files_and_archives_of_their_job(tmp_path: Path, mode: RuntimeExecutionMode) -> None:
    (tmp_path / "dependency_of_the_job.py").write_text("FACTOR = 10")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("offset.txt", "7")
    env = environment(mode)
    env.add_python_file(str(tmp_path / "dependency_of_the_job.py"))
    env.add_python_archive(str(tmp_path / "data.zip"))
    assert sorted(numbers(env, 3).map(DependentMap(), Types.LONG()).execute_and_collect()) == [7, 17, 27]
    later = numbers(environment(mode), 3).map(DependentMap(), Types.LONG())
    with pytest.raises(JobFailedError, match="No module named 'dependency_of_the_job'"):
        list(later.execute_and_collect())


class SleepsAndFails(MapFunction):
    """In the first attempt subtask 0 sleeps for long, deaf to signals if it is told so, and subtask 1 fails."""

    def __init__(self, is_deaf: bool) -> None:
        self.is_deaf = is_deaf

    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value):
        if self.attempt == 0:
            if self.subtask == 1:
                time.sleep(1)  # The other one sleeps by now.
                raise ValueError("restart")
            if self.is_deaf:
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            time.sleep(300)
        return value


@pytest.mark.parametrize("is_deaf", [False, True])
def test_a_task_that_does_not_return_does_not_delay_restarts(is_deaf):
    env = environment()
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    if is_deaf:
        configuration.set_string("task.cancellation.timeout", "1 s")
    env.configure(configuration)
    with numbers(env, 10).map(SleepsAndFails(is_deaf), Types.LONG()).execute_and_collect() as results:
        assert sorted(results) == list(range(10))


class FailsOnce(Committer):
    """Shows a file per request, and fails after the first one when it is called for the first time."""

    def __init__(self, directory):
        self.directory = directory

    def commit(self, requests):
        for request in requests:
            (self.directory / f"{request.subtask_index}-{request.number}").write_text("\n".join(request.committable))
            marker = self.directory / "failed"
            if not marker.exists():
                marker.touch()
                raise OSError("not yet")


class Lines(SinkWriter):
    def __init__(self):
        self.lines = []

    def write(self, element, timestamp):
        self.lines.append(str(element))

    def prepare_commit(self):
        lines, self.lines = self.lines, []
        return [[line] for line in lines]


class LinesSink(Sink):
    def __init__(self, directory):
        super().__init__()
        self.directory = directory

    def create_writer(self, context):
        return Lines()

    def create_committer(self):
        return FailsOnce(self.directory)


def test_a_batch_job_whose_commit_failed_in_the_middle_is_committed_and_not_run_again(tmp_path):
    def never_the_same(value):
        with (tmp_path / "calls").open("a") as calls:
            calls.write(".")
        return f"{value} {uuid.uuid4()}"

    (tmp_path / "lines").mkdir()
    env = environment(RuntimeExecutionMode.BATCH)
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env.configure(configuration)
    texts = numbers(env, 100).map(never_the_same, Types.STRING())
    texts.sink_to(LinesSink(tmp_path / "lines"))
    files = FileSink.for_row_format(str(tmp_path / "files"), Encoder.simple_string_encoder())
    texts.sink_to(files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    env.execute()
    assert (tmp_path / "calls").stat().st_size == 100
    shown = [path.read_text() for path in (tmp_path / "lines").iterdir() if path.name != "failed"]
    lines = [line for path in (tmp_path / "files").glob("[!.]*") for line in path.read_text().splitlines()]
    assert sorted(shown) == sorted(lines)
    assert sorted(int(line.split()[0]) for line in lines) == list(range(100))


@MODES
@pytest.mark.usefixtures("sizes")
def test_large_output_is_printed_and_collected_in_order(mode, capsys):
    """More than travels with the reports of a batch: it goes through files."""
    env = environment(mode, parallelism=1)
    texts = numbers(env, 6_000).map(lambda n: f"{n:0200}", Types.STRING())
    texts.print()
    with texts.execute_and_collect() as results:
        assert list(results) == [f"{n:0200}" for n in range(6_000)]
    assert capsys.readouterr().out.splitlines() == [f"{n:0200}" for n in range(6_000)]


@MODES
@pytest.mark.usefixtures("sizes")
def test_elements_of_a_megabyte_pass_an_exchange(mode, capsys):
    class Large(Source):
        def discover_splits(self):
            return [SourceSplit("large", 150)]

        def read_split(self, split_id, start, end):
            return (f"{position:04}".ljust(1_000_000, "x") for position in range(start, end))

    env = environment(mode)
    large = env.from_source(Large(), WatermarkStrategy.no_watermarks(), "large", Types.STRING())
    large.rebalance().map(lambda text: f"{text[:4]} {len(text)}", Types.STRING()).print()
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line[3:] for line in lines) == [f"{n:04} 1000000" for n in range(150)]
