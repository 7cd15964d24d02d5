"""The output of a BATCH job: decided once, then committed by whichever JobManager leads, and never recomputed."""

from __future__ import annotations

from firesteel.common.encoding import encoded
from firesteel.common.encoding.program_values import program_value
from firesteel.common.files.remote_path import AnyPath, size_of
from firesteel.operators.sinks.committables import Committable, check
from firesteel.operators.sinks.committers import Committers
from firesteel.task.checkpoint_metadata import CheckpointExistsError
from firesteel.task.state_file import publish, read_state_file
from firesteel.task.state_seal import UNSEALED, StateSeal

_DECISION = "output/_decision"
_DELIVERED = "output/delivered"


class BatchOutput:
    """The decision about the output of a BATCH job, stored in the job's directory.

    Two executions of a job may divide its output differently among files and transactions. So once one of them has
    begun to commit, any other must continue with the decision of the first.

    Args:
        directory: The job's checkpoint directory.
        committers: The committers of the job.
        seal: Signs and verifies the decision, which holds elements of users as pickles.
    """

    def __init__(self, directory: AnyPath, committers: Committers, seal: StateSeal = UNSEALED) -> None:
        self._seal = seal
        self._directory = directory
        self._committers = committers

    def decided(self) -> list[Committable] | None:
        """Return the decided committables, or None if nothing was decided."""
        path = self._directory / _DECISION
        if size_of(path) is None:
            return None
        [content] = read_state_file(path, self._seal)
        committables: list[Committable] = program_value(content)
        # Durable commits are idempotent and are repeated; lines that were printed are not.
        if size_of(self._directory / _DELIVERED) is not None:
            return [committable for committable in committables if committable.is_durable]
        return committables

    def decide(self, committables: list[Committable], owner: str) -> None:
        """Record the committables durably; `owner` names this execution of the job.

        Raises:
            CheckpointExistsError: another JobManager has already decided.
            FileNotFoundError: the directory of the job is gone, so the job has ended.
            SinkCommitError: a sink rejects its committables.
        """
        check(committables, self._committers.committer)
        try:
            publish(self._directory / _DECISION, [encoded(committables)], owner, self._seal)
        except FileExistsError:
            raise CheckpointExistsError(self._directory / _DECISION) from None

    def delivered(self) -> None:
        """Record that printed and collected output was delivered, so that it is not repeated."""
        (self._directory / _DELIVERED).write_bytes(b"")
