"""Which slot of the job each subtask is in: counted alike by control plane and data plane."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.graph.job_graph import JobGraph, JobVertex

__all__ = ["SlotSharing", "slot_sharing_name"]


@dataclass(frozen=True, slots=True)
class SlotSharing:
    """The job's slots, numbered: subtask i of every vertex of a group is in slot base(group) + i.

    Flink: `runtime.scheduler.SlotSharingStrategy`; there a subtask of a POINTWISE edge prefers its producer's slot,
    here its place is fixed, as the data plane needs it.

    Attributes:
        slots: S, the sum over the groups of the largest parallelism in the group.
        base: Vertex id -> number of the slot of its subtask 0.
    """

    slots: int
    base: dict[str, int]

    @classmethod
    def of(cls, job_graph: JobGraph) -> SlotSharing:
        """Number the slots of a job, group after group in the order of the JobGraph.

        In BATCH mode each pipelined region has a group of its own, several of the same name. Here those of a name are
        one: regions that run one after the other need no slots beside each other.
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
        """The number of a subtask's slot."""
        return self.base[vertex_id] + subtask_index


def slot_sharing_name(vertex: JobVertex) -> str:
    """The name of the group whose slots a vertex shares; its own id if it shares none."""
    return vertex.id if vertex.slot_sharing_group is None else vertex.slot_sharing_group.name
