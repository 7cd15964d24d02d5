"""A few fault runs; `make soak` makes many with random ones."""

from __future__ import annotations

import pytest

from tests.exactly_once.fault_run import FULL_DISK, FULL_LOCAL_DISK, RESCALE, Case, FaultRun
from tests.exactly_once.series import can_mount, output_of

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("job", "sink", "faults"),
    [
        ("totals", "files", ("slot", "worker", "slot server")),
        ("windows", "rolling files", (RESCALE, "job manager", RESCALE)),
        ("window join", "SQLite", (RESCALE, "JVM", "slot")),
        ("interval join", "SQLite", (FULL_DISK, "worker daemon")),
        ("windows", "files", (FULL_LOCAL_DISK, "job manager")),
    ],
)
def test_each_record_counts_once_whatever_is_killed(job, sink, faults, tmp_path):
    if not {FULL_DISK, FULL_LOCAL_DISK}.isdisjoint(faults) and not can_mount():
        pytest.skip("needs the right to mount a file system")
    records = 120_000 if faults[0] == RESCALE else 30_000  # The command takes a second to start.
    outcome = FaultRun(Case(job, faults, seed=1, records=records), tmp_path, output_of(sink, tmp_path, {})).run()
    # A job may have come to its end before the last fault could hit it.
    assert outcome.hit
    assert outcome.hit == list(faults)[: len(outcome.hit)]
    assert outcome.violations == []


@pytest.mark.parametrize(("sink", "faults"), [("files", ("worker", "JVM")), ("SQLite", ("worker daemon", "worker"))])
def test_a_batch_job_restarts_and_commits_once(sink, faults, tmp_path):
    case = Case("totals", faults, seed=3, records=400_000, mode="BATCH")
    outcome = FaultRun(case, tmp_path, output_of(sink, tmp_path, {})).run()
    assert (outcome.starts, outcome.violations) == (1, [])
    assert outcome.hit
