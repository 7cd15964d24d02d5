"""The listening sockets of a process and its descendants, as Linux knows them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.processes import command_line, processes_below

_PROCESSES = {
    "org.apache.spark.deploy.master.Master": "Master",
    "org.apache.spark.deploy.worker.Worker": "Worker",
    "org.apache.spark.deploy.SparkSubmit": "driver JVM",
    "org.apache.spark.api.python.PythonGatewayServer": "driver JVM",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend": "executor JVM",
    "firesteel.task.slot_server": "slot",
    "firesteel.spark.task_manager_process": "TaskExecutor",
    "firesteel.spark.worker_daemon": "Python worker",
    "pyspark.daemon": "Python worker",
    "firesteel sql-gateway": "SQL gateway",
    "jobmanager": "JobManager",
}
"""A part of the command line -> the kind of process, first match first."""

_LISTENING_TCP, _LISTENING_UNIX = "0A", "00010000"


class Listener(NamedTuple):
    """A listening socket: its process and the kind of it, and its address, or the path of a Unix socket."""

    process: str
    process_id: int
    host: str
    port: int
    path: str


def listeners(root: int) -> set[Listener]:
    """Return the listening sockets of a process and its descendants."""
    by_inode = dict(_sockets(root))
    found = set()
    for process in processes_below(root):
        kind = _kind(process)
        for inode in _inodes(process):
            if inode in by_inode:
                found.add(Listener(kind, process, *by_inode[inode]))
    return found


def _kind(process: int) -> str:
    command = command_line(process)
    return next((kind for part, kind in _PROCESSES.items() if part in command), command[:200])


def _inodes(process: int) -> Iterator[str]:
    with suppress(OSError):  # Processes end, and close files, while one looks.
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                target = os.readlink(descriptor)
                if target.startswith("socket:["):
                    yield target[8:-1]


def _sockets(process: int) -> Iterator[tuple[str, tuple[str, int, str]]]:
    """Yield the inode and address of all listening sockets in the network of a process."""
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING_TCP:
                host, port = fields[1].split(":")
                yield fields[9], (_host(host), int(port, 16), "")
    for line in Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == _LISTENING_UNIX:
            yield fields[6], ("", 0, fields[7] if len(fields) > 7 else "")


def _host(text: str) -> str:
    """Return `loopback`, `any` or the address in hexadecimal."""
    words = [text[at : at + 8] for at in range(0, len(text), 8)]
    if set(words) == {"00000000"}:
        return "any"
    is_loopback = words[-1] == "0100007F" and (len(words) == 1 or words[:3] == ["00000000", "00000000", "FFFF0000"])
    return "loopback" if is_loopback or text == "00000000000000000000000001000000" else text
