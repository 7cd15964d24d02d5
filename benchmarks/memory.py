"""Memory of all processes that a program starts, identified by a variable in their environment."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

_VARIABLE = "FIRESTEEL_BENCHMARK"
_KINDS = {"java": "JVM", "pyspark": "Spark's Python workers", "firesteel.task": "slot processes"}
"""Substrings of command lines; all other processes are the driver."""


class PeakMemory:
    """The highest sum of the proportional set sizes (PSS), with its shares; call it repeatedly."""

    def __init__(self) -> None:
        os.environ[_VARIABLE] = self._mark = uuid.uuid4().hex
        self.peak_mb = 0.0
        self.shares_mb: dict[str, float] = {}

    def __call__(self) -> None:
        """Measure now."""
        shares: dict[str, float] = {}
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            try:
                if self._mark.encode() not in (process / "environ").read_bytes():
                    continue
                kind = _kind((process / "cmdline").read_bytes().decode(errors="replace"))
                shares[kind] = shares.get(kind, 0.0) + _pss_mb((process / "smaps_rollup").read_text())
            except (OSError, ValueError):
                continue  # The process has ended.
        if sum(shares.values()) > self.peak_mb:
            self.peak_mb, self.shares_mb = sum(shares.values()), shares


def _kind(command: str) -> str:
    program, *_ = command.split("\0")
    if Path(program).name == "java":
        return _KINDS["java"]
    return next((kind for word, kind in _KINDS.items() if word in command and word != "java"), "driver")


def _pss_mb(rollup: str) -> float:
    line = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) / 1024
