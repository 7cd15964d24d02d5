"""The committers of a job, made of the sinks in its graph."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.datastream import operator_descriptors as descriptors
from firesteel.datastream.connectors.base import Committer, Sink
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.operators.committables import Committable, SinkCommittables
from firesteel.operators.subtask import described_operators

__all__ = ["Committers", "SinkNotFoundError"]

logger = logging.getLogger(__name__)


class SinkNotFoundError(FiresteelError):
    """There is something to commit, but the job has no such sink; the argument is the id of the sink's writer."""

    def __str__(self) -> str:
        return (
            f"the job has no sink with operator id {self.args[0]}, but a checkpoint has something to commit for it; "
            "keep the sink and its uid, or give up what it has not committed: --allowNonRestoredState"
        )


class Committers:
    """Finds the committer of each sink.

    Committables are written to checkpoints, committers are not: they hold what it takes to reach a database.

    Args:
        job_graph: The job.
    """

    def __init__(self, job_graph: JobGraph) -> None:
        self._sinks = {
            operator_id: sink
            for vertex in job_graph.vertices
            for operator_id, _, descriptor in described_operators(vertex)
            for sink in _sink_of(descriptor)
        }
        self._made: dict[str, Committer] = {}

    def committer(self, sink_id: str) -> Committer:
        """Return the committer of a sink, by the id of its writer: vertex and operator.

        Raises:
            SinkNotFoundError: the job has no such sink.
        """
        operator_id = _operator_id(sink_id)  # In another program it may be in another vertex.
        if operator_id not in self._sinks:
            raise SinkNotFoundError(operator_id)
        if operator_id not in self._made:
            self._made[operator_id] = self._sinks[operator_id].create_committer()
        return self._made[operator_id]

    def without_unknown(self, committables: Sequence[Committable]) -> list[Committable]:
        """Leave out what belongs to sinks that the job does not have, as it leaves out their state, and log it."""
        return [committable for committable in committables if not self._is_unknown(committable)]

    def _is_unknown(self, committable: Committable) -> bool:
        if not isinstance(committable, SinkCommittables) or _operator_id(committable.sink_id) in self._sinks:
            return False
        text = "%d commits of sink %r are given up: the job has no such sink any more"
        logger.warning(text, len(committable.requests), committable.sink_name)
        return True


def _operator_id(sink_id: str) -> str:
    return sink_id.rpartition("/")[2]


def _sink_of(descriptor: Any) -> Iterator[Sink]:
    """Give the two-phase sink of a writer, if the operator is one."""
    if isinstance(descriptor, descriptors.SinkWriterOperator):
        sink = descriptor.sink
    elif isinstance(descriptor, descriptors.SinkFunctionOperator):
        sink = descriptor.function
    else:
        return
    if isinstance(sink, Sink) and sink.is_two_phase():
        yield sink
