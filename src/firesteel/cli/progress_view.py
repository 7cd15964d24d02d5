"""Progress of a job on the terminal: a live table, or plain lines if standard error is not a terminal."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from firesteel.cli.terminal_text import in_one_line, printable
from firesteel.client import ProgressReporter
from firesteel.runtime.executiongraph.job_details import JobDetails, JobVertexDetails

_NAME_WIDTH = 60


def make_reporter(output: str) -> ProgressReporter:
    """Return the reporter for this terminal, with `text` or lines of `json`."""
    if output == "json":
        return _JsonLines()
    return _LiveView() if sys.stderr.isatty() else _PlainLines()


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

    def progressed(self, details: JobDetails) -> None:
        if details.status.name != self._status:
            self._status = details.status.name
            because = f": {details.failure}" if self._status == "RESTARTING" and details.failure is not None else ""
            print(printable(f"Job {details.name!r} is {self._status}{because}"), file=sys.stderr)

    def ended(self, details: JobDetails) -> None:
        self.progressed(details)
        for vertex in details.vertices:
            name = in_one_line(vertex.name)
            records = f"{vertex.records_in} records in, {vertex.records_out} out"
            print(f"  {name} ({vertex.parallelism}): {_states(vertex)}, {records}", file=sys.stderr)
        print(f"Job Runtime: {details.duration_ms} ms", file=sys.stderr)


class _LiveView:
    """Prints a table that is updated a few times per second."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live: Live | None = None

    def serves(self, address: str) -> None:
        self._console.print(f"Dashboard and REST API: {address}", highlight=False)

    def detached(self, job_id: str) -> None:
        print(_submitted(job_id))

    def submitted(self, job_id: str) -> None:
        self._console.print(_submitted(job_id), highlight=False)
        self._live = Live(console=self._console, redirect_stdout=sys.stdout.isatty(), redirect_stderr=False)
        self._live.start()

    def progressed(self, details: JobDetails) -> None:
        assert self._live is not None
        self._live.update(_table(details), refresh=True)

    def ended(self, details: JobDetails) -> None:
        self.progressed(details)
        assert self._live is not None
        self._live.stop()


def _table(details: JobDetails) -> Table:
    title = f"{escape(in_one_line(details.name))}: {details.status.name}, {details.duration_ms / 1000:.1f} s"
    table = Table(title=title, title_justify="left")
    table.add_column("vertex")
    table.add_column("subtasks")
    table.add_column("records in", justify="right")
    table.add_column("records out", justify="right")
    for vertex in details.vertices:
        name = vertex.name if len(vertex.name) <= _NAME_WIDTH else vertex.name[: _NAME_WIDTH - 3] + "..."
        table.add_row(escape(in_one_line(name)), _states(vertex), f"{vertex.records_in:,}", f"{vertex.records_out:,}")
    return table


def _states(vertex: JobVertexDetails) -> str:
    return ", ".join(f"{count} {state.name}" for state, count in vertex.tasks.items())
