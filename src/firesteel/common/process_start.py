"""The start time of processes, which tells a process from another one that got its id later."""

from __future__ import annotations

from pathlib import Path


def start_time(process_id: int) -> str | None:
    """Return the start time of a process in clock ticks since boot, or None if it has ended or is unknown."""
    try:
        # The name in parentheses may contain anything; proc(5) describes the fields after it.
        figures = Path(f"/proc/{process_id}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if figures[0] in ("Z", "X") else figures[19]
