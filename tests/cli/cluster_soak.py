"""Hours of a session cluster with 20 jobs: `python -m tests.cli.cluster_soak [--hours 3] [--jobs 20] [--batch-s 2]`.

Jobs from Kafka, files and SQL, with state in memory and on disk. Each minute one is cancelled and another submitted;
each five minutes something is killed. Memory, descriptors, threads, files and objects are written down, and must not
grow; what jobs from Kafka and files have committed must be each count of a key once. Longer batches make room for other
work on a slow machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from firesteel.client.rest_client import RestClusterClient
from tests.cli import soak_job, soak_process
from tests.cli.session import RUN_DIRECTORY, firesteel
from tests.exactly_once.processes import KINDS, Process, left_after, processes_of
from tests.kafka.broker import Broker, running
from tests.kafka.log import CommittedLog
from tests.waiting import repeating, wait_for

JOBS = 20
BATCH_S = 2
PAGE = Path(__file__).parents[2] / "benchmarks" / "results"
RATE = 100
"""Numbers per second in Kafka, and in the files of each job that reads some."""

_CHANGE_S, _FAULT_S, _SAMPLE_S, _FILE_S = 60, 300, 15, 10
_FAULTS = (*("slot", "worker", "slot server", "worker daemon") * 3, "JVM")
"""The JVM lives for an hour, so that one sees whether it grows."""
_WAIT_S = 600
_WARM_S = 600
_MOST_GROWTH = 0.1
_OPTIONS = {
    "rest.port": "0",
    "taskmanager.numberOfTaskSlots": "32",
    "parallelism.default": "1",
    "execution.checkpointing.interval": "10 s",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "1 s",
    "restart-strategy.fixed-delay.attempts": "1000000",
    "completed-application-store.expiration-time": "5 min",
    "completed-application-store.cache-size": "1 mb",
}
_HEAD = """# Soak

`make soak`: a session cluster in one process with {jobs} jobs (from Kafka to Kafka and files, from files to files, SQL,
state in memory and on disk), {rate} records a second each. Each minute one is cancelled and another submitted, each
five minutes something is killed: {faults}. What was committed is compared with the truth: each count of a key
once. The first ten minutes do not count for growth. PSS is memory with shared pages divided among processes.

{date}, {cores} cores, {machine}. Python {python}. A batch each {batch_s} s. {minutes:.0f} minutes, {submitted} jobs
submitted, {cancelled} cancelled and compared, {hits} faults. Wrong: {wrong}.

## Growth

Medians of the first and the last third, and what a line through all would add per hour.

| figure | first third | last third | growth | per hour |
|---|--:|--:|--:|--:|
{growth}

Python objects of the JobManager by type that grew most per hour: {types}.

## Course

| minute | {names} |
|--:|{dashes}
{course}
"""


@dataclass
class Job:
    """A job that runs; `name` is also its topic."""

    kind: str
    name: str
    directory: Path
    id: str = ""
    files: Iterator[int] = field(default_factory=itertools.count)
    written: int = 0

    def write_file(self) -> None:
        """Add a file of numbers for a job that reads files."""
        directory = self.directory / "in"
        number, count = next(self.files), RATE * _FILE_S
        text = "".join(f"{value}\n" for value in range(self.written, self.written + count))
        (directory / f".{number}").write_text(text)
        (directory / f".{number}").rename(directory / str(number))
        self.written += count


class Usage(NamedTuple):
    """What processes of a kind use together."""

    processes: int = 0
    pss_mb: float = 0.0
    descriptors: int = 0
    threads: int = 0


class Soak:
    """The cluster and its jobs.

    Args:
        broker: The Kafka broker.
        directory: For everything.
        jobs: How many jobs run at the same time.
        batch_s: The seconds from batch to batch of a job.
    """

    def __init__(self, broker: Broker, directory: Path, jobs: int, batch_s: int) -> None:
        self._broker = broker
        self._directory = directory
        self._temporary = directory / "tmp"
        self._temporary.mkdir()
        self._objects = directory / "objects"
        self._numbers = itertools.count()
        self._events = itertools.count()
        broker.create(soak_job.INPUT, 2)
        self.batch_s = batch_s
        self._process, self.address = self._start()
        self._client = RestClusterClient(self.address)
        self.jobs = [self._submit(kind) for kind in itertools.islice(itertools.cycle(soak_job.KINDS), jobs)]
        self.samples: list[dict[str, float]] = []
        self.submitted, self.cancelled = jobs, 0
        self.hits: Counter[str] = Counter()
        self.wrong: list[str] = []

    def _start(self) -> tuple[subprocess.Popen[bytes], str]:
        options = {**_OPTIONS, "execution.checkpointing.dir": str(self._directory / "checkpoints")}
        options["io.tmp.dirs"] = str(self._temporary)
        command = [sys.executable, soak_process.__file__, str(self._objects), "jobmanager", "start"]
        command += [part for key, value in options.items() for part in ("-D", f"{key}={value}")]
        own = {RUN_DIRECTORY: str(self._directory), "TMPDIR": str(self._temporary)}
        os.environ[RUN_DIRECTORY] = str(self._directory)
        os.environ["FIRESTEEL_RPC_SECRET"] = "s" * 32
        log = self._directory / "jobmanager.log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, stderr=file, env={**os.environ, **own})
        line = wait_for(lambda: [text for text in log.read_text().splitlines() if "is ready at" in text])[0]
        return process, line.split("http://")[1]

    def _submit(self, kind: str) -> Job:
        name = f"{kind}-{next(self._numbers)}"
        job = Job(kind, name, self._directory / "jobs" / name)
        (job.directory / "in").mkdir(parents=True)
        (job.directory / "out").mkdir()
        if kind == "kafka":
            self._broker.create(name, 1)
        arguments = (soak_job.__file__, kind, self._broker.servers, str(job.directory), name)
        batches = ("-D", f"execution.buffer-timeout.interval={self.batch_s} s")
        said = firesteel("run", "-d", "-m", self.address, *batches, *arguments, wait_s=_WAIT_S).stdout
        job.id = said.split("JobID ")[1].split()[0]
        return job

    # --- what happens ------------------------------------------------------------------------------------------------

    def feed(self) -> None:
        """Write the numbers of a second to Kafka."""
        values = [str(next(self._events)) for _ in range(RATE)]
        for number in range(2):
            self._broker.write(soak_job.INPUT, values[number::2], number, **{"batch.num.messages": 1_000})

    def write_files(self) -> None:
        for job in list(self.jobs):
            if job.kind == "files":
                job.write_file()

    def change(self) -> None:
        """Cancel a job, compare its output, and submit another of its kind."""
        job = self.jobs.pop(random.randrange(len(self.jobs)))
        self.jobs.append(self._submit(job.kind))
        self.submitted += 1
        self._end(job)

    def _end(self, job: Job) -> None:
        self._client.cancel(job.id)
        wait_for(lambda: self._client.job_status(job.id) == "CANCELED", _WAIT_S)
        self.cancelled += 1
        self._compare(job)
        shutil.rmtree(job.directory)

    def _compare(self, job: Job) -> None:
        if job.kind == "kafka":
            lines = [value.decode() for value in CommittedLog(self._broker.servers, job.name, 0).read()]
        else:
            shown = (path for path in (job.directory / "out").rglob("*") if not path.name.startswith("."))
            lines = [line for path in shown if path.is_file() for line in path.read_text().splitlines()]
        if job.kind in ("kafka", "files"):
            found = Counter(lines)
            keys = Counter(line.split()[0] for line in found)
            truth = Counter(f"{key} {n}" for key, count in keys.items() for n in range(1, count + 1))
            if found != truth:
                self.wrong.append(f"{job.name}: {(found - truth).total()} doubled, {(truth - found).total()} lost")
        if job.kind in ("kafka", "files", "windows") and not lines:
            self.wrong.append(f"{job.name}: no output")

    def hit(self) -> None:
        """Kill a process; the next kind comes with the next call."""
        kind = _FAULTS[self.hits.total() % len(_FAULTS)]
        if found := KINDS[kind](self._processes()):
            random.choice(found).kill()
        self.hits[kind] += 1

    def end(self) -> None:
        """Cancel all jobs and stop the cluster; nothing may be left."""
        states = {one["jid"]: one["state"] for one in self._client.list_jobs()}
        dead = [job.name for job in self.jobs if states.get(job.id) in ("FAILED", None)]
        self.wrong += [f"{name} does not run" for name in dead]
        for job in self.jobs:
            if job.name not in dead:
                self._end(job)
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_WAIT_S)
        if left := left_after(str(self._directory), 10, RUN_DIRECTORY):
            self.wrong.append(f"still alive: {[process.command[:80] for process in left]}")

    def close(self) -> None:
        """Kill what is left."""
        for process in self._processes():
            process.kill()
        self._process.wait()

    # --- figures -----------------------------------------------------------------------------------------------------

    def _processes(self) -> list[Process]:
        return processes_of(str(self._directory), RUN_DIRECTORY)

    def sample(self, minute: float) -> None:
        """Note what the cluster uses."""
        processes = self._processes()
        kinds = {kind: KINDS[kind](processes) for kind in ("JVM", "slot server", "slot")}
        kinds["JobManager"] = [one for one in processes if soak_process.__file__ in one.command]
        found: dict[str, float] = {"minute": minute}
        for kind, of_kind in kinds.items():
            usage = _usage(of_kind)
            each = max(1, usage.processes) if kind == "slot" else 1
            found |= {f"{kind} PSS, MB": usage.pss_mb / each, f"{kind} descriptors": usage.descriptors / each}
            found[f"{kind} threads"] = usage.threads / each
        lines = self._objects.read_text().splitlines() if self._objects.exists() else []
        found["JobManager objects, thousands"] = json.loads(lines[-1])["all"] / 1000 if lines else 0
        found["slots"] = len(kinds["slot"])
        found["files of the run"] = _files(self._directory, but=("jobs", "tmp", "checkpoints"))
        found["temporary files"] = _files(self._temporary)
        found["files of checkpoints"] = _files(self._directory / "checkpoints")
        self.samples.append(found)

    def growing_types(self) -> str:
        """Return the types of which there were more objects at the end, the most first."""
        lines = self._objects.read_text().splitlines()
        found = growths([{"minute": n * soak_process.PAUSE_S / 60, **json.loads(line)} for n, line in enumerate(lines)])
        most = sorted((one for one in found if one.name != "all"), key=lambda one: -one.per_hour)[:6]
        return ", ".join(f"{one.name} {one.per_hour:+,.0f}" for one in most)


def _median(name: str, rows: list[dict[str, float]]) -> float:
    return statistics.median(row.get(name, 0) for row in rows)


def _usage(processes: list[Process]) -> Usage:
    pss_mb, descriptors, threads, count = 0.0, 0, 0, 0
    for process in processes:
        at = Path(f"/proc/{process.pid}")
        with suppress(OSError, StopIteration):  # It has ended.
            rollup = (at / "smaps_rollup").read_text().splitlines()
            pss_mb += int(next(line for line in rollup if line.startswith("Pss:")).split()[1]) / 1024
            descriptors += len(list((at / "fd").iterdir()))
            threads += len(list((at / "task").iterdir()))
            count += 1
    return Usage(count, pss_mb, descriptors, threads)


def _files(directory: Path, but: tuple[str, ...] = ()) -> int:
    count = 0
    for at, directories, files in os.walk(directory):
        if Path(at) == directory:
            directories[:] = [name for name in directories if name not in but]
        count += len(files)
    return count


class Growth(NamedTuple):
    """How a figure has grown."""

    name: str
    first: float
    last: float
    per_hour: float

    @property
    def share(self) -> float:
        """The growth from the first to the last third."""
        return (self.last - self.first) / self.first if self.first else float(self.last > 0)


def growths(samples: list[dict[str, float]]) -> list[Growth]:
    """Return how each figure has grown since the cluster was warm."""
    warm = [one for one in samples if one["minute"] * 60 >= _WARM_S] or samples
    third = max(1, len(warm) // 3)
    hours = [one["minute"] / 60 for one in warm]
    found = []
    for name in warm[0]:
        if name != "minute":
            values = [one.get(name, 0) for one in warm]
            slope = statistics.linear_regression(hours, values).slope if len(values) > 1 else 0.0
            found.append(Growth(name, _median(name, warm[:third]), _median(name, warm[-third:]), slope))
    return found


def page(soak: Soak) -> str:
    """Return the page about a run."""
    names = [name for name in soak.samples[0] if name != "minute"]
    each = max(1, len(soak.samples) // 40)
    rows = [[f"{one['minute']:.1f}", *(f"{one[name]:,.0f}" for name in names)] for one in soak.samples[::each]]
    found = [
        f"| {one.name} | {one.first:,.1f} | {one.last:,.1f} | {one.share:+.1%} | {one.per_hour:+,.1f} |"
        for one in growths(soak.samples)
    ]
    return _HEAD.format(
        jobs=len(soak.jobs),
        batch_s=soak.batch_s,
        rate=RATE,
        faults=", ".join(f"{kind} {count}" for kind, count in soak.hits.items()) or "nothing yet",
        date=datetime.now(UTC).date(),
        cores=os.cpu_count(),
        machine=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        minutes=soak.samples[-1]["minute"],
        submitted=soak.submitted,
        cancelled=soak.cancelled,
        hits=soak.hits.total(),
        wrong="; ".join(soak.wrong) or "nothing",
        growth="\n".join(found),
        types=soak.growing_types(),
        names=" | ".join(names),
        dashes="--:|" * len(names),
        course="\n".join(f"| {' | '.join(row)} |" for row in rows),
    )


def run(hours: float, jobs: int = JOBS, batch_s: int = BATCH_S) -> list[str]:
    """Run the soak, write its page after each change, and return what was wrong or has grown."""
    directory = Path(tempfile.mkdtemp(prefix="soak-"))
    written = PAGE / f"{datetime.now(UTC).date()}_soak.md"
    with ExitStack() as stack:
        soak = Soak(stack.enter_context(running()), directory, jobs, batch_s)
        stack.callback(soak.close)
        begun_s = time.monotonic()
        events: list[tuple[Callable[[], object], float]] = [
            (soak.feed, 1),
            (soak.write_files, _FILE_S),
            (lambda: soak.sample((time.monotonic() - begun_s) / 60), _SAMPLE_S),
            (soak.change, _CHANGE_S),
            (soak.hit, _FAULT_S),
            (lambda: written.write_text(page(soak)), _CHANGE_S),
        ]
        with ExitStack() as calls:
            repeated = [calls.enter_context(repeating(*event)) for event in events]
            wait(repeated, hours * 3600, FIRST_EXCEPTION)
        soak.end()
        written.write_text(page(soak))
    grown = [f"{one.name} {one.share:+.0%}" for one in growths(soak.samples) if one.share > _MOST_GROWTH]
    if not soak.wrong:
        shutil.rmtree(directory)
    return [*soak.wrong, *grown]


def main() -> int:
    """Run it, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--batch-s", type=int, default=BATCH_S)
    wrong = run(**vars(parser.parse_args()))
    print("\n".join(wrong) or "nothing was wrong, and nothing has grown")
    return min(1, len(wrong))


if __name__ == "__main__":
    sys.exit(main())
