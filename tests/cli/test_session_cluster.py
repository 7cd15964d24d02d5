"""A session cluster as its users see it: processes, commands, and what happens when the leader is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
from firesteel.common import Duration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy, StreamFormat

source, target = sys.argv[1:]
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), source)
files = lines.monitor_continuously(Duration.of_millis(50)).build()
words = env.from_source(files, WatermarkStrategy.no_watermarks(), "words", Types.STRING()).uid("words")
pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
counts = pairs.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("counts")
texts = counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
sink = FileSink.for_row_format(target, Encoder.simple_string_encoder())
texts.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()).uid("out")
env.execute("tail")
"""
WAIT_S = 60


def firesteel(*arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "firesteel", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)
    return found


class JobManager:
    """A JobManager process in the foreground."""

    def __init__(self, directory: Path, **options: str) -> None:
        settings = {"rest.port": "0", **options}
        command = [sys.executable, "-m", "firesteel", "jobmanager", "start"]
        command += [part for key, value in settings.items() for part in ("-D", f"{key}={value}")]
        self.log = directory / f"jobmanager-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            environment = {**os.environ, "FIRESTEEL_RUN_DIR": str(directory), "FIRESTEEL_RPC_SECRET": "s" * 32}
            self.process = subprocess.Popen(command, stderr=log, env=environment)
        line = wait_for(lambda: [text for text in self.log.read_text().splitlines() if "is ready at" in text])[0]
        self.address = line.split("http://")[1]

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(30)


@pytest.fixture
def jobmanagers(tmp_path: Path) -> Iterator[Callable[..., JobManager]]:
    started: list[JobManager] = []

    def start(**options: str) -> JobManager:
        started.append(JobManager(tmp_path, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


class Tail:
    """The program's input and output."""

    def __init__(self, directory: Path) -> None:
        self.program, self.input, self.output = directory / "tail.py", directory / "in", directory / "out"
        self.program.write_text(PROGRAM)
        self.input.mkdir()
        self.output.mkdir()
        self.arguments = (str(self.program), str(self.input), str(self.output))

    def write(self, name: str, *words: str) -> None:
        (self.input / f".{name}").write_text("".join(f"{word}\n" for word in words))
        (self.input / f".{name}").rename(self.input / name)

    def lines(self) -> Counter[str]:
        files = [path for path in self.output.rglob("*") if path.is_file() and not path.name.startswith(".")]
        return Counter(line for path in files for line in path.read_text().splitlines())


def test_jobs_are_submitted_listed_saved_and_stopped(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    tail, cluster = Tail(tmp_path), jobmanagers()
    tail.write("1", "a", "b", "a")
    submitted = firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    job_id = submitted.stderr.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 3)
    assert f"{job_id} : tail (RUNNING)" in firesteel("list", "-m", cluster.address).stdout
    (job,) = json.loads(firesteel("list", "-m", cluster.address, "--output", "json").stdout)
    assert (job["jid"], job["tasks"]["running"]) == (job_id, 4)
    taken = firesteel("checkpoint", "--full", "-m", cluster.address, "--output", "json", job_id).stdout
    assert json.loads(taken) == {"job-id": job_id, "checkpoint-id": 2}
    stopped = firesteel("stop", "-m", cluster.address, "-p", str(tmp_path / "savepoints"), job_id).stdout
    savepoint = stopped.split("Path: ")[1].strip()
    assert "No running jobs." in firesteel("list", "-m", cluster.address).stdout
    tail.write("2", "a")
    firesteel("run", "-d", "-m", cluster.address, "-s", savepoint, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 4)
    assert tail.lines() == Counter(["a 1", "a 2", "a 3", "b 1"])
    (job,) = json.loads(firesteel("list", "-m", cluster.address, "--output", "json").stdout)
    firesteel("cancel", "-m", cluster.address, job["jid"])
    firesteel("savepoint", "-m", cluster.address, "--dispose", savepoint)
    assert not Path(savepoint).exists()
    refused = firesteel("cancel", "-m", cluster.address, "0" * 32, check=False)
    assert (refused.returncode, refused.stderr) == (1, f"Error: Job {'0' * 32} not found\n")
    cluster.end(signal.SIGTERM)
    assert cluster.process.returncode == 0


def test_another_jobmanager_goes_on_with_the_jobs_of_one_that_was_killed(
    tmp_path: Path, jobmanagers: Callable[..., JobManager]
) -> None:
    tail = Tail(tmp_path)
    options = {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path / "ha"),
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "jobmanager.rpc.port": "0",
    }
    first, second = jobmanagers(**options), jobmanagers(**options)
    tail.write("1", "a", "b", "a")
    firesteel("run", "-d", "-m", first.address, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 3)
    assert "tail (RUNNING)" in firesteel("list", "-m", second.address).stdout
    first.end(signal.SIGKILL)
    tail.write("2", "a", "c")
    wait_for(lambda: tail.lines().total() == 5)
    assert tail.lines() == Counter(["a 1", "a 2", "a 3", "b 1", "c 1"])
    assert "tail (RUNNING)" in firesteel("list", "-m", second.address).stdout
    second.end(signal.SIGTERM)


def test_a_jobmanager_that_can_not_start_says_why(tmp_path: Path) -> None:
    refused = firesteel("jobmanager", "start", "--host", "0.0.0.0", check=False, FIRESTEEL_RUN_DIR=str(tmp_path))
    assert refused.returncode == 1
    assert "which others can reach, and whoever can submit a job can run code" in refused.stderr
    nobody = firesteel("list", "-m", "127.0.0.1:1", check=False)
    assert nobody.returncode == 1
    assert nobody.stderr.startswith("Error: no JobManager answers at http://127.0.0.1:1")
