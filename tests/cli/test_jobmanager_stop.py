"""`firesteel jobmanager stop` reports whether the JobManager stopped."""

from __future__ import annotations

import signal

import pytest
from click.testing import CliRunner

from firesteel.cli import jobmanager, servers

pytestmark = pytest.mark.slow

ENTRIES = [{"pid": 11, "address": "http://localhost:8081"}, {"pid": 12, "address": "http://localhost:8082"}]


@pytest.fixture
def signalled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two JobManagers, the second of which does not end; yields the ids of processes that got a signal."""
    told: list[int] = []

    def kill(process_id: int, number: int) -> None:
        assert number == signal.SIGTERM
        told.append(process_id)
        if process_id == 11:
            raise ProcessLookupError  # It has just ended by itself.

    monkeypatch.setattr(servers.Servers, "running", lambda self: [dict(entry) for entry in ENTRIES])
    monkeypatch.setattr(servers, "_is_alive", lambda entry: entry["pid"] == 12)
    monkeypatch.setattr(servers, "_STOP_TIMEOUT_S", 0)
    monkeypatch.setattr("os.kill", kill)
    return told


def test_a_jobmanager_that_keeps_running_is_not_reported_as_stopped(signalled: list[int]) -> None:
    result = CliRunner().invoke(jobmanager.jobmanager, ["stop"])
    assert signalled == [11, 12]
    assert result.exit_code == 1
    assert "JobManager 11 at http://localhost:8081 was stopped" in result.stdout
    assert "JobManager 12 at http://localhost:8082 is still running" in result.stderr
    assert "12" not in result.stdout


def test_a_jobmanager_that_ends_is_stopped(signalled: list[int]) -> None:
    result = CliRunner().invoke(jobmanager.jobmanager, ["stop", "--port", "8081"])
    assert result.exit_code == 0
    assert "was stopped" in result.stdout
    assert signalled == [11]
