"""The committers of a job, created from the sinks and sources in its job graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from firesteel.common.closing import close_all
from firesteel.common.unchanged import unchanged
from firesteel.errors import FiresteelError
from firesteel.functions import operator_descriptors as descriptors
from firesteel.functions.connector_base import Committer, Sink
from firesteel.graph.job_graph import JobGraph, JobVertex
from firesteel.operators.chain.subtask import described_operators
from firesteel.operators.completed import completed
from firesteel.operators.sinks.committables import Committable, SinkCommittables
from firesteel.operators.sources.described_source import is_of_source, source_committer_id, source_of

__all__ = ["Committers", "SinkNotFoundError"]

logger = logging.getLogger(__name__)


class SinkNotFoundError(FiresteelError):
    """A committable belongs to a sink that the job does not have; the argument is the id of the sink's writer."""

    def __str__(self) -> str:
        return (
            f"the job has no sink with operator id {self.args[0]}, but a checkpoint has something to commit for it; "
            "keep the sink and its uid, or discard what it has not committed: --allowNonRestoredState"
        )


class Committers:
    """The committers of all sinks of a job.

    Committables are written to checkpoints. Committers are not, because they hold connection data such as passwords.

    Args:
        job_graph: The job.
        options: The options that the job runs with.
    """

    def __init__(self, job_graph: JobGraph, options: Mapping[str, str]) -> None:
        self._configuration = options
        self._make: dict[str, Callable[[], Committer]] = {}
        for vertex in job_graph.vertices:
            for operator_id, _, descriptor in described_operators(vertex):
                self._make.update((operator_id, sink.create_committer) for sink in _sink_of(descriptor))
            if not vertex.inputs:
                self._make |= _of_source(vertex, options)
        self._made: dict[str, Committer] = {}

    def committer(self, sink_id: str) -> Committer:
        """Return the committer of a sink by the id of its writer (vertex and operator).

        Raises:
            SinkNotFoundError: the job has no such sink.
        """
        known = _known_as(sink_id)
        if known not in self._make:
            raise SinkNotFoundError(known)
        # Made at the first use: a driver of the database may be missing here, and connecting takes time.
        if known not in self._made:
            make = self._make[known]
            committer = self._made[known] = completed(make(), Committer, make)
            committer.configure(self._configuration)
        return self._made[known]

    @property
    def have_own_types(self) -> bool:
        """Whether a committer of the job has committables of classes that firesteel does not know."""
        return not all(self.committer(sink_id).commits_data for sink_id in self._make)

    def close(self) -> None:
        """Close the committers that were used."""
        close_all(self._made.values())

    def without_unknown(self, committables: Sequence[Committable]) -> list[Committable]:
        """Return the committables without those of sinks that the job does not have, and log what was dropped."""
        return [committable for committable in committables if not self._is_unknown(committable)]

    def _is_unknown(self, committable: Committable) -> bool:
        if not isinstance(committable, SinkCommittables) or _known_as(committable.sink_id) in self._make:
            return False
        text = "%d commits of sink %r are discarded: the job no longer has this sink"
        logger.warning(text, len(committable.requests), committable.sink_name)
        return True


def _known_as(sink_id: str) -> str:
    """Return the part of a sink id that is stable across programs, where a sink may belong to another vertex."""
    return sink_id if is_of_source(sink_id) else sink_id.rpartition("/")[2]


def _of_source(vertex: JobVertex, configuration: Mapping[str, str]) -> dict[str, Callable[[], Committer]]:
    """Return a factory of the committer for each part of a source that has one."""
    return {
        source_committer_id(operator_id, index): partial(unchanged, committer)
        for operator_id, _, descriptor in described_operators(vertex)[:1]
        for index, part in enumerate(source_of(descriptor).in_sequence())
        if (committer := part.create_position_committer(configuration)) is not None
    }


def _sink_of(descriptor: object) -> Iterator[Sink[object]]:
    """Yield the two-phase sink of a writer, if the operator is one."""
    if isinstance(descriptor, descriptors.SinkWriterOperator):
        sink = descriptor.sink
    elif isinstance(descriptor, descriptors.SinkFunctionOperator):
        sink = descriptor.function
    else:
        return
    if isinstance(sink, Sink) and sink.is_two_phase():
        yield sink
