"""Progress of a job on the terminal: a live table or line, plain lines without one and in pipes, or JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from firesteel.client.progress_reporter import ProgressReporter, Restart, RestartLines, owns_terminal
from firesteel.client.terminal_logs import TerminalLogs
from firesteel.common.terminal_text import in_one_line, printable
from firesteel.runtime.executiongraph.job_details import JobDetails, JobVertexDetails
from firesteel.runtime.executiongraph.job_status import JobStatus

__all__ = ["LineOfProgress", "LiveLine", "make_reporter"]

_NAME_WIDTH = 60


def make_reporter(output: str | None) -> ProgressReporter:
    """Return the reporter for this terminal, with `text` or lines of `json`; None reports restarts only."""
    if output is None:
        return RestartLines()
    if output == "json":
        return _JsonLines()
    return _LiveTable() if owns_terminal() else _PlainLines()


class _JsonLines:
    """Prints an object whenever the status of the job changes."""

    def __init__(self) -> None:
        self._status = ""

    def serves(self, address: str) -> None:
        _print_json({"address": address})

    def submitted(self, job_id: str) -> None:
        self._status = ""
        self.detached(job_id)

    def detached(self, job_id: str) -> None:
        _print_json({"job-id": job_id, "state": "SUBMITTED"})

    def restarts(self, restart: Restart) -> None:
        self._status = "RESTARTING"
        entry = {"job-id": restart.job_id, "state": self._status, "failure": str(restart.cause)}
        _print_json({**entry, "restart": restart.number, "same-failures": restart.repetitions})

    def progressed(self, details: JobDetails) -> None:
        if details.status.name != self._status:
            self._status = details.status.name
            failure = None if details.failure is None else str(details.failure)
            _print_json({"job-id": details.job_id, "state": self._status, "failure": failure})

    def ended(self, details: JobDetails) -> None:
        self.progressed(details)
        vertices = [
            {"name": vertex.name, "read-records": vertex.records_in, "write-records": vertex.records_out}
            for vertex in details.vertices
        ]
        _print_json({"job-id": details.job_id, "duration": details.duration_ms, "vertices": vertices})


def _print_json(entry: dict[str, object]) -> None:
    print(json.dumps(entry), file=sys.stderr, flush=True)


def _submitted(job_id: str) -> str:
    return f"Job has been submitted with JobID {job_id}"


class _PlainLines:
    """Prints a line whenever the status of the job changes."""

    def __init__(self) -> None:
        self._status = ""

    def serves(self, address: str) -> None:
        print(f"Dashboard and REST API: {address}", file=sys.stderr)

    def submitted(self, job_id: str) -> None:
        self._status = ""
        print(_submitted(job_id), file=sys.stderr)

    def detached(self, job_id: str) -> None:
        print(_submitted(job_id))

    def restarts(self, restart: Restart) -> None:
        self._status = "RESTARTING"
        print(printable(f"Job {restart.job_id} is RESTARTING, {restart}"), file=sys.stderr, flush=True)

    def progressed(self, details: JobDetails) -> None:
        if details.status.name != self._status:
            self._status = details.status.name
            print(printable(f"Job {details.name!r} is {self._status}"), file=sys.stderr)

    def ended(self, details: JobDetails) -> None:
        self.progressed(details)
        for vertex in details.vertices:
            name = in_one_line(vertex.name)
            records = f"{vertex.records_in} records in, {vertex.records_out} out"
            print(f"  {name} ({vertex.parallelism}): {_states(vertex)}, {records}", file=sys.stderr)
        print(f"Job Runtime: {details.duration_ms} ms", file=sys.stderr)


class _LiveTable:
    """Prints a table that is updated a few times per second."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live: Live | None = None
        self._logs = TerminalLogs([])
        self._line = LineOfProgress()

    def serves(self, address: str) -> None:
        self._console.print(f"Dashboard and REST API: {address}", highlight=False)

    def detached(self, job_id: str) -> None:
        print(_submitted(job_id))

    def submitted(self, job_id: str) -> None:
        self._console.print(_submitted(job_id), highlight=False)
        self._line = LineOfProgress()
        self._start()

    def _start(self) -> None:
        self._live = Live(console=self._console, redirect_stdout=sys.stdout.isatty())
        before = sys.stdout, sys.stderr
        self._live.start()
        self._logs = TerminalLogs(zip(before, (sys.stdout, sys.stderr), strict=True))

    def restarts(self, restart: Restart) -> None:
        self._console.print(escape(printable(str(restart))), highlight=False)

    def progressed(self, details: JobDetails) -> None:
        if self._live is not None:
            self._live.update(self._shown(details), refresh=True)

    def _shown(self, details: JobDetails) -> RenderableType:
        return _table(details, ", ".join(self._line.input(details)))

    def ended(self, details: JobDetails) -> None:
        self.progressed(details)
        if self._live is not None:
            self._live.stop()
            self._live = None
            self._logs.restore()


class LineOfProgress:
    """One line on a job: state, time, records and their rate, share of bounded sources, lag of others, restarts.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: tuple[float, int] | None = None
        self._rate = 0.0

    def text(self, details: JobDetails) -> str:
        """Return the line, given the job at this moment."""
        parts = [f"{in_one_line(details.name)}: {details.status.name}", f"{details.duration_ms / 1000:.1f} s"]
        parts += self.input(details)
        if details.restarts:
            parts.append(f"restarts: {details.restarts}")
        return ", ".join(parts)

    def input(self, details: JobDetails) -> list[str]:
        """Return what the job waits for, or else what it has read and how much is left."""
        read = sum(_records_read(vertex) for vertex in details.vertices)
        if details.status is JobStatus.RUNNING:
            self._measure(read)
        awaited = _awaited(details)
        if awaited:
            return [awaited]
        rate = read * 1000 / max(details.duration_ms, 1) if details.status.is_terminal else self._rate
        records = [f"{read:,} records read", f"{_rate_text(rate)}/s"] if read else ["no records read"]
        return records + _of_sources(details)

    def _measure(self, read: int) -> None:
        """Update the rate, a mean over some seconds."""
        now_s = self._clock()
        if self._before is not None and now_s > self._before[0] and read >= self._before[1]:
            rate = (read - self._before[1]) / (now_s - self._before[0])
            self._rate += 0.2 * (rate - self._rate)
        self._before = now_s, read


class LiveLine(_LiveTable):
    """Prints one line that is updated a few times per second, for a program that is run as `python job.py`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._line = LineOfProgress(clock)

    def submitted(self, job_id: str) -> None:
        """Begin the line."""
        self._line = LineOfProgress(self._clock)
        self._start()

    def detached(self, job_id: str) -> None:
        """Show nothing: a program that does not wait says what it wants to say."""

    def _shown(self, details: JobDetails) -> RenderableType:
        return Text(self._line.text(details), no_wrap=True, overflow="ellipsis")


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _records_read(vertex: JobVertexDetails) -> int:
    """Return how many records a source has read, 0 for others; it has sent none if all is in one chain."""
    is_source = vertex.records_in == 0
    return max(vertex.records_out, (vertex.units_read or 0) if vertex.pending_records is not None else 0) * is_source


def _of_sources(details: JobDetails) -> list[str]:
    """Return which share bounded sources have read, on average, and how far the others are behind."""
    bounded = [vertex.share_read for vertex in details.vertices if vertex.share_read is not None]
    others = [vertex for vertex in details.vertices if vertex.share_read is None]
    found = [f"{sum(bounded) / len(bounded):.0%} of the input"] if bounded else []
    if records := sum(vertex.pending_records or 0 for vertex in others):
        found.append(f"{records:,} records behind")
    if size := sum(vertex.pending_bytes or 0 for vertex in others):
        found.append(f"{decimal(size)} behind")
    return found


def _awaited(details: JobDetails) -> str:
    """Return what the job waits for before it reads anything; empty if it runs."""
    if details.status is JobStatus.INITIALIZING:
        return "reading state"
    states = {state.name for vertex in details.vertices for state in vertex.tasks}
    if details.status is JobStatus.RESTARTING:
        return "waiting to restart"
    if states and states <= {"CREATED", "SCHEDULED"}:
        return "waiting for slots"
    return "starting Spark and the slots" if states & {"DEPLOYING", "INITIALIZING"} else ""


def _table(details: JobDetails, caption: str) -> Table:
    title = f"{escape(in_one_line(details.name))}: {details.status.name}, {details.duration_ms / 1000:.1f} s"
    title += f", restarts: {details.restarts}" if details.restarts else ""
    table = Table(title=title, title_justify="left", caption=caption or None, caption_justify="left")
    table.add_column("vertex")
    table.add_column("subtasks")
    table.add_column("records in", justify="right")
    table.add_column("records out", justify="right")
    for vertex in details.vertices:
        name = vertex.name if len(vertex.name) <= _NAME_WIDTH else vertex.name[: _NAME_WIDTH - 3] + "..."
        table.add_row(escape(in_one_line(name)), _states(vertex), f"{vertex.records_in:,}", f"{vertex.records_out:,}")
    return table


def _states(vertex: JobVertexDetails) -> str:
    return ", ".join(f"{count} {state.name}" for state, count in vertex.tasks.items()) or "not started"
