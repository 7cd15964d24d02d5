"""The output of a BATCH job is decided once, whichever JobManager runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.coordinator.batch_output import BatchOutput
from firesteel.coordinator.stored_checkpoints import remove_job_directory
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, Committer, Sink
from firesteel.operators.sinks.committables import PrintedLines, SinkCommitError, SinkCommittables
from firesteel.operators.sinks.committers import Committers
from firesteel.task.checkpoint_metadata import CheckpointExistsError


class Refuses(Committer):
    def check(self, requests):
        if "refused" in [request.committable for request in requests]:
            raise ValueError("too long")


class RefusingSink(Sink):
    def create_committer(self):
        return Refuses()


def committers() -> Committers:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(RefusingSink()).uid("sink")
    return Committers(env.get_stream_graph().get_job_graph(), {})


COMMITTERS = committers()
(OPERATOR_ID,) = COMMITTERS._make
SINK = f"vertex/{OPERATOR_ID}"


def batch_output(directory: Path) -> BatchOutput:
    return BatchOutput(directory, COMMITTERS)


def of_sink(what: str) -> SinkCommittables:
    return SinkCommittables(SINK, "Sink", (CommitRequest("job", SINK, 0, 0, what),))


def test_there_is_no_initial_decision(tmp_path: Path) -> None:
    assert batch_output(tmp_path).decided() is None


def test_a_later_run_finds_the_decision(tmp_path: Path) -> None:
    batch_output(tmp_path).decide([of_sink("files"), PrintedLines("a\n")], "1")
    assert batch_output(tmp_path).decided() == [of_sink("files"), PrintedLines("a\n")]


def test_one_of_two_concurrent_runs_decides(tmp_path: Path) -> None:
    batch_output(tmp_path).decide([of_sink("of the first")], "1")
    with pytest.raises(CheckpointExistsError):
        batch_output(tmp_path).decide([of_sink("of the second")], "2")
    assert batch_output(tmp_path).decided() == [of_sink("of the first")]


def test_delivered_output_is_not_delivered_again(tmp_path: Path) -> None:
    output = batch_output(tmp_path)
    output.decide([of_sink("files"), PrintedLines("a\n")], "1")
    output.delivered()
    assert batch_output(tmp_path).decided() == [of_sink("files")]


def test_rejected_output_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(SinkCommitError, match="sink 'Sink': could not commit: ValueError: too long"):
        batch_output(tmp_path).decide([of_sink("refused")], "1")
    assert batch_output(tmp_path).decided() is None


def test_no_checkpoint_is_decided_after_the_end_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    remove_job_directory(tmp_path / "job")
    with pytest.raises(FileNotFoundError):
        batch_output(tmp_path / "job").decide([], "1")
