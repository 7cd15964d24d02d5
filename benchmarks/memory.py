"""Memory of all processes that a program starts: they are known by a variable of their environment."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

_VARIABLE = "FIRESTEEL_BENCHMARK"
_KINDS = {"java": "JVM", "pyspark": "Spark's Python workers", "firesteel.task": "slot processes"}
"""What is found in the command line; all else is the driver."""


class PeakMemory:
    """The highest sum of the proportional set sizes (PSS), with its shares; call it again and again."""

    def __init__(self) -> None:
        os.environ[_VARIABLE] = self._mark = uuid.uuid4().hex
        self.peak_mb = 0.0
        self.shares_mb: dict[str, float] = {}

    def __call__(self) -> None:
        """Measures now."""
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
                continue  # It ended.
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
