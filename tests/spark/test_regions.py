"""Independent pipelines of a job run, fail and restart separately; checkpoints and savepoints cover the whole job."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from firesteel.common import Configuration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import MapFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

pytestmark = pytest.mark.spark

COUNT = 3_000


class Note(MapFunction):
    """Notes each attempt that it is opened in, and goes wrong once at a number."""

    def __init__(self, directory: Path, name: str, fault: str = "", pause_s: float = 0.0) -> None:
        self._opened = directory / f"{name}-opened"
        self._done = directory / f"{name}-done"
        self._fault = fault
        self._pause_s = pause_s

    def open(self, runtime_context):
        with self._opened.open("a") as file:
            file.write(f"{runtime_context.get_index_of_this_subtask()} {runtime_context.get_attempt_number()}\n")

    def map(self, value):
        time.sleep(self._pause_s)
        if self._fault and value == COUNT // 2 and not self._done.exists():
            while len(opened(self._opened.parent, "good")) < 2:  # Otherwise no region could continue.
                time.sleep(0.01)
            self._done.touch()
            if self._fault == "exception":
                raise ValueError("a bad record")
            os.kill(os.getpid(), signal.SIGKILL)
        return value


def environment(directory: Path, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    settings = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "100 ms",
        "restart-strategy.fixed-delay.attempts": "3",
        **options,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def pipeline(env: StreamExecutionEnvironment, note: Note, output: Path) -> None:
    source = NumberSequenceSource(0, COUNT - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), f"numbers of {output.name}", Types.LONG())
    counted = numbers.map(note, Types.LONG()).key_by(lambda n: n % 7, Types.LONG()).map(str, Types.STRING())
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build()
    counted.sink_to(sink).name(f"sink of {output.name}").uid(f"sink-{output.name}")


def numbers_in(output: Path) -> Counter[int]:
    files = [path for path in output.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return Counter(int(line) for path in files for line in path.read_text().split())


def opened(directory: Path, name: str) -> list[str]:
    """Return the subtasks and attempts that were opened, once each: a batch may be retried if Spark loses a task."""
    path = directory / f"{name}-opened"
    return sorted(set(path.read_text().splitlines())) if path.exists() else []


@pytest.mark.parametrize(
    ("fault", "failover", "opened_by_other"),
    [
        ("exception", "region", ["0 0", "1 0"]),
        ("kill", "region", ["0 0", "1 0"]),
        ("exception", "full", ["0 0", "0 1", "1 0", "1 1"]),
    ],
)
def test_a_pipeline_that_fails_leaves_the_other_one_running(
    fault: str, failover: str, opened_by_other: list[str], tmp_path: Path
) -> None:
    env = environment(tmp_path, **{"jobmanager.execution.failover-strategy": failover})
    pipeline(env, Note(tmp_path, "good", pause_s=0.002), tmp_path / "good")
    pipeline(env, Note(tmp_path, "bad", fault), tmp_path / "bad")
    env.execute("two pipelines")
    assert (tmp_path / "bad-done").exists()
    assert opened(tmp_path, "good") == opened_by_other
    assert len((tmp_path / "bad-opened").read_text().splitlines()) > 2
    expected = Counter(range(COUNT))
    assert (numbers_in(tmp_path / "good"), numbers_in(tmp_path / "bad")) == (expected, expected)


def test_a_savepoint_stops_all_pipelines_and_each_goes_on_from_it(tmp_path: Path) -> None:
    def program(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
        for name, pause_s in (("quick", 0.0), ("slow", 0.003)):
            pipeline(env, Note(tmp_path, name, pause_s=pause_s), tmp_path / name)
        return env

    client = program(environment(tmp_path)).execute_async("first")
    while not (tmp_path / "slow-opened").exists():
        time.sleep(0.05)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    first = numbers_in(tmp_path / "slow")
    assert 0 < first.total() < COUNT
    program(environment(tmp_path, **{"execution.state-recovery.path": savepoint})).execute("second")
    expected = Counter(range(COUNT))
    assert (numbers_in(tmp_path / "quick"), numbers_in(tmp_path / "slow")) == (expected, expected)
