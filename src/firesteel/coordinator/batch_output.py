"""What a BATCH job puts out: decided once, committed by whoever runs the job then, and never computed again."""

from __future__ import annotations

import pickle

from firesteel.common.remote_path import AnyPath, size_of
from firesteel.operators.buffers import pickled
from firesteel.operators.committables import Committable, check
from firesteel.operators.committers import Committers
from firesteel.task.checkpoint_metadata import CheckpointExistsError
from firesteel.task.state_file import publish, read_state_file

_DECISION = "output/_decision"
_DELIVERED = "output/delivered"


class BatchOutput:
    """The decision about the output of a BATCH job, in the job's directory.

    Two executions of a job may divide its output differently among files and transactions. So once one of them has
    begun to commit, no other one may: it goes on with what the first one has decided.

    Args:
        directory: The job's checkpoint directory.
        committers: The job's.
    """

    def __init__(self, directory: AnyPath, committers: Committers) -> None:
        self._directory = directory
        self._committers = committers

    def decided(self) -> list[Committable] | None:
        """Return what was decided, None if nothing was."""
        path = self._directory / _DECISION
        if size_of(path) is None:
            return None
        committables: list[Committable] = pickle.loads(next(read_state_file(path)))
        if size_of(self._directory / _DELIVERED) is not None:
            return [committable for committable in committables if committable.is_durable]
        return committables

    def decide(self, committables: list[Committable], owner: str) -> None:
        """Write down what is to be committed; `owner` names this execution of the job.

        Raises:
            CheckpointExistsError: another JobManager has decided.
            FileNotFoundError: the directory of the job is gone: the job is over.
            SinkCommitError: a sink refuses what it is to commit.
        """
        check(committables, self._committers.committer)
        try:
            publish(self._directory / _DECISION, [pickled(committables)], owner)
        except FileExistsError:
            raise CheckpointExistsError(self._directory / _DECISION) from None

    def delivered(self) -> None:
        """Note that what sinks only show was shown: it is not shown again."""
        (self._directory / _DELIVERED).write_bytes(b"")
