"""Throughput between two hosts with and without TLS, and the share of bytes that reach slots from another host.

python benchmarks/bench_network.py [--records N] [--runs K]

The hosts are two Workers of Spark with two cores and private temporary files each, at different loopback addresses.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import harness

from tests.cli.session import JobManager, firesteel
from tests.spark.standalone_spark import StandaloneSpark, can_be_apart

WORKERS, CORES, SLOTS = 2, 2, 4
SECRET = "secret of the benchmark's Master and Workers"
TEXT = f"""\
A keyed reduce of 10,000 keys with one exchange and a checkpoint each second, {SLOTS} slots on {WORKERS} Spark Workers
with {CORES} cores each, on one machine. Half of the records change hosts. Spark's own connections are authenticated in
both cases; with TLS, firesteel's connections use certificates of both sides and Spark encrypts its own. Times are the
durations of jobs in the REST API. "From another host" is `numBytesInRemote` of `numBytesIn` of the reducing subtasks:
bytes that a lane's task handed to a slot on another host than its own."""

PROGRAM = f"""
import sys
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism({SLOTS})
source = NumberSequenceSource(0, int(sys.argv[1]) - 1)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
numbers.key_by(lambda number: number % 10_000, Types.LONG()).reduce(max).filter(lambda number: False).print()
env.execute("network")
"""


def get(cluster: JobManager, path: str) -> Any:
    with urllib.request.urlopen(f"http://{cluster.address}{path}", timeout=10) as answer:
        return json.load(answer)


def run(cluster: JobManager, program: Path, records: int) -> tuple[float, float]:
    """Return the seconds of a job, and the share of bytes that reached the reducing subtasks from another host."""
    submitted = firesteel("run", "-d", "-m", cluster.address, str(program), str(records)).stdout
    job_id = submitted.split("JobID ")[1].split()[0]
    share = 0.0
    while (job := get(cluster, f"/jobs/{job_id}"))["state"] != "FINISHED":
        assert job["state"] in ("CREATED", "RUNNING"), job["state"]
        names = "numBytesIn,numBytesInRemote"
        vertex = job["vertices"][1]["id"]
        found = get(cluster, f"/jobs/{job_id}/vertices/{vertex}/subtasks/metrics?get={names}")
        sums = {one["id"]: one["sum"] for one in found}
        if sums.get("numBytesIn"):
            share = sums["numBytesInRemote"] / sums["numBytesIn"]
        time.sleep(0.1)
    return job["duration"] / 1000, share


def measure(records: int, runs: int, **options: str) -> tuple[float, float]:
    """Return the median of the seconds and of the shares, on a cluster with these options."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "network.py")
        program.write_text(PROGRAM)
        spark = StandaloneSpark(Path(directory), secret=SECRET)
        try:
            for _ in range(WORKERS):
                spark.add_worker(CORES, is_apart=can_be_apart())
            spark.wait_for_workers()
            settings = {
                "spark.master": spark.url,
                "spark.authenticate.secret": SECRET,
                "spark.executor.memory": "512m",
                "taskmanager.numberOfTaskSlots": str(SLOTS // WORKERS),
                "jobmanager.rpc.port": "0",
                "execution.checkpointing.interval": "1 s",
                "execution.checkpointing.dir": str(Path(directory, "checkpoints")),
            }
            cluster = JobManager(Path(directory), **settings, **options)
            try:
                run(cluster, program, records // 10)
                found = [run(cluster, program, records) for _ in range(runs)]
            finally:
                cluster.end(signal.SIGTERM)
        finally:
            spark.close()
    print(options.get("security.ssl.internal.enabled", "false"), found, flush=True)
    return statistics.median(seconds for seconds, _ in found), statistics.median(share for _, share in found)


def tls_options(directory: str) -> dict[str, str]:
    printed = firesteel("certificates", directory).stdout
    named = dict(line.split(": ") for line in printed.splitlines() if line.startswith("security.ssl.internal."))
    return {**named, "security.ssl.internal.enabled": "true"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=8_000_000)
    parser.add_argument("--runs", type=int, default=3, help="their median counts [3]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as certificates:
        plain_s, plain_share = measure(options.records, options.runs)
        tls_s, tls_share = measure(options.records, options.runs, **tls_options(f"{certificates}/made"))
    rows = [
        ["without TLS", f"{plain_s:.2f}", f"{options.records / plain_s:,.0f}", "1", f"{plain_share:.1%}"],
        ["with TLS", f"{tls_s:.2f}", f"{options.records / tls_s:,.0f}", f"{plain_s / tls_s:.2f}", f"{tls_share:.1%}"],
    ]
    lines = ["# Network", "", TEXT, "", f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    lines += harness.table("| seconds | records/s | ratio | from another host", rows)
    harness.write_report("Network", "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
