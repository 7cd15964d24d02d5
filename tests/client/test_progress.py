"""Progress of jobs: restarts, and what a terminal shows."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from firesteel.client import progress, progress_view
from firesteel.client.interrupts import interrupted, until_done
from firesteel.client.progress import progress_reporter, set_progress_reporter
from firesteel.client.progress_reporter import Restart, RestartLines
from firesteel.client.progress_view import LiveLine, make_reporter
from firesteel.client.restarts import RestartListener
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import JobDetails, JobVertexDetails
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure

BAD = TaskFailure("ValueError: bad", operator_name="Map", in_hand="record 1", user_location="job.py:1 in f: raise")
OTHER = replace(BAD, in_hand="record 2")


@pytest.fixture(autouse=True)
def no_reporter(monkeypatch):
    monkeypatch.setattr(progress, "_reporter", [])


def vertex(state: ExecutionState, records_in: int, records_out: int) -> JobVertexDetails:
    return JobVertexDetails("v", "Source", 1, 128, {state: 1}, records_in, records_out)


def details(status: JobStatus, *vertices: JobVertexDetails, restarts: int = 0) -> JobDetails:
    return JobDetails("a" * 32, "orders", status, {}, 0, None, 1500, restarts, None, vertices)


def test_each_restart_is_told_with_its_number_and_cause(capsys):
    listener = RestartListener()
    for status, cause in [
        (JobStatus.RUNNING, None),
        *[(JobStatus.RESTARTING, cause) for cause in (BAD, BAD, BAD, OTHER, BAD)],
        (JobStatus.FAILED, BAD),
    ]:
        listener.job_status_changed("job", JobEvent(status, 0, cause))
    told = capsys.readouterr().err.split("Job job: ")[1:]
    assert [one.partition(":")[0] for one in told] == [f"restart {number}" for number in range(1, 6)]
    assert ["3 times in a row: restarts do not get past it" in one for one in told] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert "operator 'Map'" in told[0]
    assert listener.last == Restart("job", 5, BAD, 1)


def test_restarts_are_objects_in_json(capsys):
    make_reporter("json").restarts(Restart("job", 3, BAD, 3))
    entry = json.loads(capsys.readouterr().err)
    assert (entry["state"], entry["restart"], entry["same-failures"]) == ("RESTARTING", 3, 3)
    assert "on record 1" in entry["failure"]


def test_the_default_is_a_line_on_terminals_and_restarts_elsewhere(monkeypatch):
    assert isinstance(progress_reporter(), RestartLines)
    monkeypatch.setattr(progress, "_reporter", [])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(progress_reporter(), LiveLine)
    mine = RestartLines()
    set_progress_reporter(mine)
    assert progress_reporter() is mine


def test_nothing_is_drawn_over_what_the_reader_of_a_pipe_prints(monkeypatch, tmp_path):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    reading, writing = os.pipe()
    with open(reading), open(writing, "w") as pipe, (tmp_path / "file").open("w") as file:
        for stdout, draws in ((pipe, False), (file, True)):
            monkeypatch.setattr(sys, "stdout", stdout)
            monkeypatch.setattr(progress, "_reporter", [])
            assert isinstance(progress_reporter(), LiveLine) == draws
            assert (type(make_reporter("text")).__name__ == "_LiveTable") == draws


def test_small_rates_and_vertices_that_never_started(capsys):
    line = progress_view.LineOfProgress(lambda: 0.0)
    few = details(JobStatus.FINISHED, vertex(ExecutionState.FINISHED, 0, 11))
    assert line.text(replace(few, duration_ms=22_000)).endswith("11 records read, 0.5/s")
    make_reporter("text").ended(details(JobStatus.FAILED, replace(vertex(ExecutionState.FAILED, 0, 0), tasks={})))
    assert "Source (1): not started, 0 records in, 0 out" in capsys.readouterr().err


def test_the_line_has_the_rate_and_what_is_awaited(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(progress_view, "Console", lambda **_: Console(file=shown, width=100, force_terminal=True))
    times = iter(range(100))
    line = LiveLine(lambda: float(next(times)))
    line.submitted("a" * 32)
    for status, found in [
        (JobStatus.INITIALIZING, ()),
        (JobStatus.RUNNING, (vertex(ExecutionState.SCHEDULED, 0, 0),)),
        (JobStatus.RUNNING, (vertex(ExecutionState.DEPLOYING, 0, 0),)),
        (JobStatus.RUNNING, (vertex(ExecutionState.RUNNING, 0, 5000), vertex(ExecutionState.RUNNING, 5000, 7))),
    ]:
        line.progressed(details(status, *found))
    line.progressed(details(JobStatus.RESTARTING, restarts=2))
    line.ended(details(JobStatus.FINISHED, vertex(ExecutionState.FINISHED, 0, 9000), restarts=2))
    text = shown.getvalue()
    for part in (
        "orders: INITIALIZING, 1.5 s, reading state",
        "waiting for slots",
        "starting Spark and the slots",
        "orders: RUNNING, 1.5 s, 5,000 records read, 1,000/s",
        "waiting to restart, restarts: 2",
        "orders: FINISHED, 1.5 s, 9,000 records read, 6,000/s, restarts: 2",  # 1.5 s in all
    ):
        assert part in text


def test_the_line_has_the_share_of_bounded_sources_and_the_lag_of_others() -> None:
    line = progress_view.LineOfProgress(lambda: 0.0)
    half = replace(vertex(ExecutionState.RUNNING, 0, 10), share_read=0.5, pending_records=10)
    behind = replace(vertex(ExecutionState.RUNNING, 0, 10), pending_records=1234)
    bytes_behind = replace(vertex(ExecutionState.RUNNING, 0, 10), pending_bytes=2_500_000)
    text = line.text(details(JobStatus.RUNNING, half, replace(half, share_read=0.25), behind, bytes_behind))
    assert text.endswith("38% of the input, 1,234 records behind, 2.5 MB behind")
    assert "of the input" not in line.text(details(JobStatus.RUNNING, replace(half, share_read=None)))


def test_an_interrupt_that_arrives_twice_is_one():
    calls = []

    def cancel() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt

    until_done(cancel)
    assert len(calls) == 2


def test_an_interrupt_says_why_the_job_had_restarted():
    assert str(interrupted(None)) == "Interrupted: the job was cancelled."
    assert "the last restart 2: operator 'Map' failed: ValueError: bad" in str(interrupted(Restart("job", 2, BAD)))
