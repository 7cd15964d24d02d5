"""Common code of the benchmarks: each engine runs in a separate process, one after the other; medians are compared."""

from __future__ import annotations

import argparse
import contextlib
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LIMITS = Path(__file__).parent / "limits.json"
"""Title of a benchmark -> case -> how many times as fast as each other engine firesteel must be, at least."""
PARALLELISM = 2
PYFLINK_WARM_UP = 20_000
_MARK = "BENCHMARK-RESULT "
DONE = f"{_MARK}null"
"""Printed before the result of a function, which then ends its process."""

Runs = Callable[[int, int], list[float]]
"""(records, runs) -> seconds of each run, after one more run to warm up."""


# --- in the processes of the engines --------------------------------------------------------------------------------


def timed_runs(run: Callable[[int], None]) -> Runs:
    """Return the wall time of an action on a warm session."""

    def once(records: int) -> float:
        begin = time.perf_counter()
        run(records)
        return time.perf_counter() - begin

    def runs(records: int, number: int) -> list[float]:
        once(records)
        return [once(records) for _ in range(number)]

    return runs


def answer_call(functions: dict[str, Callable[..., object]]) -> bool:
    """Call the function if `apart` started this process, and return whether it did."""
    if len(sys.argv) != 4 or sys.argv[1] != "--call":
        return False
    print(_MARK + json.dumps(functions[sys.argv[2]](*json.loads(sys.argv[3]))), flush=True)
    return True


# --- in the process of the benchmark --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Engine:
    """An engine that runs a case.

    Attributes:
        label: Its name in the report.
        runs: Returns its runs; called in a separate process.
        slow: Whether it is slow, and so gets fewer records.
    """

    label: str
    runs: Callable[[], Runs]
    slow: bool = False


@dataclass(frozen=True)
class Case:
    """Engines to compare by name, `firesteel` first; `pyflink:MODE` runs in PyFlink's Python."""

    title: str
    text: str
    engines: dict[str, Engine]


@dataclass(frozen=True)
class Result:
    """The runs of one engine, or the `error` with which it failed."""

    label: str
    records: int
    seconds: list[float]
    versions: dict[str, str]
    error: str = ""

    @property
    def rate(self) -> float:
        return self.records / statistics.median(self.seconds) if self.seconds else 0.0


def main(title: str, text: str, cases: dict[str, Case]) -> None:
    """Run a benchmark as a program.

    Args:
        title: A short title, which names the file of the results.
        text: The method of measurement, for the results.
        cases: The cases by the names that `--case` accepts.
    """
    options = _options(text, cases)
    if options.engine:
        seconds = cases[options.case[0]].engines[options.engine].runs()(options.records, options.runs)
        print(_MARK + json.dumps([seconds, _versions()]), flush=True)
        return
    chosen = {case: cases[case] for case in options.case or cases}
    name = " ".join([title, *(options.case or [])])
    results = {case: _run_case(case, cases[case], options) for case in chosen}
    conditions = f"Parallelism {PARALLELISM}. Median of {options.runs} run(s) after a warm-up."
    lines = [f"# {name}", "", text, "", f"{environment_line()}. {conditions}", ""]
    for case, found in results.items():
        lines += _section(cases[case], found)
    if options.only is None:
        write_report(name, "\n".join(lines))
    else:
        print("\n".join(["", *lines]))
    if any(result.error for found in results.values() for result in found):
        raise SystemExit("Not all engines came to the end: see above.")
    if options.limits and (slow := _below_limits(title, results)):
        raise SystemExit("\n".join(["Slower than benchmarks/limits.json allows:", *slow]))


def _options(text: str, cases: dict[str, Case]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--case", choices=list(cases), nargs="+", help="only these [all]")
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
    parser.add_argument(
        "--only", nargs="*", metavar="ENGINE", help="leave the other engines out, and no results behind"
    )
    parser.add_argument(
        "--limits", action="store_true", help="fail if firesteel is slower than benchmarks/limits.json allows"
    )
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run_case(name: str, case: Case, options: argparse.Namespace) -> list[Result]:
    def run(engine: str, records: int, number: int) -> Result:
        chosen = case.engines[engine]
        records = min(records, options.slow_records) if chosen.slow else records
        python = options.pyflink_python if engine.startswith("pyflink") else sys.executable
        return _run_engine([python, sys.argv[0], "--case", name, "--engine", engine], chosen.label, records, number)

    wanted = [engine for engine in case.engines if options.only is None or engine in options.only]
    results = [run(engine, options.records, options.runs) for engine in wanted if not engine.startswith("pyflink")]
    modes = [engine for engine in wanted if engine.startswith("pyflink") and options.pyflink_python]
    if len(modes) > 1:
        trials = {engine: run(engine, PYFLINK_WARM_UP, 1) for engine in modes}
        modes = [max(trials, key=lambda engine: trials[engine].rate)]
    return results + [run(engine, options.records, options.runs) for engine in modes]


def _run_engine(command: list[str], label: str, records: int, runs: int) -> Result:
    """Run an engine in a separate process."""
    print(f"{command[3]}, {label}: {records:,} records, {runs} run(s) ...", file=sys.stderr, flush=True)
    done = subprocess.run(
        [*command, "--records", str(records), "--runs", str(runs)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": _path_for(command[0])},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode != 0 or not lines:
        print(f"{label} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}", file=sys.stderr)
        errors = [line for line in done.stderr.splitlines() if "Error" in line]
        error = (errors or done.stderr.strip().splitlines() or ["no output"])[-1]
        return Result(label, records, [], {}, f"failed: {error[:200]}")
    seconds, versions = json.loads(lines[-1].removeprefix(_MARK))
    result = Result(label, records, seconds, versions)
    print(f"    {result.rate:,.0f} records/s", file=sys.stderr, flush=True)
    return result


def apart(
    function: str,
    *arguments: object,
    watch: Callable[[], None] | None = None,
    python: str = sys.executable,
    timeout_s: float = 3600,
) -> Any:
    """Return the result of a function of this script in a fresh process; call `watch` twice a second meanwhile."""
    command = [python, sys.argv[0], "--call", function, json.dumps(arguments)]
    environment = {**os.environ, "PATH": _path_for(python)}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        end = time.monotonic() + timeout_s
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
            if watch is not None:
                watch()
        process.kill()
        out.seek(0)
        err.seek(0)
        for line in out:
            if line.startswith(_MARK):
                return json.loads(line.removeprefix(_MARK))
        raise SystemExit(f"{function}{arguments} failed:\n{err.read()[-4000:]}")


def _path_for(python: str) -> str:
    """Return a PATH on which this Python comes first, as PyFlink's workers use the first `python` on it."""
    return os.pathsep.join([str(Path(python).absolute().parent), os.environ.get("PATH", "")])


def _section(case: Case, results: list[Result]) -> list[str]:
    """Return the table of the engines of one case."""
    ours = results[0].rate if results else 0.0
    lines = [
        f"## {case.title}",
        "",
        case.text,
        "",
        "| engine | versions | records | seconds | records/s | firesteel is |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for result in results:
        if result.error:
            lines.append(f"| {result.label} | | {result.records:,} | | | {result.error} |")
            continue
        versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
        factor = "1" if result is results[0] else f"{ours / result.rate:.2f} times as fast"
        seconds = statistics.median(result.seconds)
        lines.append(
            f"| {result.label} | {versions} | {result.records:,} | {seconds:.2f} | {result.rate:,.0f} | {factor} |"
        )
    return [*lines, ""]


def _below_limits(title: str, results: dict[str, list[Result]]) -> list[str]:
    """Return a line per case and engine whose lead is larger than allowed."""
    limits = json.loads(LIMITS.read_text())[title]
    unknown = limits.keys() - results.keys()
    lines = [f"{case}: there is no such case" for case in sorted(unknown)]
    for case, (ours, *others) in results.items():
        for other in others:
            if ours.rate < limits.get(case, 0) * other.rate:
                ratio = ours.rate / other.rate
                lines.append(f"{case}: {ratio:.2f} times as fast as {other.label}, {limits[case]} is the least allowed")
    return lines


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


def _write(title: str, report: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.date.today().isoformat()}_{title.lower().replace(' ', '_')}.md"
    path.write_text(report)
    print(f"Written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", file=sys.stderr)


def table(header: str, rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; all columns but the first are numbers."""
    columns = header.count("|") + 1
    return [f"| {header} |", "|---" + "|--:" * (columns - 1) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def header(*names: str) -> list[str]:
    """Return the first lines of a table of numbers, and print its names."""
    return [row(*names), "|---" + "|--:" * (len(names) - 1) + "|"]


def row(*cells: str) -> str:
    """Return a line of a table, and print it while others are still measured."""
    print(" | ".join(cells), flush=True)
    return f"| {' | '.join(cells)} |"


def write_report(title: str, report: str) -> None:
    """Print a report and store it."""
    print(f"\n{report}")
    _write(title, report)
