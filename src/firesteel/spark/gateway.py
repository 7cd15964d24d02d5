"""The start of Spark's JVM, directly, early and once per process, and of the Spark session.

PySpark itself starts `bin/spark-submit`, which starts a second JVM to build the command and requires the module
`jdk.incubator.vector` that small Java runtimes lack. Here the command is built in Python, so the JVM can start while
the user's program is still being read. It ends with this process, also if that is killed.

Why: `docs/decisions/0004-start-the-jvm-directly.md`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from firesteel.runtime.capped_file import CappedFile
from firesteel.spark.class_archive import VERIFY
from firesteel.spark.guarded_process import GuardedProcess
from firesteel.spark.java import Java, find_java
from firesteel.spark.java_command import (
    CLASS_PATH,
    JVM_OPTIONS,
    LIBRARY_PATH,
    archive_for,
    configuration_directories,
    java_command,
    package_directory,
    spark_arguments,
)
from firesteel.spark.java_objects import (
    RememberedNames,
    forget_context,
    leave_out_errors_of_py4j,
    release_java_objects_at_once,
)
from firesteel.spark.java_options import DRIVER_MEMORY, DRIVER_OPTIONS, JAVA_VARIABLES, check_java_options, last_error
from firesteel.spark.numpy_values import decide_without_pandas
from firesteel.spark.spark_errors import SparkStartError
from firesteel.spark.temporary_directory import TemporaryDirectory

_OWN_JAVA_OPTIONS = {
    *DRIVER_OPTIONS,
    CLASS_PATH,
    DRIVER_MEMORY,
    *JAVA_VARIABLES,
}
"""Settings and environment variables that may prevent Java from using the archive."""

_CRASHES = (-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV)
"""Exit codes of a JVM that crashed."""

BIND_ADDRESS = "spark.driver.bindAddress"
"""The address that the driver listens on."""

CORES = "spark.executor.cores"
"""Number of cores per executor; also set if Spark is local, where Spark itself ignores it."""

_START_TIMEOUT_S = 120

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # No limit: reports, printed and collected results are the result of the job.
    "spark.driver.maxResultSize": "0",
    # A task of a batch is to run now, on any host, rather than wait three seconds for the one with its slots.
    "spark.locality.wait": "0",
    # A long batch of one run must not keep the tasks of all others waiting.
    "spark.scheduler.mode": "FAIR",
    "spark.executor.extraJavaOptions": " ".join(JVM_OPTIONS),
    "spark.python.daemon.module": "firesteel.spark.worker_daemon",
    "spark.python.worker.reuse": "true",
    # Of a cancelled task nothing is needed; by default its worker is left alone for two seconds.
    "spark.python.task.killTimeout": "100ms",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.stage.maxConsecutiveAttempts": "1",
}
"""Over TCP, each exchange between Spark and a Python worker would wait 40 ms for a delayed acknowledgement. If the
output of a stage is lost, the whole batch must run again, so that all slots return to the version before it."""

_PLAIN_SETTINGS = SETTINGS.keys() | {
    BIND_ADDRESS,
    CORES,
    "spark.authenticate",
    "spark.driver.extraJavaOptions",
    "spark.driver.host",
    DRIVER_MEMORY,
    "spark.local.dir",
    "spark.master",
}
"""Settings that need nothing of SparkSubmit."""

_LONGEST_SOCKET_DIRECTORY = 60
"""Paths of Unix sockets are limited to about 100 characters."""


class SparkGateway:
    """A JVM, started by the constructor and ready when `context` returns; a killed JVM is replaced.

    Args:
        master: The Spark master URL.
        settings: Spark's settings.
        archive_to: The path to which the JVM writes an archive of its classes when it exits.
        temporary: The configured directory for temporary files; None for that of the system.

    Attributes:
        java: The Java that it runs on.
        archive: The class archive that it starts with if the file exists; None if archives are not possible.
    """

    def __init__(
        self, master: str, settings: dict[str, str], archive_to: Path | None = None, temporary: str | None = None
    ) -> None:
        self.java: Java = find_java()
        check_java_options(self.java, settings)
        self.archive = archive_for(self.java)
        self._archive_to = archive_to
        self._archive_used: list[str] = []
        self._temporary = TemporaryDirectory("spark", temporary)
        self._directory = str(self._temporary.path)
        self._settings = {**SETTINGS, "spark.local.dir": self._directory, **settings, "spark.master": master}
        if len(self._directory) > _LONGEST_SOCKET_DIRECTORY:
            self._settings["spark.python.unix.domain.socket.enabled"] = "false"
        self._connection_file = Path(self._directory) / "connection"
        self._log = Path(self._directory) / "jvm.log"
        self._context: Any = None
        self._was_asked = self._is_replaced = False
        self._early_error: Exception | None = None
        self._lock = threading.Lock()
        self._process = self._start()
        try:
            self._cap = CappedFile(self._log)
            import pyspark  # noqa: F401 - now, while the JVM starts
        except BaseException:  # Ctrl-C: nobody else knows the JVM yet, which would not end without its directory.
            self._end()
            self._temporary.remove()
            raise

    def _start(self) -> GuardedProcess:
        home = package_directory("pyspark")
        command = [
            *java_command(self.java, home, self._directory, self._settings),
            *self._archive_options(),
            *spark_arguments(self._settings, self._directory, self._needs_submit(home)),
        ]
        environment = dict(python_environment(), SPARK_HOME=home, PYSPARK_PYTHON=sys.executable, SPARK_CONNECT_MODE="0")
        if (libraries := self._settings.get(LIBRARY_PATH)) is not None:
            before = environment.get("LD_LIBRARY_PATH")
            environment["LD_LIBRARY_PATH"] = libraries if not before else f"{libraries}{os.pathsep}{before}"
        # Spark's UI has no option for the address that it listens on.
        if (address := self._settings.get(BIND_ADDRESS)) is not None:
            environment["SPARK_LOCAL_IP"] = address
        environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(self._connection_file)
        with self._log.open("ab") as log:  # Opened for appending, as the log is truncated when it is large.
            return GuardedProcess(command, environment, log)

    def _needs_submit(self, home: str) -> bool:
        """Return whether there is something for SparkSubmit to do: see `java_command`.

        An archive is made with it, so that it holds the classes of both ways.
        """
        is_local = self._settings["spark.master"].startswith("local[")
        is_plain = is_local and self._settings.keys() <= _PLAIN_SETTINGS and not configuration_directories(home)
        return self._archive_to is not None or not is_plain

    def _archive_options(self) -> list[str]:
        if self.archive is None:
            return []
        if self._archive_to is not None:
            return self.archive.options_to_make(self._archive_to)
        self._archive_used = self.archive.options()
        return self._archive_used

    def begin(self) -> None:
        """Make the SparkContext in the background, as soon as the JVM answers, for a program that will need it."""
        threading.Thread(target=self._begin, name="spark-start", daemon=True).start()

    def _begin(self) -> None:
        try:
            self.context()
        except Exception as error:  # The first job raises it.
            self._early_error = error

    def context(self) -> Any:
        """Return the SparkContext; wait for the JVM, and start a new one if it is gone since the last call.

        Raises:
            SparkStartError: the JVM ended or did not answer in time.
        """
        with self._lock:
            if self._early_error is not None:
                error, self._early_error = self._early_error, None
                raise error
            if self._is_replaced:
                raise SparkStartError("another one has replaced it")
            if self._was_asked and self._process.poll() is not None:
                self._start_again()
            self._was_asked = True
            if self._context is None:
                self._connect_or_start_without_archive()
                self._context = self._make_context()
            return self._context

    def _start_again(self) -> None:
        self._end()
        # Otherwise `_connect` takes the port and secret of the JVM that is gone.
        self._connection_file.unlink(missing_ok=True)
        self._process = self._start()

    def _connect_or_start_without_archive(self) -> None:
        try:
            self._connect()
        except SparkStartError:
            # Only a crash speaks against the archive; other ends would come again without it.
            if self.archive is None or self._process.returncode not in _CRASHES:
                raise
            self.archive.discard()
            self._start_again()
            self._connect()
        self._judge_archive()

    def _judge_archive(self) -> None:
        """Remove an archive that Java ignored although no user setting explains it; note that another is intact."""
        if self.archive is None or not self._archive_used or _OWN_JAVA_OPTIONS & {*self._settings, *os.environ}:
            return
        with contextlib.suppress(OSError):
            if str(self.archive.path) not in Path(f"/proc/{self._process.pid}/maps").read_text():
                self.archive.discard()
            elif VERIFY in self._archive_used:
                self.archive.note_verified()

    def _connect(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._connection_file.exists():
            if self._process.poll() is not None:
                raise SparkStartError(f"Java ended with code {self._process.returncode}: {self.log_tail()}")
            if time.monotonic() > deadline:
                raise SparkStartError(f"no answer after {_START_TIMEOUT_S} s: {self.log_tail()}")
            # The file is renamed into place by PySpark's server, so it is complete once it exists.
            time.sleep(0.002)
        data = self._connection_file.read_bytes()
        port, length = struct.unpack(">ii", data[:8])
        os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = data[8 : 8 + length].decode()
        os.environ["PYSPARK_PYTHON"] = sys.executable

    def _make_context(self) -> object:
        from pyspark import SparkConf, SparkContext

        # PySpark checks the version of pandas where it imports it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        decide_without_pandas()
        configuration = SparkConf().setAppName("firesteel").setAll(list(self._settings.items()))
        try:
            context = SparkContext.getOrCreate(configuration)
            # The accumulator server would log an error when its connection breaks with the JVM.
            vars(context._accumulatorServer)["handle_error"] = lambda request, address: None
            SparkContext._jvm = RememberedNames(SparkContext._jvm)
            release_java_objects_at_once()
            return context
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]

    def log_tail(self) -> str:
        """Return the last error in the JVM's log, else its last line."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return last_error(lines)

    @property
    def wants_archive(self) -> bool:
        """Whether Spark was started without a class archive that could be created."""
        return self._context is not None and self.archive is not None and self.archive.is_wanted

    def finish(self, timeout_s: float) -> int:
        """Let the JVM exit by itself, and return its exit code.

        Raises:
            TimeoutError: it did not end in time.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"Java did not end within {timeout_s:g} s") from None

    def setting(self, key: str) -> str | None:
        """Return the value of one of Spark's settings, or None if neither the user nor we set it."""
        return self._settings.get(key)

    def replace(self) -> None:
        """Kill the JVM, as this process will start another one; a context that is being made is awaited."""
        with self._lock:
            self._is_replaced = True
            self.close()

    def close(self) -> None:
        """Kill the JVM and remove its files."""
        leave_out_errors_of_py4j()
        self._end()
        self._cap.close()
        self._temporary.remove()

    def _end(self) -> None:
        """Kill the JVM and its child processes, if it is alive."""
        self._context = None
        if self._was_asked:  # Also needed for a context whose JVM was killed during its creation.
            forget_context()
        self._process.end()


def python_environment() -> dict[str, str]:
    """Return environment variables for a Python process with this process's module search path."""
    return dict(os.environ, PYTHONPATH=os.pathsep.join(dict.fromkeys(path or os.getcwd() for path in sys.path)))
