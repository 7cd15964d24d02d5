"""Faults that hit a session cluster while a job runs; `change_faults` runs them.

A ZooKeeper, two JobManagers, Spark's Master and two Workers, and a job that counts words and commits files. After each
fault words are written; what is committed must be each count once, as it would have been without faults, and the job
must have its slots and no more. At the end the job is cancelled: then no slot may be taken and no process be left.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

from firesteel.client.rest_client import RestClusterClient
from tests.cli.session import RUN_DIRECTORY, JobManager, Tail, firesteel
from tests.exactly_once.fault_run import mount
from tests.exactly_once.processes import KINDS, processes_of
from tests.runtime.highavailability.zookeeper_server import ZooKeeperServer
from tests.spark.standalone_spark import StandaloneSpark
from tests.waiting import wait_for

LEADER = "the leading JobManager"
PAUSED = "the leading JobManager, paused until another leads"
ZOOKEEPER = "ZooKeeper, and started again"
EXECUTOR = "a Spark executor"
TASK_MANAGER = "a TaskExecutor"
WORKER = "a Worker with its executors, and started again"
MASTER = "the Master, and started again"
FULL_DISK = "a full disk under the checkpoints"
OF_ALL = (LEADER, PAUSED, ZOOKEEPER, FULL_DISK)
OF_EXECUTORS = (EXECUTOR, TASK_MANAGER, WORKER, MASTER)
SLOT = "a slot process"
JVM = "the JVM of a JobManager"
OF_SLOTS = (SLOT, JVM)
_OPTIONS = {
    "high-availability.type": "zookeeper",
    "high-availability.zookeeper.client.session-timeout": "2 s",
    "high-availability.zookeeper.client.connection-timeout": "10 s",
    "jobmanager.rpc.port": "0",
    "execution.checkpointing.interval": "100 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "100 ms",
    "restart-strategy.fixed-delay.attempts": "1000",
    "heartbeat.interval": "1 s",
    "heartbeat.timeout": "5 s",
}
_CORES = 4
"""Of each Worker: a leader that is paused keeps its executors, so there must be room for those of the next one."""
_EXECUTORS = {"spark.executor.cores": "2", "spark.executor.memory": "512m"}
_SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "20ms",
}
"""Spark starts a second copy of whatever task is a little slower than the other one."""

_SLOWLY = """
def slowly(word):
    import random, time
    time.sleep(random.choice([0, 0, 0, 0.05]))
    return word, 1

"""


class FaultyCluster:
    """A session cluster that is hit.

    Args:
        directory: For everything.
        has_executors: Whether TaskManagers are executors of Spark's standalone cluster, and not in the JobManagers.
            Then Spark speculates on tasks, too.
        **options: Further options of the JobManagers.

    Attributes:
        has_disk: Whether checkpoints are on a disk of their own, which can be filled.
        tail: The program of the job, its input and output.
        job_managers: The JobManagers, the newest last.
        slots: How many the job should have; None if something changes that.
    """

    def __init__(self, directory: Path, has_executors: bool, **options: str) -> None:
        self._directory = directory
        self._resources = ExitStack()
        self._disk = directory / "checkpoints"
        self.has_disk = self._mount_disk()
        self._zookeeper = ZooKeeperServer(directory / "zookeeper")
        self._resources.callback(self._zookeeper.kill)
        self._zookeeper.start()
        self._spark: StandaloneSpark | None = None
        self._options = {
            **_OPTIONS,
            **options,
            "high-availability.zookeeper.quorum": self._zookeeper.address,
            "high-availability.storageDir": str(directory / "ha"),
            "execution.checkpointing.dir": str(self._disk),
        }
        if has_executors:
            self._spark = StandaloneSpark(directory, recovers=True)
            self._resources.callback(self._spark.close)
            for _ in range(2):
                self._spark.add_worker(_CORES)
            self._options |= {"spark.master": self._spark.url, **_EXECUTORS, **_SPECULATION}
        self.job_managers = [self._start(), self._start()]
        self.tail = Tail(directory)
        self.slots: int | None = 2
        program = self.tail.program.read_text()
        self.tail.program.write_text(_SLOWLY + program.replace("lambda word: (word, 1)", "slowly"))
        self._written: Counter[str] = Counter()
        self.write()
        firesteel("run", "-d", "-m", self.job_managers[0].address, *self.tail.arguments)
        wait_for(self._is_committed)

    def _start(self) -> JobManager:
        started = JobManager(self._directory, **self._options)
        self._resources.callback(lambda: started.process.poll() is None and started.end(signal.SIGKILL))
        return started

    def _mount_disk(self) -> bool:
        """A file system that is soon full; False if this user may not mount one."""
        self._disk.mkdir()
        try:
            mount(self._disk)
        except subprocess.CalledProcessError:
            return False
        self._resources.callback(lambda: subprocess.run(["umount", "--lazy", self._disk], check=True))
        return True

    def hit(self, fault: str) -> float:
        """Inject a fault and return the seconds until records written afterwards are committed.

        Raises:
            AssertionError: it was not in time, or not once.
        """
        self.write()
        self.inject(fault)
        return self.recover()

    def inject(self, fault: str) -> None:
        """Let a fault happen."""
        if fault in OF_ALL:
            {
                LEADER: self._kill_leader,
                PAUSED: self._pause_leader,
                ZOOKEEPER: self._kill_zookeeper,
                FULL_DISK: self._fill_disk,
            }[fault]()
        elif fault in OF_SLOTS:
            processes = processes_of(str(self._directory), RUN_DIRECTORY)
            if found := KINDS["slot" if fault == SLOT else "JVM"](processes):
                random.choice(found).kill()
        else:
            self._hit_spark(fault)

    def recover(self) -> float:
        """Return the seconds until records that are written now are committed, once the job has its slots.

        Raises:
            AssertionError: it was not in time, or not once.
        """
        begin = time.monotonic()
        self.write()
        wait_for(self._is_committed)
        seconds = time.monotonic() - begin
        wait_for(lambda: self.slots is None or self.slots_taken() == self.slots)
        return seconds

    def end(self) -> None:
        """Cancel the job and see that nothing of it is left."""
        assert max(self.tail.lines().values()) == 1, "something was committed twice"
        firesteel("cancel", "-m", self.address, self.job_id())
        wait_for(lambda: "No running jobs" in self._list())
        wait_for(lambda: self.slots_taken() == 0)
        for job_manager in self.job_managers:
            job_manager.end(signal.SIGTERM)
        if self._spark is not None:
            spark = self._spark
            wait_for(lambda: not spark.processes())
        wait_for(lambda: not processes_of(str(self._directory), RUN_DIRECTORY))

    def close(self) -> None:
        """Kill everything."""
        self._resources.close()

    @property
    def address(self) -> str:
        """That of the newest JobManager."""
        return self.job_managers[-1].address

    def job_id(self) -> str:
        """Return the id of the one job."""
        (job_id,) = self.running()
        return job_id

    def running(self) -> list[str]:
        """Return the ids of the jobs that run."""
        return re.findall("[0-9a-f]{32}", self._list())

    def _list(self) -> str:
        return firesteel("list", "-m", self.address).stdout

    def slots_taken(self) -> int:
        overview = RestClusterClient(self.address).get("/overview")
        return int(overview["slots-total"] - overview["slots-available"])

    def write(self) -> None:
        words = [random.choice("abcdefgh") for _ in range(20)]
        self.tail.write(str(time.monotonic_ns()), *words)
        self._written.update(words)

    def _is_committed(self) -> bool:
        """Each word has been counted up to how often it was written, one by one."""
        expected = Counter(f"{word} {n}" for word, count in self._written.items() for n in range(1, count + 1))
        found = self.tail.lines()
        assert not found - expected, f"committed too often: {found - expected}"
        return found == expected

    def _leader(self) -> JobManager:
        """The one that logged a change of the job last, and did not give it up with it."""
        return max(self.job_managers, key=_last_change)

    def _kill_leader(self) -> None:
        leader = self._leader()
        leader.end(signal.SIGKILL)
        self.job_managers.remove(leader)
        self.job_managers.append(self._start())

    def _pause_leader(self) -> None:
        leader = self._leader()
        leader.process.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: self._leader() is not leader)
            self.write()
            wait_for(self._is_committed)
        finally:
            leader.process.send_signal(signal.SIGCONT)

    def _fill_disk(self) -> None:
        """Until the job failed of it."""
        failures = self._failures()
        ballast = self._disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        try:
            self.write()
            wait_for(lambda: self._failures() > failures)
        finally:
            ballast.unlink()

    def _failures(self) -> int:
        return sum(one.log.read_text(errors="replace").count("No space left on device") for one in self.job_managers)

    def _kill_zookeeper(self) -> None:
        self._zookeeper.kill()
        time.sleep(random.uniform(0, 5))
        self._zookeeper.start()
        # As a supervisor does: a process that cannot reach ZooKeeper for too long ends.
        alive = [one for one in self.job_managers if one.process.poll() is None]
        self.job_managers = alive + [self._start() for _ in range(2 - len(alive))]

    def _hit_spark(self, fault: str) -> None:
        spark = self._spark
        assert spark is not None
        if fault in (EXECUTOR, TASK_MANAGER):
            names = spark.executors() if fault == EXECUTOR else spark.task_managers()
            os.kill(random.choice(names), signal.SIGKILL)
        elif fault == WORKER:
            spark.kill_worker(random.randrange(2))
            spark.add_worker(_CORES)
        else:
            spark.master.kill()
            spark.master.wait()
            time.sleep(random.uniform(0, 3))
            spark.start_master()


def _last_change(job_manager: JobManager) -> str:
    lines = [line for line in job_manager.log.read_text(errors="replace").splitlines() if " switched to " in line]
    return lines[-1] if lines and "SUSPENDED" not in lines[-1] else ""
