"""Slot sharing strategies by name, which decide which subtasks share a slot.

Why: `docs/decisions/0005-slots-without-preferred-locations.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from firesteel.common.options.option import InvalidOptionError
from firesteel.graph.slot_numbering import SlotSharing
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.scheduler.local_input_preferred import local_input_preferred

__all__ = ["SLOT_SHARING_STRATEGIES", "SharedSlots", "SlotNumbering", "slot_numbering"]


class SlotNumbering(Protocol):
    """The numbers of the subtasks' slots."""

    @property
    def slots(self) -> int:
        """The number of slots that the job needs."""
        ...

    def slot_of(self, vertex_id: str, subtask_index: int) -> int:
        """Return the number of a subtask's slot."""
        ...


@dataclass(frozen=True, slots=True)
class SharedSlots:
    """Slots determined per subtask. Flink: `runtime.scheduler.ExecutionSlotSharingGroup`, all of a job.

    Attributes:
        slots: Number of slots.
        numbers: Vertex id -> the slot of each of its subtasks.
    """

    slots: int
    numbers: Mapping[str, list[int]]

    def slot_of(self, vertex_id: str, subtask_index: int) -> int:
        """Return the number of a subtask's slot."""
        return self.numbers[vertex_id][subtask_index]


def _local_input_preferred(graph: ExecutionGraph) -> SlotNumbering:
    groups = local_input_preferred(graph)
    numbers = {vertex.id: [0] * vertex.parallelism for vertex in graph.job_vertices.values()}
    for number, group in enumerate(groups):
        for subtask in group.subtasks:
            numbers[subtask.job_vertex.id][subtask.subtask_index] = number
    return SharedSlots(len(groups), numbers)


def _numbered(graph: ExecutionGraph) -> SlotNumbering:
    return SlotSharing.of(graph.job_graph)


def _any(graph: ExecutionGraph) -> None:
    return None


SLOT_SHARING_STRATEGIES: dict[str, Callable[[ExecutionGraph], SlotNumbering | None]] = {
    "numbered": _numbered,
    "local-input-preferred": _local_input_preferred,
    "location-preferred": _any,
}
"""Slot sharing strategies by name.

`numbered`: subtask i of every vertex of a group is in slot base(group) + i, as required by a data plane with
partitions.
`local-input-preferred`: as Flink since 1.12. `location-preferred`: decided by the SlotProvider when a slot is
requested, by location, as Flink up to 1.11.
"""


def slot_numbering(graph: ExecutionGraph, strategy: str) -> SlotNumbering | None:
    """Return the slots of a job according to a strategy; None if it decides when slots are requested.

    Raises:
        InvalidOptionError: there is no such strategy.
    """
    build = SLOT_SHARING_STRATEGIES.get(strategy)
    if build is None:
        raise InvalidOptionError(
            f"no slot sharing strategy {strategy!r}; there are {', '.join(SLOT_SHARING_STRATEGIES)}"
        )
    return build(graph)
