"""The JobGraph: what is submitted. Chains of operators as vertices, data sets between them; plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from firesteel.graph.job_graph_dict import vertex_to_dict, vertices_from_dict
from firesteel.graph.job_graph_state import flatten, rebuild
from firesteel.graph.job_vertex import (
    ChainedOperator,
    ChainedOutput,
    IntermediateDataSet,
    IntermediateDataSetID,
    JobEdge,
    JobVertex,
    JobVertexID,
    NonChainedOutput,
    OperatorID,
    SlotSharingGroup,
)
from firesteel.graph.partitioner import DistributionPattern, Partitioner
from firesteel.graph.plan import plan_node
from firesteel.graph.result_partition_type import ResultPartitionType

__all__ = [
    "ChainedOperator",
    "ChainedOutput",
    "DistributionPattern",
    "IntermediateDataSet",
    "IntermediateDataSetID",
    "JobEdge",
    "JobGraph",
    "JobVertex",
    "JobVertexID",
    "NonChainedOutput",
    "OperatorID",
    "Partitioner",
    "ResultPartitionType",
    "SlotSharingGroup",
]


@dataclass(slots=True, eq=False)
class JobGraph:
    """What is submitted to a cluster (Flink: `jobgraph.JobGraph`).

    Attributes:
        vertices: In topological order.
        insertion_order: Ids of the vertices in the order in which they were made (consumers first).
    """

    job_id: str
    name: str
    job_type: str = "STREAMING"
    dynamic: bool = False
    configuration: dict[str, str] = field(default_factory=dict)
    vertices: list[JobVertex] = field(default_factory=list)
    slot_sharing_groups: list[SlotSharingGroup] = field(default_factory=list)
    insertion_order: list[JobVertexID] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        state = {name.name: getattr(self, name.name) for name in fields(self)}
        return state | {"vertices": flatten(self.vertices)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, rebuild(value) if name == "vertices" else value)

    def get_vertex(self, vertex_id: JobVertexID) -> JobVertex:
        """The vertex of that id.

        Raises:
            KeyError: there is none.
        """
        for vertex in self.vertices:
            if vertex.id == vertex_id:
                return vertex
        raise KeyError(f"Job {self.name!r} has no vertex {vertex_id}; it has {[v.id for v in self.vertices]}")

    def to_dict(self) -> dict[str, Any]:
        """The graph as plain data, without operators and types.

        What is random (the job's id in the plan, ids of cached data sets) is replaced by a fixed text, so that equal
        programs give equal dicts.
        """
        return {
            "name": self.name,
            "job_type": self.job_type,
            "dynamic": self.dynamic,
            "maximum_parallelism": max((vertex.parallelism for vertex in self.vertices), default=-1),
            "vertices": [vertex_to_dict(vertex) for vertex in self.vertices],
            "vertices_insertion_order": list(self.insertion_order),
            "slot_sharing_groups": [
                {"name": group.name, "vertices": list(group.vertex_ids)} for group in self.slot_sharing_groups
            ],
            "plan": self.plan("JID"),
        }

    def plan(self, job_id: str | None = None) -> dict[str, Any]:
        """The plan as REST shows it."""
        vertices = {vertex.id: vertex for vertex in self.vertices}
        nodes = [plan_node(vertices[vertex_id]) for vertex_id in self.insertion_order]
        return {"jid": job_id or self.job_id, "name": self.name, "type": self.job_type, "nodes": nodes}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> JobGraph:
        """The graph that `to_dict` described (without operators)."""
        vertices = vertices_from_dict(data)
        groups = [SlotSharingGroup(group["name"], list(group["vertices"])) for group in data["slot_sharing_groups"]]
        for group in groups:
            for vertex_id in group.vertex_ids:
                vertices[vertex_id].slot_sharing_group = group
        return JobGraph(
            data["plan"]["jid"],
            data["name"],
            data["job_type"],
            data["dynamic"],
            {},
            list(vertices.values()),
            groups,
            list(data["vertices_insertion_order"]),
        )
