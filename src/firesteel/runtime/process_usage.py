"""Resource usage of a cluster process and its descendants."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NO_USAGE", "ProcessTree", "ProcessUsage", "process_trees", "usage_of_this_process"]

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """The resources of a machine, and their current usage by a process and its descendants.

    Flink: `runtime.instance.HardwareDescription`, and the gauges of `runtime.metrics.util.MetricUtils`. Slots, Python
    workers and Spark's JVM are descendants of the measured process.

    Attributes:
        cpu_cores: Number of cores of the machine.
        physical_memory: Memory of the machine in bytes.
        free_memory: Memory in bytes that processes can still get, with what the kernel uses for cached files.
        used_memory: Resident memory of the processes in bytes; shared pages count for each.
        cpu_time_s: CPU time of the process itself since its start in seconds.
        threads: Number of threads of the process itself.
    """

    cpu_cores: int = 0
    physical_memory: int = 0
    free_memory: int = 0
    used_memory: int = 0
    cpu_time_s: float = 0.0
    threads: int = 0


NO_USAGE = ProcessUsage()
"""The usage of processes that were not measured yet."""


def usage_of_this_process() -> ProcessUsage:
    """Return the current usage of the process; takes some milliseconds.

    >>> usage_of_this_process().used_memory > 1_000_000
    True
    """
    return ProcessUsage(
        cpu_cores=os.cpu_count() or 1,
        physical_memory=_PAGE * os.sysconf("SC_PHYS_PAGES"),
        free_memory=_available_memory(),
        used_memory=_resident_memory(os.getpid()),
        cpu_time_s=time.process_time(),
        threads=threading.active_count(),
    )


def _available_memory() -> int:
    """Return what the kernel estimates to be available; without /proc, what nothing uses, not even cached files."""
    with contextlib.suppress(OSError):
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return _PAGE * os.sysconf("SC_AVPHYS_PAGES")


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """A process with its descendants.

    Attributes:
        used_bytes: Resident memory of all of them; shared pages count for each.
        children: The ids of the descendants.
    """

    used_bytes: int
    children: tuple[int, ...]


def process_trees(processes: Sequence[int]) -> dict[int, ProcessTree]:
    """Return the trees of some processes; those that have ended are left out, and without /proc all are."""
    if not _PROC.is_dir():
        return {}
    parents, pages = _processes()
    members: dict[int, list[int]] = {process: [] for process in processes if process in pages}
    for process in pages:
        ancestor = parents.get(process)
        while ancestor is not None and ancestor not in members:
            ancestor = parents.get(ancestor)
        if ancestor is not None:
            members[ancestor].append(process)
    return {
        process: ProcessTree(_PAGE * sum(pages[one] for one in (process, *children)), tuple(children))
        for process, children in members.items()
    }


def _resident_memory(pid: int) -> int:
    """Return the resident memory of a process and its descendants; without /proc, the process's peak."""
    if not _PROC.is_dir():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    parents, pages = _processes()
    total = 0
    for process in pages:
        ancestor: int | None = process
        while ancestor is not None and ancestor != pid:
            ancestor = parents.get(ancestor)
        total += pages[process] if ancestor == pid else 0
    return total * _PAGE


def _processes() -> tuple[dict[int, int], dict[int, int]]:
    """Return the parent and the resident pages of each process of the machine."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for directory in _PROC.iterdir():
        if not directory.name.isdigit():
            continue
        try:
            # The name, in parentheses, may contain any characters; the fields after it are documented in proc(5).
            behind_name = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # the process has ended meanwhile
            continue
        pid = int(directory.name)
        parents[pid], pages[pid] = int(behind_name[1]), int(behind_name[21])
    return parents, pages
