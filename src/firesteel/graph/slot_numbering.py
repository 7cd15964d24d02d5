"""The slot number of each subtask, which control plane and data plane compute identically."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.graph.job_graph import JobGraph, JobVertex

__all__ = ["SlotSharing", "slot_sharing_name"]


@dataclass(frozen=True, slots=True)
class SlotSharing:
    """The numbered slots of a job: subtask i of every vertex of a group is in slot base(group) + i.

    Flink: `runtime.scheduler.SlotSharingStrategy`. There a subtask of a POINTWISE edge prefers its producer's slot;
    here its slot is fixed, as the data plane requires.

    Attributes:
        slots: Number of slots: the sum over all groups of the largest parallelism in the group.
        base: Slot number of subtask 0 of each vertex, by vertex id.
    """

    slots: int
    base: dict[str, int]

    @classmethod
    def of(cls, job_graph: JobGraph) -> SlotSharing:
        """Number the slots of a job, by group in the order of the JobGraph.

        In BATCH mode each pipelined region has its own group, and several groups have the same name. Here groups of the
        same name are merged: regions that run one after the other do not need separate slots.
        """
        members: dict[str, list[JobVertex]] = {group.name: [] for group in job_graph.slot_sharing_groups}
        for vertex in job_graph.vertices:
            members.setdefault(slot_sharing_name(vertex), []).append(vertex)
        base: dict[str, int] = {}
        slots = 0
        for vertices in members.values():
            base.update((vertex.id, slots) for vertex in vertices)
            slots += max((vertex.parallelism for vertex in vertices), default=0)
        return cls(slots, base)

    def slot_of(self, vertex_id: str, subtask_index: int) -> int:
        """Return the slot number of a subtask."""
        return self.base[vertex_id] + subtask_index


def slot_sharing_name(vertex: JobVertex) -> str:
    """Return the name of a vertex's slot sharing group, or the vertex's id if it has none."""
    return vertex.id if vertex.slot_sharing_group is None else vertex.slot_sharing_group.name
