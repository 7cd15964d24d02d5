"""The output of a BATCH job is decided once, whoever runs the job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from firesteel.coordinator.batch_output import BatchOutput
from firesteel.coordinator.stored_checkpoints import remove_job_directory
from firesteel.datastream.connectors.base import CommitRequest, Committer
from firesteel.operators.committables import PrintedLines, SinkCommitError, SinkCommittables
from firesteel.task.checkpoint_metadata import CheckpointExistsError


@dataclass(frozen=True)
class Refuses(Committer):
    text: str

    def check(self, requests):
        if self.text:
            raise ValueError(self.text)


def of_sink(what: str, refuses: str = "") -> SinkCommittables:
    return SinkCommittables("sink", "Sink", Refuses(refuses), (CommitRequest("job", "sink", 0, 0, what),))


def test_nothing_is_decided_at_first(tmp_path: Path) -> None:
    assert BatchOutput(tmp_path).decided() is None


def test_what_was_decided_is_found_by_whoever_comes_next(tmp_path: Path) -> None:
    BatchOutput(tmp_path).decide([of_sink("files"), PrintedLines("a\n")], "1")
    assert BatchOutput(tmp_path).decided() == [of_sink("files"), PrintedLines("a\n")]


def test_of_two_that_ran_the_job_one_decides(tmp_path: Path) -> None:
    BatchOutput(tmp_path).decide([of_sink("of the first")], "1")
    with pytest.raises(CheckpointExistsError):
        BatchOutput(tmp_path).decide([of_sink("of the second")], "2")
    assert BatchOutput(tmp_path).decided() == [of_sink("of the first")]


def test_what_was_shown_is_not_shown_again(tmp_path: Path) -> None:
    output = BatchOutput(tmp_path)
    output.decide([of_sink("files"), PrintedLines("a\n")], "1")
    output.delivered()
    assert BatchOutput(tmp_path).decided() == [of_sink("files")]


def test_what_a_sink_refuses_is_not_decided(tmp_path: Path) -> None:
    with pytest.raises(SinkCommitError, match="sink 'Sink': could not commit: ValueError: too long"):
        BatchOutput(tmp_path).decide([of_sink("row", refuses="too long")], "1")
    assert BatchOutput(tmp_path).decided() is None


def test_a_job_that_is_over_gets_no_decision(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    remove_job_directory(tmp_path / "job")
    with pytest.raises(FileNotFoundError):
        BatchOutput(tmp_path / "job").decide([], "1")
