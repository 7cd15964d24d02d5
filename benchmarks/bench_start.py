"""Wall time from the command to its exit, for a job of three records: on firesteel and on bare PySpark.

python benchmarks/bench_start.py [--runs K]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness

NO_CACHE = "/dev/null"
"""A cache directory in which nothing can be created."""

PYSPARK = "PySpark by hand"
PROGRAMS = {
    PYSPARK: (None, False),
    "firesteel, STREAMING, first run": ("STREAMING", False),
    "firesteel, STREAMING": ("STREAMING", True),
    "firesteel, BATCH, first run": ("BATCH", False),
    "firesteel, BATCH": ("BATCH", True),
}
"""Label -> (runtime mode, whether there is an archive of Spark's classes)."""

FIRESTEEL_PROGRAM = """\
from firesteel.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2, 3]).map(lambda number: number + 1).print()
env.execute("three records")
"""
PYSPARK_PROGRAM = """\
import os, sys
from pyspark import SparkConf, SparkContext

os.environ["PYSPARK_PYTHON"] = sys.executable
settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
context = SparkContext(conf=SparkConf().setMaster(f"local[{os.cpu_count()}]").setAll(settings.items()))
for number in context.parallelize([1, 2, 3]).map(lambda number: number + 1).collect():
    print(number)
context.stop()
"""

TEXT = """\
Wall time from the command to its exit: a Python function adds one to each of three numbers, and the sums are printed.
firesteel runs it by `firesteel run`, and PySpark as an RDD. The first run of a user has no archive of Spark's classes;
a process in the background makes it after that run."""


def command_of(program: str, directory: Path) -> list[str]:
    mode, _ = PROGRAMS[program]
    if mode is None:
        return [sys.executable, str(directory / "by_hand.py")]
    options = ["--quiet", "--runtime-mode", mode]
    return [sys.executable, "-m", "firesteel", "run", *options, str(directory / "three_records.py")]


def wall_time(program: str, directory: Path) -> float:
    _, has_archive = PROGRAMS[program]
    caches = str(directory) if has_archive else NO_CACHE
    command = command_of(program, directory)
    begin = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": caches}
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0 or sorted(line[-1] for line in done.stdout.splitlines()) != ["2", "3", "4"]:
        raise SystemExit(f"{program} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return seconds


def make_archive(directory: Path) -> float:
    """Make the archive of Spark's classes, and return how many seconds it took."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "firesteel.entrypoint.class_archive_training"]
    subprocess.run(command, check=True, env={**os.environ, "XDG_CACHE_HOME": str(directory)})
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=TEXT)
    parser.add_argument("--runs", type=int, default=5, help="their median counts [5]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "three_records.py").write_text(FIRESTEEL_PROGRAM)
        (directory / "by_hand.py").write_text(PYSPARK_PROGRAM)
        archive_s = make_archive(directory)
        measured: dict[str, list[float]] = {program: [] for program in PROGRAMS}
        for _ in range(options.runs):
            for program in PROGRAMS:
                measured[program].append(wall_time(program, directory))
    harness.write_report("Start", report(measured, options.runs, archive_s))


def report(measured: dict[str, list[float]], runs: int, archive_s: float) -> str:
    medians = {program: statistics.median(times) for program, times in measured.items()}
    lines = [
        "# Start",
        "",
        TEXT,
        "",
        f"{harness.environment_line()}. {harness.versions_line()}. Median of {runs} run(s). The archive took "
        f"{archive_s:.0f} s to make.",
        "",
        "| program | seconds | times PySpark's |",
        "|---|--:|--:|",
    ]
    lines += [f"| {name} | {median:.1f} | {median / medians[PYSPARK]:.2f} |" for name, median in medians.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
