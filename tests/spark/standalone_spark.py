"""Spark's standalone cluster from the PySpark package: a Master and Workers as processes."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from firesteel.spark.java import find_java
from tests.processes import children, command_line

HOST = "127.0.0.1"
START_S = 60
_PACKAGES = (
    "java.lang java.lang.invoke java.io java.net java.nio java.util java.util.concurrent sun.nio.ch sun.util.calendar"
)


class StandaloneSpark:
    """A Master; Workers are added to it.

    Args:
        directory: For logs and the Workers' directories.
        recovers: Whether a Master that is started again knows the applications and Workers of the former.
        secret: The secret of Master, Workers and applications; None disables authentication.
    """

    def __init__(self, directory: Path, recovers: bool = False, secret: str | None = None) -> None:
        self._directory = directory
        self._port = _free_port()
        self._recovery = directory / "recovery"
        self._options = ["-Dspark.deploy.recoveryMode=FILESYSTEM", f"-Dspark.deploy.recoveryDirectory={self._recovery}"]
        # A Master in recovery waits so long for Workers that are gone.
        self._options = [*self._options, "-Dspark.worker.timeout=10"] if recovers else []
        if secret is not None:
            self._options += ["-Dspark.authenticate=true", f"-Dspark.authenticate.secret={secret}"]
        self.url = f"spark://{HOST}:{self._port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._temporary: list[Path] = []
        self._numbers = itertools.count()
        self.start_master()

    def start_master(self) -> None:
        """Start it; again at the same address if it was killed."""
        arguments = ["--host", HOST, "--port", str(self._port), "--webui-port", "0"]
        self.master = self._start("master.Master", [], arguments, "master", {})
        deadline = time.monotonic() + START_S
        while not _listens(self._port):
            assert self.master.poll() is None, "the Master ended"
            assert time.monotonic() < deadline, "the Master does not listen"
            time.sleep(0.1)

    def add_worker(self, cores: int, is_apart: bool = False) -> subprocess.Popen[bytes]:
        """Start a Worker.

        Args:
            cores: How many its executors may use.
            is_apart: Whether its executors have private temporary files, as on another host.
        """
        name = f"worker-{next(self._numbers)}"
        temporary = Path(tempfile.mkdtemp(prefix="worker-"))  # a short name: Unix sockets need one
        self._temporary.append(temporary)
        wrapper = (
            ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none {temporary} && exec "$@"', "sh"] if is_apart else []
        )
        # Each Worker is on a host of its own, as far as Spark knows: it runs no second copy of a task on the same host.
        host = f"127.0.0.{len(self.workers) + 1}"
        resources = ["--cores", str(cores), "--memory", "8g", "--webui-port", "0", "--host", host]
        arguments = [*resources, "--work-dir", str(self._directory / name), self.url]
        self.workers.append(self._start("worker.Worker", wrapper, arguments, name, {"TMPDIR": str(temporary)}))
        return self.workers[-1]

    def wait_for_workers(self) -> None:
        """Return once the Master knows all Workers: it places executors on those that it knows."""
        logs = list(self._directory.glob("worker-*.log"))
        deadline = time.monotonic() + START_S
        while not all("Successfully registered with master" in log.read_text(errors="replace") for log in logs):
            assert time.monotonic() < deadline, "a Worker does not register"
            time.sleep(0.1)

    def _start(
        self, main: str, wrapper: list[str], arguments: list[str], name: str, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        home = spec.submodule_search_locations[0]
        java = find_java().executable
        command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{home}/jars/*"]
        command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _PACKAGES.split()]
        command += [*self._options, f"org.apache.spark.deploy.{main}", *arguments]
        environment = {
            **os.environ,
            "SPARK_HOME": home,
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": str(Path(java).resolve().parent.parent),
            "PYSPARK_PYTHON": sys.executable,
            **environment,
        }
        with (self._directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen([*wrapper, *command], stdout=log, stderr=log, env=environment)

    def processes(self) -> list[int]:
        """Return the processes in the Workers' directories: executors and their children."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                directory = os.readlink(process / "cwd")
            except OSError:
                continue
            if directory.startswith(f"{self._directory}/worker-"):
                found.append(int(process.name))
        return found

    def executors(self) -> list[int]:
        """The executors' JVMs."""
        return [process for process in self.processes() if "--executor-id" in command_line(process)]

    def task_managers(self) -> list[int]:
        """The TaskExecutors beside them."""
        return [
            process for process in self.processes() if "firesteel.spark.task_manager_process" in command_line(process)
        ]

    def kill_worker(self, number: int) -> None:
        """Kill a Worker, and what it started."""
        worker = self.workers.pop(number)
        before = set(children(worker.pid))
        worker.kill()
        worker.wait()
        for process in before:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def close(self) -> None:
        """Kill everything."""
        for process in [*self.workers, self.master]:
            process.kill()
            process.wait()
        for process in self.processes():
            with suppress(ProcessLookupError):  # It ends with its Worker.
                os.kill(process, signal.SIGKILL)
        for directory in self._temporary:
            shutil.rmtree(directory, ignore_errors=True)


def can_be_apart() -> bool:
    """Whether this user may give processes a view of files of their own."""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
