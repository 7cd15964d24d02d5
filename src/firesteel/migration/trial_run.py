"""Trials of programs in processes of their own; see `trial`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TypedDict

from firesteel.migration.findings import Finding, Kind, PlannedJob, Report

__all__ = ["try_program"]


class _Entry(TypedDict, total=False):
    """What a trial has found: a finding, a job, or a line that was executed."""

    path: str
    line: int
    kind: str
    name: str
    advice: str
    job: str
    operators: int
    executed: tuple[str, int]


_GRACE_S = 5.0
"""The time after its limit in which a trial may end by itself."""


def try_program(
    program: Path,
    arguments: tuple[str, ...],
    seconds: float,
    report: Report,
    output: IO[str] | None = None,
    roots: tuple[Path, ...] = (),
) -> None:
    """Run a program up to its plans in a process without network, and add what is found to the report.

    It goes on after errors of statements and jobs. A finding of the static check is dropped if its line was executed:
    whatever it lacks, the program got past it, or has failed there.

    Args:
        program: File of the program.
        arguments: Its arguments.
        seconds: The time limit.
        report: The report of the static check.
        output: Receives what the program prints; None discards it.
        roots: Directories beside its own from which it may import modules.
    """
    doubtful = [
        (*_place(one), one.is_in_lambda) for kind in (Kind.MISSING, Kind.BROKEN) for one in report.of_kind(kind)
    ]
    with tempfile.TemporaryDirectory(prefix="firesteel-check-") as directory:
        order, found = Path(directory, "order.json"), Path(directory, "found")
        task = {"program": str(program), "arguments": arguments, "seconds": seconds, "found": str(found)}
        task["roots"] = [str(root.absolute()) for root in roots]
        order.write_text(json.dumps({**task, "doubtful": doubtful}))
        ended = _run(order, seconds, output)
        entries = [json.loads(line) for line in found.read_text().splitlines()] if found.exists() else []
    _add(report, program, entries)
    if ended != 0:
        advice = f"the trial ended with {_ending(ended)} before the program did"
        report.findings.add(Finding(program, 0, "what follows", Kind.UNCHECKED, advice))


def _run(order: Path, seconds: float, output: IO[str] | None) -> int:
    process = subprocess.Popen(
        [sys.executable, "-m", "firesteel.migration.trial", str(order)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if output is None else output,
        stderr=subprocess.DEVNULL if output is None else subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait(seconds + _GRACE_S)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also what the program has started
        process.wait()


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _add(report: Report, program: Path, entries: list[_Entry]) -> None:
    executed = {(path, line) for path, line in (entry["executed"] for entry in entries if "executed" in entry)}
    found = [_finding(entry, program) for entry in entries if "kind" in entry]
    failed = {_place(one) for one in found if one.kind is Kind.FAILS}
    report.findings = {one for one in report.findings if not _is_refuted(one, executed, failed)}
    missing = {_place(one) for one in report.of_kind(Kind.MISSING)}
    differing = {_place(one) for one in report.of_kind(Kind.DIFFERS)}
    for one in found:
        known = {Kind.FAILS: missing, Kind.DIFFERS: differing}.get(one.kind, set())
        if _place(one) not in known:  # The static check has said it in other words.
            report.findings.add(one)
    report.jobs = [
        PlannedJob(_shown(entry["path"], program), entry["line"], entry["job"], entry["operators"])
        for entry in entries
        if "job" in entry
    ]


def _is_refuted(one: Finding, executed: set[tuple[str, int]], failed: set[tuple[str, int]]) -> bool:
    """Return whether the program has got past a line that lacks something, or failed where PyFlink fails, too."""
    if one.kind is Kind.MISSING:
        return _place(one) in executed - failed
    return one.kind is Kind.BROKEN and _place(one) in executed


def _place(one: Finding) -> tuple[str, int]:
    return str(one.path.absolute()), one.line


def _finding(entry: _Entry, program: Path) -> Finding:
    return Finding(_shown(entry["path"], program), entry["line"], entry["name"], Kind[entry["kind"]], entry["advice"])


def _shown(path: str, program: Path) -> Path:
    """Return a path as the user would write it, beside that of the program."""
    if not path:
        return program
    return program.parent / os.path.relpath(path, program.parent.absolute())
