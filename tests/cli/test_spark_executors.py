"""A session cluster whose TaskManagers are Spark executors, on Spark's own standalone cluster."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.session import JobManager, Tail, firesteel
from tests.spark.listening_sockets import is_loopback, listening_sockets
from tests.spark.standalone_spark import StandaloneSpark, can_be_apart
from tests.waiting import wait_for

pytestmark = pytest.mark.spark

SUM = """
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment, RuntimeExecutionMode
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

for mode, last in ((RuntimeExecutionMode.BATCH, 99), (RuntimeExecutionMode.STREAMING, 51)):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode(mode)
    numbers = env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    kept = numbers.filter(lambda n: n <= last or print(f"{mode.name} skips {n}"))
    sums = kept.key_by(lambda n: 0).reduce(lambda a, b: a + b)
    found = list(sums.execute_and_collect())
    print(max(found))
"""

SECRET = "shared with Spark's Master and Workers"


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[StandaloneSpark]:
    spark = StandaloneSpark(tmp_path, recovers=True, secret=SECRET)
    yield spark
    spark.close()


def get(cluster: JobManager, path: str) -> Any:
    with urllib.request.urlopen(f"http://{cluster.address}{path}", timeout=10) as answer:
        return json.load(answer)


def task_managers(cluster: JobManager) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = get(cluster, "/taskmanagers")["taskmanagers"]
    return found


def bytes_in(cluster: JobManager, job_id: str) -> tuple[float, float]:
    """How much came to the counting subtasks: (all, from other hosts)."""
    names = "numBytesIn,numBytesInRemote"
    vertex = get(cluster, f"/jobs/{job_id}")["vertices"][1]["id"]
    found = {
        one["id"]: one["sum"] for one in get(cluster, f"/jobs/{job_id}/vertices/{vertex}/subtasks/metrics?get={names}")
    }
    return found["numBytesIn"], found["numBytesInRemote"]


def internal_certificates(directory: Path) -> dict[str, str]:
    """Options as `firesteel certificates` prints them."""
    printed = firesteel("certificates", str(directory)).stdout
    return dict(line.split(": ") for line in printed.splitlines() if line.startswith("security.ssl.internal."))  # type: ignore[arg-type]


@pytest.mark.timeout(600)  # It takes three to five minutes where another test with Spark runs beside it.
def test_executors_come_go_and_are_lost(
    tmp_path: Path, spark: StandaloneSpark, jobmanagers: Callable[..., JobManager]
) -> None:
    """Two executors that don't see each other's files, a slot each: half of all data crosses between them, by TLS."""
    for _ in range(2):
        spark.add_worker(cores=2, is_apart=can_be_apart())
    spark.wait_for_workers()
    cluster = jobmanagers(
        **{
            "spark.master": spark.url,
            "spark.authenticate.secret": SECRET,
            "security.ssl.internal.enabled": "true",
            **internal_certificates(tmp_path / "certificates"),
            "spark.executor.memory": "512m",
            "taskmanager.numberOfTaskSlots": "1",
            "jobmanager.rpc.port": "0",
            "resourcemanager.taskmanager-timeout": "1 s",
            "execution.checkpointing.interval": "100 ms",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "100 ms",
            "restart-strategy.fixed-delay.attempts": "100",
        }
    )
    assert spark.executors() == []
    tail = Tail(tmp_path)
    tail.write("1", "a", "b", "a")
    submitted = firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    job_id = submitted.stdout.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 3)
    assert len({one["id"] for one in task_managers(cluster)}) == 2
    processes = [cluster.process.pid, *spark.executors(), *spark.task_managers()]
    sockets = [socket for process in processes for socket in listening_sockets(process)]
    assert len(sockets) >= 9
    assert [socket for socket in sockets if not is_loopback(socket[0])] == []

    def has_crossed() -> bool:
        tail.write(str(time.monotonic_ns()), *(f"e{number}" for number in range(8)))
        received, remote = bytes_in(cluster, job_id)
        return 0 < remote <= received

    def counts() -> list[str]:
        return sorted(line for line in tail.lines().elements() if not line.startswith("e"))

    assert not can_be_apart() or wait_for(has_crossed)

    os.kill(spark.executors()[0], signal.SIGKILL)
    tail.write("2", "a", "c")
    wait_for(lambda: len(counts()) == 5)
    # A Worker takes its executors with it; the other one has room for two.
    spark.workers[0].kill()
    for executor in spark.executors():
        os.kill(executor, signal.SIGKILL)
    tail.write("3", "b", "c")
    wait_for(lambda: len(counts()) == 7)
    spark.master.kill()
    spark.master.wait()
    tail.write("4", "d")
    wait_for(lambda: len(counts()) == 8)
    spark.start_master()
    os.kill(spark.executors()[0], signal.SIGKILL)
    tail.write("5", "d")
    wait_for(lambda: len(counts()) == 9)
    assert counts() == ["a 1", "a 2", "a 3", "b 1", "b 2", "c 1", "c 2", "d 1", "d 2"]

    firesteel("cancel", "-m", cluster.address, job_id)
    wait_for(lambda: not task_managers(cluster) and not spark.processes())
    firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    wait_for(lambda: len(task_managers(cluster)) == 2)
    cluster.end(signal.SIGKILL)
    wait_for(lambda: not spark.processes())

    (tmp_path / "sum.py").write_text(SUM)
    options = [("-t", "application"), ("-D", f"spark.master={spark.url}"), ("-D", "spark.executor.memory=512m")]
    options += [("-D", "jobmanager.rpc.port=0"), ("-D", "rest.port=0"), ("-D", f"spark.authenticate.secret={SECRET}")]
    alone = firesteel("run", *(part for pair in options for part in pair), str(tmp_path / "sum.py"))
    assert sorted(map(int, alone.stdout.split())) == [1326, 4950]
    logs = "".join(log.read_text() for log in tmp_path.glob("worker-*/*/*/task-manager.log"))
    assert (logs.count("BATCH skips"), logs.count("STREAMING skips")) == (1, 49)
    assert "Dashboard and REST API: http://127.0.0.1:" in alone.stderr
    wait_for(lambda: not spark.processes())


def test_a_halted_executor_is_replaced(
    tmp_path: Path, spark: StandaloneSpark, jobmanagers: Callable[..., JobManager]
) -> None:
    """Its TaskExecutor, a process of its own, sends heartbeats as before."""
    spark.add_worker(cores=4)
    spark.wait_for_workers()
    cluster = jobmanagers(
        **{
            "spark.master": spark.url,
            "spark.authenticate.secret": SECRET,
            "spark.executor.memory": "512m",
            "taskmanager.numberOfTaskSlots": "2",
            "jobmanager.rpc.port": "0",
            "heartbeat.timeout": "5 s",
            "heartbeat.interval": "1 s",
            "execution.checkpointing.interval": "100 ms",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "100 ms",
            "restart-strategy.fixed-delay.attempts": "100",
        }
    )
    tail = Tail(tmp_path)
    tail.write("1", "a", "b", "a")
    firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 3)
    (halted,) = spark.executors()
    os.kill(halted, signal.SIGSTOP)
    tail.write("2", "a", "c")
    wait_for(lambda: tail.lines().total() == 5)
    assert sorted(tail.lines().elements()) == ["a 1", "a 2", "a 3", "b 1", "c 1"]
    wait_for(lambda: halted not in spark.executors())
