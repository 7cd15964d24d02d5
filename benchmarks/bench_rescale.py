"""How long a job stands still when its parallelism changes.

python benchmarks/bench_rescale.py [--megabytes N ...] [--s3]

A keyed job takes up its state, then gets a record each 20 ms. The pause is the longest time between two results after
the request, and as a baseline the same for a savepoint with which the job stops and from which it starts again, in a
process and a JVM that run already, and for no change at all. With `--s3` the checkpoints and savepoints are in moto's
S3 server in a process on the same machine, which adds 20 ms to each request.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

from bench_object_store import S3Server, server_process

from firesteel.client.job_client import EmbeddedJobClient
from firesteel.common import Configuration, Duration, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.graph.job_graph import JobGraph, ParallelismBounds

KEYS = 10_000
BEAT_S = 0.02
SETTLE_S = 5.0
BEFORE, AFTER = 2, 4


class Keep(KeyedProcessFunction):
    """Keeps some bytes per key, and notes when it was called."""

    def __init__(self, size: int, directory: Path) -> None:
        self._size = size
        self._directory = directory

    def open(self, runtime_context):
        self._kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))
        self._times = open(self._directory / f"{os.getpid()}-{id(self)}", "a", buffering=1)  # noqa: SIM115

    def process_element(self, value, ctx):
        if value < KEYS:
            self._kept.update(os.urandom(self._size))
            self._times.write("0\n")
        elif self._kept.value() is None:
            raise ValueError(f"the state of key {value % KEYS} is lost")
        else:
            self._times.write(f"{time.time()}\n")


class Job:
    """The job, and the thread that writes its input.

    Args:
        megabytes: The size of its state.
        directory: Where its input and results are.
        store: Where its checkpoints and savepoints are.
        options: How that place is reached.
    """

    def __init__(self, megabytes: int, directory: Path, store: str, options: dict[str, str]) -> None:
        self.directory = directory
        self._store = store
        self._options = options
        self._size = megabytes * 1_000_000 // KEYS
        self._is_over = threading.Event()
        for name in ("input", "times"):
            (directory / name).mkdir()
        self._put("first", range(KEYS))
        self._writer = threading.Thread(target=self._write)
        self._client = EmbeddedJobClient(self._graph(BEFORE))

    def _put(self, name: str, numbers: range) -> None:
        hidden = self.directory / "input" / f".{name}"
        hidden.write_text("".join(f"{number}\n" for number in numbers))
        hidden.rename(hidden.with_name(name))

    def _write(self) -> None:
        number = KEYS
        while not self._is_over.wait(BEAT_S):
            self._put(f"{number}", range(number, number + 1))
            number += 1

    def _graph(self, parallelism: int, savepoint: str | None = None) -> JobGraph:
        configuration = Configuration()
        options = {
            "execution.checkpointing.interval": "500 ms",
            "execution.checkpointing.dir": f"{self._store}/checkpoints",
            **self._options,
            "taskmanager.numberOfTaskSlots": str(max(BEFORE, AFTER)),
            **({} if savepoint is None else {"execution.state-recovery.path": savepoint}),
        }
        for key, value in options.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        source = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(self.directory / "input")
        ).monitor_continuously(Duration.of_millis(20))
        lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines", Types.STRING()).uid("lines")
        keyed = lines.map(int, Types.LONG()).uid("numbers").key_by(lambda number: number % KEYS, Types.LONG())
        keyed.process(Keep(self._size, self.directory / "times")).uid("keep").print().uid("sink")
        return env.get_stream_graph().get_job_graph()

    def times(self) -> list[float]:
        """Return when results came, in order."""
        return sorted(at for at in self._all_times() if at)

    def _all_times(self) -> list[float]:
        return [float(line) for path in (self.directory / "times").iterdir() for line in path.open() if "\n" in line]

    def await_results(self, after_s: float) -> None:
        while not any(at > after_s for at in self.times()):
            time.sleep(0.1)

    def start(self) -> None:
        while len(self._all_times()) < KEYS:
            time.sleep(0.1)
        self._writer.start()
        self.await_results(0)
        time.sleep(SETTLE_S)

    def rescale(self) -> None:
        client = self._client
        job_id = str(client.get_job_id())
        bounds = client._cluster.ask(lambda dispatcher: dispatcher.request_resource_requirements(job_id)).result()
        wanted = {vertex: ParallelismBounds(1, AFTER) for vertex in bounds}
        client._cluster.ask(lambda dispatcher: dispatcher.update_resource_requirements(job_id, wanted)).result()

    def stop_and_start(self) -> None:
        savepoint = self._client.stop_with_savepoint(False, f"{self._store}/savepoints").result()
        self._client.get_job_execution_result().result()
        self._client = EmbeddedJobClient(self._graph(AFTER, savepoint))

    def end(self) -> None:
        self._is_over.set()
        self._writer.join()
        self._client.cancel().result()
        self._client._result.result()


def pause_s(megabytes: int, change: str, server: S3Server | None) -> float:
    """Return the longest time without results after a change, `none` included."""
    with tempfile.TemporaryDirectory() as directory:
        if server is None:
            job = Job(megabytes, Path(directory), directory, {})
        else:
            bucket = server.bucket()
            job = Job(megabytes, Path(directory), bucket.uri("state"), bucket.options)
        job.start()
        begun_s = time.time()
        if change == "rescale":
            job.rescale()
        elif change == "savepoint":
            job.stop_and_start()
        time.sleep(SETTLE_S)
        job.await_results(time.time())
        job.end()
        times = [at for at in job.times() if at > begun_s - 0.5]
        return max(later - earlier for earlier, later in pairwise(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--s3", action="store_true", help="checkpoints and savepoints in an object store")
    arguments = parser.parse_args()
    print("| state, MB | no change, s | rescale, s | savepoint, s | savepoint / rescale |\n|--:|--:|--:|--:|--:|")
    with server_process() if arguments.s3 else nullcontext() as server:
        for megabytes in arguments.megabytes:
            none, rescaled, saved = (pause_s(megabytes, change, server) for change in ("none", "rescale", "savepoint"))
            print(f"| {megabytes} | {none:.2f} | {rescaled:.2f} | {saved:.2f} | {saved / rescaled:.1f} |", flush=True)
    print(f"\n{BEFORE} -> {AFTER} slots, {KEYS:,} keys, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
