"""The listening sockets of clusters are those in the documentation, and others can't reach those of this user."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.cli.session import RUN_DIRECTORY, JobManager, Tail, firesteel, firesteel_in_background
from tests.docs.trust_tables import rows_of
from tests.listening import Listener, listeners
from tests.spark.standalone_spark import StandaloneSpark
from tests.waiting import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECRET = "shared with Spark's Master and Workers"
OPEN_TO_ALL = {"Master", "Worker"}
"""Processes of Spark, which the documentation tells to keep behind a firewall."""


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[StandaloneSpark]:
    spark = StandaloneSpark(tmp_path, secret=SECRET)
    yield spark
    spark.close()


def run_job(cluster: JobManager, directory: Path) -> None:
    """Start a job that goes on."""
    directory.mkdir()
    tail = Tail(directory)
    tail.write("1", "a", "b", "a")
    firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 3)


def of_gateway(cluster: JobManager, directory: Path) -> set[Listener]:
    """Start a SQL gateway and return its sockets."""
    options = ("-D", "sql-gateway.endpoint.rest.port=0")
    started = json.loads(firesteel("sql-gateway", "start", "-m", cluster.address, *options, "--output", "json").stdout)
    try:
        return {found._replace(process="SQL gateway") for found in listeners(started["pid"])}
    finally:
        firesteel("sql-gateway", "stop", **{RUN_DIRECTORY: str(directory)})


def of_history_server(directory: Path) -> set[Listener]:
    """Start a history server and return its sockets."""
    server = firesteel_in_background("historyserver", str(directory), "-D", "historyserver.web.port=0")
    assert server.stderr is not None
    try:
        assert "is ready at" in server.stderr.readline()
        return {found._replace(process="history server") for found in listeners(server.pid)}
    finally:
        server.terminate()
        server.communicate(timeout=30)


def documented(kind: str) -> Counter[tuple[str, str]]:
    """Return the sockets in the table: (process, path of a Unix socket) or (process, empty) for each of TCP."""
    sockets = [(process, socket.split(": ", 1)) for process, socket, *_ in rows_of("Listening sockets")]
    return Counter(
        (process, rest[0].strip("`") if kind == "Unix" else "") for process, (of, *rest) in sockets if of == kind
    )


def reachable_by_others(path: Path) -> bool:
    """Return whether other users may connect to a Unix socket."""
    modes = [stat.S_IMODE(parent.stat().st_mode) for parent in path.parents]
    may_come = all(mode & 0o011 for mode in modes)
    return may_come and bool(stat.S_IMODE(path.stat().st_mode) & 0o022)


def test_the_sockets_of_clusters_are_in_the_table(
    tmp_path: Path, spark: StandaloneSpark, jobmanagers: Callable[..., JobManager]
) -> None:
    before = os.umask(0)  # The modes must not depend on it.
    try:
        spark.add_worker(cores=2)
        spark.wait_for_workers()
        local = jobmanagers()
        run_job(local, tmp_path / "local")
        executors = jobmanagers(
            **{
                "spark.master": spark.url,
                "spark.authenticate.secret": SECRET,
                "spark.executor.memory": "512m",
                "taskmanager.numberOfTaskSlots": "1",
                "jobmanager.rpc.port": "0",
                "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            }
        )
        run_job(executors, tmp_path / "executors")
    finally:
        os.umask(before)
    roots = [local.process.pid, executors.process.pid, spark.master.pid, *(worker.pid for worker in spark.workers)]
    found = set().union(*map(listeners, [*roots, *spark.executors(), *spark.task_managers()]))
    assert [one for one in found if one.path and reachable_by_others(Path(one.path))] == []
    assert [one for one in found if one.port and one.host != "loopback" and one.process not in OPEN_TO_ALL] == []
    found |= of_gateway(local, tmp_path) | of_history_server(tmp_path)

    ports = Counter((one.process, one.process_id) for one in found if one.port)
    most: Counter[tuple[str, str]] = Counter()
    for (process, _), number in ports.items():
        most[process, ""] = max(most[process, ""], number)
    assert most == documented("TCP")

    patterns = documented("Unix")
    used = set()
    for one in found:
        if one.path:
            [pattern] = [p for process, p in patterns if process == one.process and fnmatchcase(Path(one.path).name, p)]
            used.add((one.process, pattern))
    assert used == set(patterns)
