"""The JobGraph: what is submitted. Chains of operators as vertices, data sets between them; plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from firesteel.compat.alias import alias_pyflink, is_pyflink_aliased
from firesteel.graph.job_graph_dict import (
    co_location_groups,
    group_to_dict,
    groups_from_dict,
    vertex_to_dict,
    vertices_from_dict,
)
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
    topological_order,
)
from firesteel.graph.partitioner import DistributionPattern, Partitioner
from firesteel.graph.plan import plan_node
from firesteel.graph.result_partition_type import ResultPartitionType

__all__ = [
    "ARTIFACT",
    "ARTIFACT_DIRECTORY",
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


ARTIFACT = "artifact:"
ARTIFACT_DIRECTORY = ".directory"


@dataclass(slots=True, eq=False)
class JobGraph:
    """What is submitted to a cluster (Flink: `jobgraph.JobGraph`).

    Attributes:
        artifacts: Files that the job brings along, by number and name: `0-data.zip`; its options refer to them as
            `artifact:0-data.zip`. What ends with `.directory` is a tar archive of one.
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
    artifacts: dict[str, bytes] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (is_pyflink_aliased(),), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        state = {name.name: getattr(self, name.name) for name in fields(self)}
        return state | {"vertices": flatten(self.vertices)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, rebuild(value) if name == "vertices" else value)

    def copy(self) -> JobGraph:
        """The same graph with vertices and edges of its own; operators and slot sharing groups are shared."""
        copied = JobGraph.__new__(JobGraph)
        copied.__setstate__(self.__getstate__())
        return copied

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
        """The graph as plain data, without operators and types; ids of cached data sets, which are random, left out.

        The job's id is there once; its plan says `JID`, so that plans of equal programs are equal.
        """
        index = {id(group): i for i, group in enumerate(self.slot_sharing_groups)}
        return {
            "job_id": self.job_id,
            "name": self.name,
            "job_type": self.job_type,
            "dynamic": self.dynamic,
            "maximum_parallelism": max((vertex.parallelism for vertex in self.vertices), default=-1),
            "configuration": dict(self.configuration),
            "vertices": [vertex_to_dict(vertex, index.get(id(vertex.slot_sharing_group))) for vertex in self.vertices],
            "vertices_insertion_order": list(self.insertion_order),
            "slot_sharing_groups": [group_to_dict(i, group) for i, group in enumerate(self.slot_sharing_groups)],
            "co_location_groups": co_location_groups(self.vertices),
            "plan": self.plan("JID"),
        }

    def plan(self, job_id: str | None = None) -> dict[str, Any]:
        """The plan as REST shows it."""
        vertices = {vertex.id: vertex for vertex in self.vertices}
        nodes = [plan_node(vertices[vertex_id]) for vertex_id in self.insertion_order]
        return {"jid": job_id or self.job_id, "name": self.name, "type": self.job_type, "nodes": nodes}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> JobGraph:
        """The graph that `to_dict` described, or one recorded of Flink's own (without operators).

        Raises:
            InvalidProgramError: a vertex is in an unknown slot sharing group, or vertices feed each other.
            KeyError: something of a job graph is missing.
        """
        vertices = topological_order(vertices_from_dict(data))
        return JobGraph(
            data.get("job_id") or data["plan"]["jid"],
            data["name"],
            data["job_type"],
            data["dynamic"],
            dict(data.get("configuration", {})),
            vertices,
            groups_from_dict(data, vertices),
            list(data["vertices_insertion_order"]),
        )


def _unpickled(pyflink_aliased: bool) -> JobGraph:
    """An empty graph, made before its contents are read: they may lead to modules that import PyFlink's names."""
    if pyflink_aliased:
        alias_pyflink()
    return JobGraph.__new__(JobGraph)
