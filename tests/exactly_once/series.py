"""Many fault runs with random faults: `python -m tests.exactly_once.series 56 [seed [state]]`.

With `state`, the state is on a small local disk of its own that is full at times.

Writes what came of them to benchmarks/results, after each run.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from tests.datastream.connectors import database_servers
from tests.exactly_once.fault_run import FULL_DISK, FULL_LOCAL_DISK, OPTIONS, Case, FaultRun, Outcome, mount
from tests.exactly_once.job import JOBS
from tests.exactly_once.outputs import Files, Output, Server, Sqlite
from tests.exactly_once.processes import KINDS

RUNS = 56
_MOST_FAULTS = 3
_BATCH_AFTER = 6
_FAULTS_OF_BATCH = ("JVM", "worker", "worker daemon")
"""A BATCH job has no slot processes, and a new JobManager process restarts it from the beginning: no fault run."""


HEAD = """# Exactly once

A job is started with `firesteel run` and hit at random moments, often when a checkpoint is about to be committed: by
`kill -9` (slot processes and the server that forks them, Spark's Python workers and their daemon, the JVM, the process
of the JobManager), or by a checkpoint directory without a free byte for up to 3 s. It is started again from its newest
checkpoint (`-s`) as often as it ended before its input did. Then what it committed is compared with the truth: nothing
lost, nothing doubled, nothing half-written, no process left after 10 s, no temporary directory left. {records:,}
records per run, a checkpoint every {interval}; BATCH jobs, which take none, have seven times as many records. `make
soak` runs it; the seed was {seed}.

{date}, {cores} cores, {machine}. Python {python}. {runs} runs, {faults} faults, {wrong} wrong.

{state}## From a fault to the next committed output

Of a full disk: from when there is room again. The process of the JobManager has to be started again, with a JVM. Next
to nothing where a batch was past what was killed. Not measured where the next fault hit before.

| fault | times | seconds, median | max |
|---|--:|--:|--:|
{recoveries}
## Runs

| job | sink | faults | starts | failed | seconds | wrong |
|---|---|---|--:|--:|--:|---|
{table}"""


OF_STATE = """\
State is on a local disk of 64 MB with 4 KB of memory per slot (`state.backend.type: rocksdb`), so that nearly all of
it is on disk. "full local disk": that disk has no free byte for up to 3 s, and a slot process is killed, so that the
next one finds no room. Each start from a checkpoint has another parallelism (1 to 4) and backend by chance.

"""
"""What the page says about runs with state on a local disk."""


def can_mount() -> bool:
    """Whether this user may make a small file system."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            mount(Path(directory))
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", directory], check=True)
        return True


def cases(seed: int, sinks: Sequence[str], on_disk: bool = False) -> Iterator[tuple[Case, str]]:
    """Without end: all jobs with all sinks, all faults in turn with random further ones.

    With state on disk, the local disk is full once in each of them.
    """
    rng = random.Random(seed)
    faults = [*KINDS, *([FULL_DISK] if can_mount() else ())]
    while True:
        combinations = list(product(JOBS, sinks))
        rng.shuffle(combinations)
        for number, (job, sink) in enumerate(combinations):
            further = rng.choices(faults, k=rng.randrange(_MOST_FAULTS))
            hit = [faults[number % len(faults)], *further, *([FULL_LOCAL_DISK] if on_disk else ())]
            rng.shuffle(hit)
            yield Case(job, tuple(hit), rng.randrange(2**32)), sink
            if number % _BATCH_AFTER == 0 and not on_disk:
                hit = rng.sample(_FAULTS_OF_BATCH, k=rng.randrange(1, _MOST_FAULTS))
                batch_job = (
                    "totals" if job == "interval join" else job
                )  # Computing the expected output of more takes too long.
                yield Case(batch_job, tuple(hit), rng.randrange(2**32), 7 * Case.records, "BATCH"), sink


def output_of(sink: str, directory: Path, urls: Mapping[str, str]) -> Output:
    """Where a run in that directory writes; `urls` has those of the servers."""
    if sink in urls:
        return Server(urls[sink])
    return Sqlite(directory / "results.db") if sink == "SQLite" else Files(sink, directory / "output")


class Series:
    """Some runs, and the page about them."""

    def __init__(self, seed: int, page: Path, on_disk: bool = False) -> None:
        self._seed = seed
        self._on_disk = on_disk
        self._page = page
        self._done: list[tuple[Case, str, Outcome]] = []

    def run(self, runs: int) -> bool:
        """Return whether something was wrong; the directory of such a run is kept and printed."""
        with ExitStack() as stack:
            urls = {}
            if database_servers.is_installed("postgres", "initdb"):
                urls["PostgreSQL"] = stack.enter_context(database_servers.postgresql())
            if database_servers.is_installed("mariadbd", "mariadb-install-db"):
                urls["MariaDB"] = stack.enter_context(database_servers.mariadb())
            turns = cases(self._seed, ["files", "rolling files", "SQLite", *urls], self._on_disk)
            wrong = [self._run(*next(turns), urls) for _ in range(runs)]
        return any(wrong)

    def _run(self, case: Case, sink: str, urls: Mapping[str, str]) -> bool:
        directory = Path(tempfile.mkdtemp(prefix="exactly-once-"))
        outcome = FaultRun(case, directory, output_of(sink, directory, urls)).run()
        self._done.append((case, sink, outcome))
        self._page.write_text(self._text())
        if outcome.violations:
            print(f"{case} with {sink}: {outcome.violations}; see {directory}", file=sys.stderr, flush=True)
            return True
        shutil.rmtree(directory)
        return False

    def _text(self) -> str:
        outcomes = [outcome for _, _, outcome in self._done]
        return HEAD.format(
            records=self._done[0][0].records,
            interval=OPTIONS["execution.checkpointing.interval"],
            seed=self._seed,
            date=time.strftime("%Y-%m-%d"),
            cores=os.cpu_count(),
            machine=f"{os.uname().sysname} {os.uname().machine}",
            python=sys.version.split()[0],
            runs=len(outcomes),
            faults=sum(len(outcome.hit) for outcome in outcomes),
            wrong=sum(bool(outcome.violations) for outcome in outcomes),
            state=OF_STATE if self._on_disk else "",
            recoveries=_recoveries(outcomes),
            table="".join(_line(*done) for done in self._done),
        )


def _recoveries(outcomes: Sequence[Outcome]) -> str:
    by_fault: defaultdict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for fault, seconds in outcome.recoveries:
            by_fault[fault].append(seconds)
    return "".join(
        f"| {fault} | {len(found)} | {statistics.median(found):.1f} | {max(found):.1f} |\n"
        for fault, found in sorted(by_fault.items())
    )


def _line(case: Case, sink: str, outcome: Outcome) -> str:
    job = case.job if case.mode == "STREAMING" else f"{case.job}, {case.mode}"
    return (
        f"| {job} | {sink} | {', '.join(outcome.hit)} | {outcome.starts} | {len(outcome.errors)} | "
        f"{outcome.seconds:.0f} | {'; '.join(outcome.violations)} |\n"
    )


def page(on_disk: bool = False) -> Path:
    """Where the figures of today go."""
    name = "exactly_once_state_on_disk" if on_disk else "exactly_once"
    return Path("benchmarks/results") / f"{time.strftime('%Y-%m-%d')}_{name}.md"


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    on_disk = sys.argv[3:] == ["state"]
    sys.exit(Series(seed, page(on_disk), on_disk).run(int(sys.argv[1])))
