"""The processes of a job, found by a mark in their environment: also those whose parents are gone."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARK = "FIRESTEEL_FAULT_RUN"
"""An environment variable that all processes of a run inherit."""


@dataclass(frozen=True)
class Process:
    """A process that is alive."""

    pid: int
    parent: int
    command: str

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


def processes_of(mark: str, variable: str = MARK) -> list[Process]:
    """All that carry the mark in that environment variable."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{variable}={mark}\0".encode() in (entry / "environ").read_bytes():
                    state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if state not in "ZX":
                        found.append(Process(int(entry.name), int(parent), command))
    return found


def _forked_by(module: str, processes: list[Process]) -> list[Process]:
    servers = {process.pid for process in processes if module in process.command}
    return [process for process in processes if process.pid in servers and process.parent in servers]


def _forking(module: str, processes: list[Process]) -> list[Process]:
    forked = _forked_by(module, processes)
    return [process for process in processes if module in process.command and process not in forked]


_SLOT_SERVER = "-m firesteel.task.slot_server"
_WORKER_DAEMON = "-m firesteel.spark.worker_daemon"
_JVM = ("org.apache.spark.deploy.SparkSubmit", "org.apache.spark.api.python.PythonGatewayServer")

KINDS: dict[str, Callable[[list[Process]], list[Process]]] = {
    "job manager": lambda processes: [p for p in processes if " -m firesteel run " in p.command],
    "JVM": lambda processes: [p for p in processes if any(name in p.command for name in _JVM)],
    "slot": lambda processes: _forked_by(_SLOT_SERVER, processes),
    "slot server": lambda processes: _forking(_SLOT_SERVER, processes),
    "worker": lambda processes: _forked_by(_WORKER_DAEMON, processes),
    "worker daemon": lambda processes: _forking(_WORKER_DAEMON, processes),
}
"""How the processes of each kind are found among all of a job."""

PAUSES: dict[str, Callable[[list[Process]], list[Process]]] = {
    "pause of the job manager": KINDS["job manager"],
    "pause of the JVM": KINDS["JVM"],
    "pause of slots": KINDS["slot"],
    "pause of all": lambda processes: processes,
}
"""Which processes stand still for a while, all at once."""


def left_after(mark: str, timeout_s: float, variable: str = MARK) -> list[Process]:
    """The processes that are still there after that time; none as soon as there is none."""
    deadline = time.monotonic() + timeout_s
    while (found := processes_of(mark, variable)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
