"""Wall time from the command to its exit, for a job of three records: on firesteel and on bare PySpark.

python benchmarks/bench_start.py [--runs K]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

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
a process in the background makes it after that run. CPU time is that of the program and of all its
processes except Spark's Python workers, for whose end nobody waits: about 0.2 s."""


class Cost(NamedTuple):
    """What a run took, in seconds: until its exit, CPU time of its processes, and of all others meanwhile."""

    wall: float
    cpu: float
    other_cpu: float


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of_machine() -> float:
    """Return the CPU time in seconds that all processes have used since the start of the machine."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def command_of(program: str, directory: Path) -> list[str]:
    mode, _ = PROGRAMS[program]
    if mode is None:
        return [sys.executable, str(directory / "by_hand.py")]
    options = ["--quiet", "--runtime-mode", mode]
    return [sys.executable, "-m", "firesteel", "run", *options, str(directory / "three_records.py")]


def cost_of(program: str, directory: Path) -> Cost:
    _, has_archive = PROGRAMS[program]
    caches = str(directory) if has_archive else NO_CACHE
    command = command_of(program, directory)
    machine, cpu, begin = cpu_of_machine(), cpu_of_children(), time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": caches}
    )
    seconds, used = time.perf_counter() - begin, cpu_of_children() - cpu
    if done.returncode != 0 or sorted(line[-1] for line in done.stdout.splitlines()) != ["2", "3", "4"]:
        raise SystemExit(f"{program} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return Cost(seconds, used, cpu_of_machine() - machine - used)


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
        measured: dict[str, list[Cost]] = {program: [] for program in PROGRAMS}
        for _ in range(options.runs):
            for program in PROGRAMS:
                measured[program].append(cost_of(program, directory))
    harness.write_report("Start", report(measured, options.runs, archive_s))


def report(measured: dict[str, list[Cost]], runs: int, archive_s: float) -> str:
    medians = {program: Cost(*map(statistics.median, zip(*found, strict=True))) for program, found in measured.items()}
    others = max(cost.other_cpu / cost.wall for found in measured.values() for cost in found)
    lines = [
        "# Start",
        "",
        TEXT,
        "",
        f"{harness.environment_line()}. {harness.versions_line()}. Median of {runs} run(s). The archive took "
        f"{archive_s:.0f} s to make. Others than these processes used at most {others:.1f} cores during a run.",
        "",
        "| program | seconds | times PySpark's | CPU seconds |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {median.wall:.2f} | {median.wall / medians[PYSPARK].wall:.2f} | {median.cpu:.2f} |"
        for name, median in medians.items()
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
