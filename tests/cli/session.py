"""A session cluster as its users see it: JobManager processes, commands, and a job that runs until it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.waiting import wait_for

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
RUN_DIRECTORY = "FIRESTEEL_RUN_DIR"
_run_directories: dict[str, str] = {}


def firesteel(
    *arguments: str,
    check: bool = True,
    cwd: Path | None = None,
    text: str | None = None,
    wait_s: float = 120,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "firesteel", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=wait_s,
        check=False,
        cwd=cwd,
        env={**os.environ, **_run_directory(arguments), **environment},
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def firesteel_in_background(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "firesteel", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **_run_directory(arguments)},
    )


def _run_directory(arguments: tuple[str, ...]) -> dict[str, str]:
    """Where the JobManager that a command asks has left its token."""
    known = [_run_directories[address] for address in arguments if address in _run_directories]
    return {RUN_DIRECTORY: known[0]} if known else {}


class JobManager:
    """A JobManager process in the foreground."""

    def __init__(self, directory: Path, **options: str) -> None:
        settings = {"rest.port": "0", **options}
        command = [sys.executable, "-m", "firesteel", "jobmanager", "start"]
        command += [part for key, value in settings.items() for part in ("-D", f"{key}={value}")]
        self.log = directory / f"jobmanager-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            environment = {**os.environ, RUN_DIRECTORY: str(directory), "FIRESTEEL_RPC_SECRET": "s" * 32}
            self.process = subprocess.Popen(command, stderr=log, env=environment)
        line = wait_for(lambda: [text for text in self.log.read_text().splitlines() if "is ready at" in text])[0]
        self.address = line.split("http://")[1]
        _run_directories[self.address] = str(directory)
        self.token_file = directory / f"jobmanager-{self.address.rpartition(':')[2]}.token"

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(30)


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
