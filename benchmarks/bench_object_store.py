"""Cost of checkpoints in an object store: throughput, uploaded bytes, and restore time.

python benchmarks/bench_object_store.py [restore|incremental|throughput ...]

The store is moto's S3 server in a separate process on the same machine, with 20 ms added to each request.
"""

from __future__ import annotations

import os
import pickle
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import RemotePath
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.task.state_file import write_state_file
from firesteel.task.state_transfer import StateUploads, fetch_chain
from firesteel.task.versions import VersionFile
from tests.objects.server import Bucket, S3Server

RECORDS, KEYS, ROUNDS = 4_000_000, 100_000, 3
DELAY_S = 0.02


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield from ()


class TwoParts(Source):
    """Reads all keys, and a hundredth of them again 10 s later."""

    def __init__(self, keys: int) -> None:
        super().__init__()
        self.keys = keys
        self._begun = 0.0

    def is_bounded(self):
        return False

    def discover_splits(self):
        self._begun = self._begun or time.monotonic()
        is_late = time.monotonic() - self._begun > 30
        return [SourceSplit("keys", self.keys + (self.keys // 100 if is_late else 0), is_finished=is_late)]

    def read_split(self, split_id, start, end):
        return range(start, end)


def run(options: dict[str, str], source: object, keys: int) -> float:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.key_by(lambda n: n % keys, Types.LONG()).process(Count(), Types.LONG()).print()
    begun = time.monotonic()
    env.execute("counts")
    return time.monotonic() - begun


def throughput(bucket: Bucket, local: Path) -> None:
    every = {"execution.checkpointing.interval": "1 s"}
    there = {**every, **bucket.options, "execution.checkpointing.dir": bucket.uri("checkpoints")}
    here = {**every, "execution.checkpointing.dir": str(local)}
    seconds: dict[str, list[float]] = {"local": [], "store": []}
    run(here, NumberSequenceSource(1, RECORDS // 4), KEYS)
    for _ in range(ROUNDS):
        seconds["local"].append(run(here, NumberSequenceSource(1, RECORDS), KEYS))
        seconds["store"].append(run(there, NumberSequenceSource(1, RECORDS), KEYS))
    rates = {place: RECORDS / statistics.median(times) for place, times in seconds.items()}
    print(
        f"throughput: {rates['local']:,.0f} records/s to a directory, {rates['store']:,.0f} to the store, "
        f"ratio {rates['store'] / rates['local']:.2f}"
    )


def incremental(bucket: Bucket) -> None:
    options = {
        "execution.checkpointing.interval": "1 s",
        **bucket.options,
        "execution.checkpointing.dir": bucket.uri("incremental"),
        "execution.checkpointing.num-retained": "100",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    numbers = env.from_source(TwoParts(1_000_000), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.key_by(lambda n: n % 1_000_000, Types.LONG()).process(Count(), Types.LONG()).print()
    client = env.execute_async("incremental")
    sizes: list[int] = []
    begun = time.monotonic()
    while time.monotonic() - begun < 50:
        time.sleep(1)
        found = bucket.fs.find(f"{bucket.name}/incremental", detail=True).values()
        sizes.append(sum(entry["size"] for entry in found if "versions-" in entry["name"]))
    client.cancel().result()
    before, after = sizes[25], sizes[-1]
    print(
        f"incremental: {before:,} bytes for 1,000,000 keys, {after - before:,} more for 1 % of them, "
        f"{100 * (after - before) / before:.1f} %"
    )


def restore(bucket: Bucket, local: Path, megabytes: int = 1024, files: int = 8) -> None:
    store = Files(bucket.options).path(bucket.uri("state"))
    assert isinstance(store, RemotePath)
    chain, data = [], [os.urandom(1 << 20) for _ in range(8)]
    frames = [pickle.dumps(("v", None, data[i % 8])) for i in range(megabytes // files)]
    for number in range(files):
        path = f"versions-1/0/0/{number}-1.delta"
        (local / path).parent.mkdir(parents=True, exist_ok=True)
        chain.append(VersionFile(path, write_state_file(local / path, frames), {}))
    uploads, begun = StateUploads(local, store), time.monotonic()
    uploads.send(file.path for file in chain)
    paths = [file.path for file in chain]
    uploads.sent_of(paths, waits_for=paths)
    up_s = time.monotonic() - begun
    seconds: dict[str, list[float]] = {"firesteel": [], "fsspec": []}
    for number in range(ROUNDS):
        begun = time.monotonic()
        fetch_chain(store, local / f"restored-{number}", tuple(chain))
        seconds["firesteel"].append(time.monotonic() - begun)
        begun = time.monotonic()
        bucket.fs.get(f"{bucket.name}/state/", str(local / f"got-{number}"), recursive=True)
        seconds["fsspec"].append(time.monotonic() - begun)
        shutil.rmtree(local / f"restored-{number}")
        shutil.rmtree(local / f"got-{number}")
    rates = {name: megabytes / statistics.median(times) for name, times in seconds.items()}
    print(
        f"state of {megabytes} MB: sent at {megabytes / up_s:.0f} MB/s, restored at {rates['firesteel']:.0f} MB/s, "
        f"fsspec's own get() {rates['fsspec']:.0f} MB/s, ratio {rates['firesteel'] / rates['fsspec']:.2f}"
    )


def serve() -> None:
    """Serve until standard input ends."""

    def delay(method: str, path: str, query: str) -> None:
        time.sleep(DELAY_S)

    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with S3Server(fault=delay).running() as server:
        print(server.endpoint, flush=True)
        sys.stdin.read()


@contextmanager
def server_process() -> Iterator[S3Server]:
    """Run the server in a process of its own."""
    command = [sys.executable, __file__, "serve"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield S3Server(endpoint=server.stdout.readline().strip())
    finally:
        server.kill()


def main() -> None:
    with server_process() as server, tempfile.TemporaryDirectory() as local:
        bucket = server.bucket()
        wanted = sys.argv[1:] or ["restore", "incremental", "throughput"]
        if "restore" in wanted:
            restore(bucket, Path(local) / "restore")
        if "incremental" in wanted:
            incremental(bucket)
        if "throughput" in wanted:
            throughput(bucket, Path(local) / "checkpoints")


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
