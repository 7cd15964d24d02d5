"""Committers are created from the sinks of the job, so files with committables contain no secrets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.coordinator.batch_output import BatchOutput
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, Committer, Sink, SinkWriter, WriterInitContext
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.sinks.committables import SinkCommitError, SinkCommittables
from firesteel.operators.sinks.committers import Committers, SinkNotFoundError
from firesteel.testing import run_local

PASSWORD = "hush-hush-hush"


class Guarded(Sink):
    """Writes to a file if the password is right; fails as long as there is a file `down` next to it."""

    def __init__(self, path: Path, password: str = PASSWORD) -> None:
        self.path = path
        self.password = password

    def create_writer(self, context: WriterInitContext) -> SinkWriter:
        return Numbers()

    def create_committer(self) -> Committer:
        return GuardedCommitter(self.path, self.password)


class Numbers(SinkWriter):
    def __init__(self) -> None:
        self.numbers: list[int] = []

    def write(self, element: Any, timestamp: int | None) -> None:
        self.numbers.append(element)

    def prepare_commit(self) -> Sequence[Any]:
        numbers, self.numbers = self.numbers, []
        return [tuple(numbers)] if numbers else []


class GuardedCommitter(Committer):
    def __init__(self, path: Path, password: str) -> None:
        self.path = path
        self.password = password

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        assert self.password == PASSWORD
        if (self.path.parent / "down").exists():
            raise ConnectionError("the database is down")
        with self.path.open("a") as file:
            file.writelines(f"{number}\n" for request in requests for number in request.committable)


def program(sink: Sink | None, options: dict[str, str] | None = None) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.configure(Configuration.from_dict(options or {}))
    source = NumberSequenceSource(0, 9)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).uid("numbers")
    if sink is None:
        numbers.print()
    else:
        numbers.sink_to(sink).uid("guarded")
    return env


def failed_commit(tmp_path: Path) -> Path:
    """Let a job fail in its first commit, and return the directory of its checkpoints."""
    (tmp_path / "down").touch()
    checkpoints = tmp_path / "checkpoints"
    with pytest.raises(SinkCommitError, match="the database is down"):
        run_local(program(Guarded(tmp_path / "out")), batch_elements=5, checkpoint=checkpoints)
    (tmp_path / "down").unlink()
    return checkpoints


def out(tmp_path: Path) -> list[int]:
    return [int(line) for line in (tmp_path / "out").read_text().splitlines()]


def test_no_file_of_a_checkpoint_holds_the_password_and_recovery_still_commits(tmp_path: Path) -> None:
    checkpoints = failed_commit(tmp_path)
    files = [path for path in checkpoints.rglob("*") if path.is_file()]
    assert checkpoints / "chk-1/_metadata" in files
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
    assert not (tmp_path / "out").exists()
    run_local(program(Guarded(tmp_path / "out")), batch_elements=5, checkpoint=checkpoints)
    assert out(tmp_path) == list(range(10))


def test_another_program_commits_with_its_own_sink(tmp_path: Path) -> None:
    checkpoints = failed_commit(tmp_path)
    options = {"execution.state-recovery.path": str(checkpoints / "chk-1")}
    run_local(program(Guarded(tmp_path / "out"), options), batch_elements=5)
    assert out(tmp_path) == list(range(10))


def test_commits_of_a_removed_sink_are_discarded_only_if_allowed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoints = failed_commit(tmp_path)
    options = {"execution.state-recovery.path": str(checkpoints / "chk-1")}
    with pytest.raises(Exception, match="--allowNonRestoredState"):
        run_local(program(None, options), batch_elements=5)
    options["execution.state-recovery.ignore-unclaimed-state"] = "true"
    with caplog.at_level(logging.WARNING):
        run_local(program(None, options), batch_elements=5)
    assert "are discarded: the job no longer has this sink" in caplog.text
    assert not (tmp_path / "out").exists()


def test_the_committer_of_each_sink_is_found_by_its_writer(tmp_path: Path) -> None:
    graph = program(Guarded(tmp_path / "out")).get_stream_graph().get_job_graph()
    (operator_id,) = Committers(graph, {})._make
    committer = Committers(graph, {}).committer(f"whatever vertex/{operator_id}")
    assert isinstance(committer, GuardedCommitter)
    with pytest.raises(SinkNotFoundError, match="no sink with operator id x, but a checkpoint has something to commit"):
        Committers(graph, {}).committer("vertex/x")


def test_the_decision_of_a_batch_job_holds_no_password(tmp_path: Path) -> None:
    graph = program(Guarded(tmp_path / "out")).get_stream_graph().get_job_graph()
    committers = Committers(graph, {})
    (operator_id,) = committers._make
    request = CommitRequest("job", f"v/{operator_id}", 0, 0, (1, 2))
    BatchOutput(tmp_path, committers).decide([SinkCommittables(f"v/{operator_id}", "Sink", (request,))], "1")
    (decision,) = (path for path in (tmp_path / "output").iterdir() if path.name == "_decision")
    assert PASSWORD.encode() not in decision.read_bytes()
