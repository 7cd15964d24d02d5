"""What the benchmarks share: each engine runs in a process of its own, one after the other; medians are compared."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PARALLELISM = 2
PYFLINK_WARM_UP = 20_000
_MARK = "BENCHMARK-RESULT "

Runs = Callable[[int, int], list[float]]
"""(records, runs) -> seconds of each run, after one more run to warm up."""


# --- what the engines' processes do --------------------------------------------------------------------------------


class Meter:
    """Lets no record through, and leaves a file with the number of records and the times of the first and the last.

    The end of all pipelines: shows that every record was processed, and when.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._count = 0
        self._first = self._last = 0.0

    def __call__(self, record: object) -> bool:
        now = time.time()
        if not self._count:
            self._first = now
        self._last = now
        self._count += 1
        return False

    def leave(self) -> None:
        if self._count:
            path = Path(self._directory) / uuid.uuid4().hex
            path.write_text(json.dumps([self._count, self._first, self._last]))


def read_meters(directory: str, expected: int) -> float:
    """Seconds from the first to the last record of all subtasks."""
    found = [json.loads(path.read_text()) for path in Path(directory).iterdir()]
    count = sum(entry[0] for entry in found)
    if count != expected:
        raise SystemExit(f"{count} records came to the end, {expected} were expected")
    return max(entry[2] for entry in found) - min(entry[1] for entry in found)


def datastream_runs(build: Callable[[object, int, str], None], expected: Callable[[int], int], engine: str) -> Runs:
    """Runs of a DataStream program on firesteel or, if it is `pyflink:MODE`, on PyFlink: the very same program."""
    name, _, mode = engine.partition(":")
    if name == "firesteel":
        from firesteel.compat import alias_pyflink

        alias_pyflink()
    import cloudpickle
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers do not find this module

    def run(records: int) -> float:
        configuration = Configuration()
        if mode:
            configuration.set_string("python.execution-mode", mode)
            configuration.set_string("python.fn-execution.bundle.size", "100000")
            configuration.set_string("python.executable", sys.executable)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(PARALLELISM)
        with tempfile.TemporaryDirectory() as directory:
            build(env, records, directory)
            result = env.execute("benchmark")
            between = read_meters(directory, expected(records))
        # PyFlink's workers take seconds to start, which would weigh much in its shorter runs: they are left out.
        return between if mode else result.get_net_runtime() / 1000

    def runs(records: int, number: int) -> list[float]:
        run(PYFLINK_WARM_UP if mode else records)
        return [run(records) for _ in range(number)]

    return runs


def spark_session(settings: dict[str, str] | None = None):
    """A plain session, with as many cores as the other engines have subtasks."""
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").appName("benchmark")
    defaults = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(PARALLELISM),
    }
    for key, value in {**defaults, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def timed_runs(run: Callable[[int], None]) -> Runs:
    """Wall time of an action on a warm session."""

    def once(records: int) -> float:
        begin = time.perf_counter()
        run(records)
        return time.perf_counter() - begin

    def runs(records: int, number: int) -> list[float]:
        once(records)
        return [once(records) for _ in range(number)]

    return runs


# --- what the benchmark itself does --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """The runs of one engine."""

    label: str
    records: int
    seconds: list[float]
    versions: dict[str, str]

    @property
    def rate(self) -> float:
        return self.records / statistics.median(self.seconds)


SLOW_ENGINES = {"spark-streaming"}


def main(title: str, text: str, engines: dict[str, tuple[str, Callable[[str], Runs]]]) -> None:
    """Run a benchmark as a program.

    Args:
        title: Short; names the file of the results.
        text: What is measured; goes into the results.
        engines: name -> (label, how to get its runs). `firesteel` comes first, `pyflink:MODE` needs --pyflink-python.
    """
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3, help="runs per engine after a warm-up; their median counts [3]")
    parser.add_argument(
        "--pyflink-python", help="Python of an environment with apache-flink; without it PyFlink is left out"
    )
    parser.add_argument(
        "--slow-records",
        type=int,
        default=100_000,
        help="for engines that take long: PyFlink, transformWithState [100000]",
    )
    parser.add_argument("--engine", choices=list(engines), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        seconds = engines[options.engine][1](options.engine)(options.records, options.runs)
        print(_MARK + json.dumps([seconds, _versions()]), flush=True)
        return
    results = _run_all(engines, options)
    report = _report(title, text, results, options.runs)
    print(f"\n{report}")
    _write(title, report)


def _run_all(engines: dict[str, tuple[str, Callable[[str], Runs]]], options: argparse.Namespace) -> list[Result]:
    results: list[Result] = []
    pyflink: list[Result] = []
    for name, (label, _) in engines.items():
        if not name.startswith("pyflink"):
            records = min(options.records, options.slow_records) if name in SLOW_ENGINES else options.records
            results.append(_run_engine(name, label, sys.executable, records, options.runs))
        elif options.pyflink_python:
            records = min(options.records, options.slow_records)
            trial = _run_engine(name, label, options.pyflink_python, min(records, PYFLINK_WARM_UP), 1)
            pyflink.append(trial)
    if pyflink:
        best = max(pyflink, key=lambda result: result.rate)
        name = next(name for name, (label, _) in engines.items() if label == best.label)
        records = min(options.records, options.slow_records)
        results.append(_run_engine(name, best.label, options.pyflink_python, records, options.runs))
    return results


def _run_engine(name: str, label: str, python: str, records: int, runs: int) -> Result:
    print(f"{label}: {records:,} records, {runs} run(s) ...", file=sys.stderr, flush=True)
    command = [python, sys.argv[0], "--engine", name, "--records", str(records), "--runs", str(runs)]
    # PyFlink's workers take the first `python` on the PATH.
    path = os.pathsep.join([str(Path(python).absolute().parent), os.environ.get("PATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode != 0 or not lines:
        raise SystemExit(f"{label} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    seconds, versions = json.loads(lines[-1].removeprefix(_MARK))
    return Result(label, records, seconds, versions)


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for label, package in (("Spark", "pyspark"), ("Flink", "apache-flink"), ("pandas", "pandas")):
        try:
            found[label] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def environment_line() -> str:
    return f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def versions_line() -> str:
    return ", ".join(f"{name} {version}" for name, version in _versions().items())


def _report(title: str, text: str, results: list[Result], runs: int) -> str:
    ours = results[0].rate
    lines = [
        f"# {title}",
        "",
        text,
        "",
        f"{environment_line()}. Parallelism {PARALLELISM}. Median of {runs} run(s) after a warm-up.",
        "",
        "| engine | versions | records | seconds | records/s | firesteel is |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for result in results:
        versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
        factor = "1" if result is results[0] else f"{ours / result.rate:.2f} times as fast"
        seconds = statistics.median(result.seconds)
        lines.append(
            f"| {result.label} | {versions} | {result.records:,} | {seconds:.2f} | {result.rate:,.0f} | {factor} |"
        )
    return "\n".join([*lines, ""])


def _write(title: str, report: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.date.today().isoformat()}_{title.lower().replace(' ', '_')}.md"
    path.write_text(report)
    print(f"Written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", file=sys.stderr)


def write_report(title: str, report: str) -> None:
    """Print a report and keep it."""
    print(f"\n{report}")
    _write(title, report)
