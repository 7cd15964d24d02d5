"""The JobGraph, which is submitted to a cluster: chains of operators as vertices, with data sets between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

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
    ParallelismBounds,
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
    "ParallelismBounds",
    "Partitioner",
    "ResultPartitionType",
    "SlotSharingGroup",
]


ARTIFACT = "artifact:"
ARTIFACT_DIRECTORY = ".directory"


@dataclass(slots=True, eq=False)
class JobGraph:
    """A job to submit to a cluster (Flink: `jobgraph.JobGraph`).

    Attributes:
        job_id: Id of the job.
        name: Name of the job.
        job_type: `STREAMING` or `BATCH`.
        dynamic: Whether the scheduler decides the parallelism that the program leaves open.
        configuration: Configuration of the job.
        vertices: The vertices in topological order.
        slot_sharing_groups: The slot sharing groups.
        insertion_order: Ids of the vertices in the order of creation (consumers first).
        artifacts: Files of the job by number and name, such as `0-data.zip`. Options refer to them as
            `artifact:0-data.zip`. A name that ends with `.directory` is a tar archive of a directory.
        resource_requirements: The bounds of the parallelism of each vertex, set while it ran; empty: the program's.
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
    resource_requirements: dict[JobVertexID, ParallelismBounds] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, tuple(PROCESS_SETUPS), self.__getstate__()

    def __getstate__(self) -> dict[str, object]:
        state = {name.name: getattr(self, name.name) for name in fields(self)}
        return state | {"vertices": flatten(self.vertices)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.resource_requirements = {}  # A job that an earlier version stored has none.
        for name, value in state.items():
            setattr(self, name, rebuild(value) if name == "vertices" else value)

    def copy(self) -> JobGraph:
        """Return a copy with its own vertices and edges; operators and slot sharing groups are shared."""
        copied = JobGraph.__new__(JobGraph)
        copied.__setstate__(self.__getstate__())
        return copied

    def to_dict(self) -> dict[str, object]:
        """Return the graph as plain data, without operators and types.

        The random ids of cached data sets are omitted. The plan contains `JID` instead of the job id, so that the plans
        of equal programs are equal.
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
        """Return the plan as in the REST API."""
        vertices = {vertex.id: vertex for vertex in self.vertices}
        nodes = [plan_node(vertices[vertex_id]) for vertex_id in self.insertion_order]
        return {"jid": job_id or self.job_id, "name": self.name, "type": self.job_type, "nodes": nodes}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> JobGraph:
        """Return the graph of `to_dict`, or of a recording of Flink's graph, without operators.

        Raises:
            InvalidProgramError: a vertex is in an unknown slot sharing group, or the graph is cyclic.
            KeyError: a part of the graph is missing.
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


PROCESS_SETUPS: list[Callable[[], None]] = []
"""Functions that were called in this process, and must be in each that unpickles a job graph, before its contents: they
may import modules that in turn import PyFlink's names."""


def _unpickled(*setups: Callable[[], None]) -> JobGraph:
    """Return an empty graph, before its contents are unpickled."""
    for setup in setups:
        setup()
    return JobGraph.__new__(JobGraph)
