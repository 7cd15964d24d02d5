"""Commits after all tasks of a batch succeeded: print lines, commit sinks, deliver elements."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from firesteel.common.closed_output import OutputClosedError
from firesteel.functions.connector_base import Committer
from firesteel.operators.sinks.committables import Committable, carry_out
from firesteel.operators.sinks.committers import Committers

Collect = Callable[[str, list[Any]], None]
"""(collect id, elements)."""


def commit(
    committables: Iterable[Committable], collect: Collect, committers: Committers, keep: Callable[[str], None]
) -> None:
    """Carry out committables: one commit per sink for all its subtasks, then the rest in order.

    Args:
        committables: The committables.
        collect: Delivers elements to clients.
        committers: The committers of the job.
        keep: Called with each printed text, for clients in other processes.

    Raises:
        SinkCommitError: a sink could not commit.
        OutputClosedError: nobody reads standard output any more.
    """
    carry_out(committables, _ThisProcess(collect, committers, keep))
    try:
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise OutputClosedError from error


@dataclass(frozen=True, slots=True)
class _ThisProcess:
    """A driver that prints to standard output."""

    collect: Collect
    committers: Committers
    keep: Callable[[str], None]

    def committer(self, sink_id: str) -> Committer:
        return self.committers.committer(sink_id)

    def print(self, text: str) -> None:
        self.keep(text)
        try:
            sys.stdout.write(text)
        except BrokenPipeError as error:
            raise OutputClosedError from error
