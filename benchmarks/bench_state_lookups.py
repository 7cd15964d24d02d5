"""Point look-ups in the state of a job that runs at full rate: how long they take, and what they cost the job.

    python benchmarks/bench_state_lookups.py [--seconds 15] [--rounds 4] [--backend hashmap] [--slots 2]

A JobManager process runs W3 (a count and a sum per key) over numbers without end, each slot as fast as it can. A client
in another process looks up random keys by REST at a steady rate. A look-up counts from the moment at which it was due.
Phases with and without look-ups take turns; slots note the time after each 10,000 records.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness
import pipelines  # firesteel under the name of PyFlink
import psutil
from workloads import w3_keyed_state

from firesteel.client.rest_client import RestClusterClient
from firesteel.connectors.state.client import RunningState
from firesteel.operators.state import served_table

RATE = 100
CLIENTS = 8
GOAL_MS, GOAL_LOSS = 20.0, 0.05
SLEEP_S = 0.01

EACH = 10_000
"""Records after which a slot notes the time."""

PROGRAM = """
import os, sys, time
from firesteel.compat import alias_pyflink
alias_pyflink()
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import FilterFunction
from workloads import w3_keyed_state


class Meter(FilterFunction):
    def __init__(self, directory, each):
        self.directory, self.each = directory, each

    def open(self, runtime_context):
        self.file, self.count = open(f"{self.directory}/{os.getpid()}", "a", buffering=1), 0

    def filter(self, result):
        self.count += 1
        if not self.count % self.each:
            self.file.write(f"{time.time()}\\n")
        return False


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(int(sys.argv[2]))
numbers = env.from_source(NumberSequenceSource(0, 10**12), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
w3_keyed_state.build(numbers).uid("counter").filter(Meter(sys.argv[1], int(sys.argv[3]))).print()
env.execute("w3")
"""
TEXT = f"""\
W3 over numbers without end in {{slots}} slot(s): {w3_keyed_state.KEYS:,} keys with a count and a sum, state backend
{{backend}}, checkpoints each 10 s. {RATE} look-ups a second of random keys by REST, each from the moment at which it
was due. "the machine" is how late a thread wakes up that only sleeps, during the same time: so much of the latency is
not ours. The loss is that of the medians of {{rounds}} phases of {{seconds:g}} s with look-ups and as many without, in
turn. Goals: {GOAL_MS:g} ms at the 99th percentile, at most {GOAL_LOSS:.0%} of the throughput."""


class Job:
    """The job on a cluster of its own."""

    def __init__(self, directory: Path, backend: str, slots: int) -> None:
        environment = {
            **os.environ,
            "FIRESTEEL_RUN_DIR": str(directory),
            "FIRESTEEL_RPC_SECRET": "s" * 32,
            "PYTHONPATH": str(Path(__file__).parent) + ":" + str(Path(__file__).parents[1] / "src"),
        }
        os.environ["FIRESTEEL_RUN_DIR"] = str(directory)
        options = {
            "rest.port": "0",
            "execution.checkpointing.dir": str(directory / "checkpoints"),
            "execution.checkpointing.interval": "10 s",
            "state.backend.type": backend,
        }
        command = [sys.executable, "-m", "firesteel", "jobmanager", "start"]
        command += [part for key, value in options.items() for part in ("-D", f"{key}={value}")]
        log = directory / "jobmanager.log"
        with log.open("wb") as file:
            self._process = subprocess.Popen(command, stderr=file, env=environment)
        while "is ready at" not in log.read_text():
            time.sleep(0.1)
        self.address = next(line for line in log.read_text().splitlines() if "is ready at" in line).split("http://")[1]
        program = directory / "w3.py"
        program.write_text(PROGRAM)
        self._marks = directory / "marks"
        self._marks.mkdir()
        run = [sys.executable, "-m", "firesteel", "run", "-m", self.address, "-d"]
        run += [str(program), str(self._marks), str(slots), str(EACH)]
        subprocess.run(run, check=True, env=environment, stdout=subprocess.DEVNULL)
        self._client = RestClusterClient(self.address)
        [self._job] = self._client.list_jobs()

    def state(self) -> RunningState:
        """Return the state of the job."""
        return RunningState(self.address, None, str(self._job["jid"]), {"uid": "counter"}, "count and sum")

    def times(self) -> list[list[float]]:
        """Return when each slot had processed another `EACH` records."""
        return [[float(line) for line in path.open() if "\n" in line] for path in self._marks.iterdir()]

    def cpu_s(self) -> float:
        """Return the processor time that the slots and the JobManager's process have used, in seconds."""
        processes = [self._process.pid, *(int(path.name) for path in self._marks.iterdir())]
        return sum(sum(psutil.Process(one).cpu_times()[:2]) for one in processes)

    def rate(self, seconds: float) -> tuple[float, float]:
        """Return the records per second during some seconds, and the processor time per record in us."""
        begun_s, used_s = time.time(), self.cpu_s()
        time.sleep(seconds)
        used_s, ended_s = self.cpu_s() - used_s, time.time()
        found = 0.0
        for times in self.times():
            inside = [one for one in times if begun_s <= one <= ended_s]
            found += (len(inside) - 1) * EACH / (inside[-1] - inside[0])
        return found, 1e6 * used_s / (found * (ended_s - begun_s))

    def end(self) -> None:
        self._client.cancel(self._job["jid"])
        time.sleep(2)
        self._process.terminate()
        self._process.wait(30)


class LookUps:
    """Looks up random keys at a steady rate until `end`."""

    def __init__(self, job: Job) -> None:
        self.seconds: list[float] = []
        self.late: list[float] = []
        self._states = threading.local()
        self._job = job
        self._is_over = threading.Event()
        self._pool = ThreadPoolExecutor(CLIENTS)
        self._threads = [threading.Thread(target=self._ask), threading.Thread(target=self._sleep)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        due_s = time.perf_counter()
        while not self._is_over.is_set():
            due_s += 1 / RATE
            time.sleep(max(0.0, due_s - time.perf_counter()))
            self._pool.submit(self._look_up, due_s)

    def _look_up(self, due_s: float) -> None:
        if not hasattr(self._states, "state"):
            self._states.state = self._job.state()
        [value] = self._states.state.values([random.randrange(w3_keyed_state.KEYS)])
        assert value[0] > 0
        self.seconds.append(time.perf_counter() - due_s)

    def _sleep(self) -> None:
        while not self._is_over.is_set():
            begun_s = time.perf_counter()
            time.sleep(SLEEP_S)
            self.late.append(time.perf_counter() - begun_s - SLEEP_S)

    def end(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._pool.shutdown()


def milliseconds(seconds: list[float]) -> list[str]:
    ordered = sorted(seconds)
    return [f"{1000 * ordered[min(int(len(ordered) * part), len(ordered) - 1)]:.1f}" for part in (0.5, 0.95, 0.99, 1)]


def measure(seconds: float, rounds: int, backend: str, slots: int) -> list[str]:
    rates: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    taken: list[float] = []
    late: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        job = Job(Path(directory), backend, slots)
        try:
            while sum(map(len, job.times())) * EACH < 20 * w3_keyed_state.KEYS:
                time.sleep(0.5)
            for _ in range(rounds):
                rates["without"].append(job.rate(seconds))
                job.state().values([0])  # The first look-up makes the view.
                looking = LookUps(job)
                time.sleep(3)
                looking.seconds.clear()
                looking.late.clear()
                rates["with"].append(job.rate(seconds))
                looking.end()
                taken += looking.seconds
                late += looking.late
                time.sleep(served_table.UNUSED_AFTER_S + 3)  # The view goes away.
        finally:
            job.end()
    lines = harness.header("latency, ms", "50 %", "95 %", "99 %", "most")
    lines += [harness.row("look-up", *milliseconds(taken)), harness.row("the machine", *milliseconds(late)), ""]
    medians = {name: list(map(statistics.median, zip(*found, strict=True))) for name, found in rates.items()}
    lines += harness.header("look-ups", "records per second", "us of a processor per record")
    lines += [harness.row(name, f"{rate:,.0f}", f"{cost:.2f}") for name, (rate, cost) in medians.items()]
    loss = 1 - medians["with"][0] / medians["without"][0]
    dearer = medians["with"][1] / medians["without"][1] - 1
    pairs = [f"{1 - one / other:.1%}" for (one, _), (other, _) in zip(rates["with"], rates["without"], strict=True)]
    lines += ["", f"{len(taken):,} look-ups. Loss of throughput: {loss:.1%} (by phase: {', '.join(pairs)}). "]
    lines[-1] += f"Processor time per record, which other work on the machine affects less: {dearer:+.1%}."
    return lines


def main() -> None:
    """Measure, and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--backend", choices=["hashmap", "rocksdb"], default="hashmap")
    parser.add_argument("--slots", type=int, default=pipelines.PARALLELISM)
    options = parser.parse_args()
    lines = ["# State lookups", "", f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    lines += [TEXT.format(**vars(options)), ""]
    lines += measure(options.seconds, options.rounds, options.backend, options.slots)
    harness.write_report("State lookups", "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
