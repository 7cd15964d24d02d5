"""Vertices of a JobGraph and the data sets between them, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import InvalidProgramError
from firesteel.graph.partitioner import DistributionPattern, Partitioner
from firesteel.graph.result_partition_type import ResultPartitionType
from firesteel.graph.slot_resources import SlotResources

JobVertexID = str
OperatorID = str
IntermediateDataSetID = str


@dataclass(frozen=True, slots=True)
class ChainedOutput:
    """An edge inside a chain."""

    target_node_id: int
    type_number: int
    output_tag: str | None


@dataclass(frozen=True, slots=True)
class NonChainedOutput:
    """An output that leaves the vertex; there is one per produced data set."""

    data_set_id: IntermediateDataSetID
    output_tag: str | None


@dataclass(slots=True, eq=False)
class ChainedOperator:
    """An operator of a vertex.

    Attributes:
        chain_index: Position in the chain; 1 for the head.
        operator: Descriptor of the operator, which is opaque here.
        uid: The uid set by the program.
        user_hash: The operator id set by the program with `set_uid_hash`.
        user_location: `file.py:12` of the API call that created it.
    """

    node_id: int
    operator_id: OperatorID
    name: str
    chain_index: int
    operator: Any = None
    output_type: Any = None
    chained_outputs: tuple[ChainedOutput, ...] = ()
    outputs: tuple[NonChainedOutput, ...] = ()
    user_location: str | None = None
    uid: str | None = None
    user_hash: str | None = None

    @property
    def given_id(self) -> str | None:
        """The uid or id that the program has set; without one the id depends on the operator's place in the graph."""
        return self.uid or self.user_hash


@dataclass(slots=True, eq=False)
class SlotSharingGroup:
    """Vertices whose subtasks may share slots."""

    name: str
    vertex_ids: list[JobVertexID] = field(default_factory=list)
    resource_profile: SlotResources | None = None


@dataclass(frozen=True, slots=True)
class ParallelismBounds:
    """The smallest and the largest parallelism of a vertex; the largest is used if there are enough slots.

    Flink: `jobgraph.JobVertexResourceRequirements.Parallelism`.
    """

    lower: int
    upper: int


@dataclass(slots=True, eq=False)
class JobVertex:
    """A chain of operators that run together (Flink: `jobgraph.JobVertex`).

    Attributes:
        parallelism: Number of subtasks; -1 leaves it to the scheduler.
        max_parallelism: Number of key groups; -1 if it is not set.
        chain: Its operators, head first.
        operator_order: Node ids of the chain in Flink's order: tails first, head last.
        input_split_source: Opaque source of input splits; None for vertices of the DataStream API.
        description: The tree of its operators' descriptions.
        min_resources: Declared resources of its operators. None if they are unknown, as for the DataStream API, where
            slot sharing groups declare resources.
    """

    id: JobVertexID
    name: str
    parallelism: int = -1
    max_parallelism: int = -1
    chain: list[ChainedOperator] = field(default_factory=list)
    inputs: list[JobEdge] = field(default_factory=list)
    produced_data_sets: list[IntermediateDataSet] = field(default_factory=list)
    slot_sharing_group: SlotSharingGroup | None = None
    co_location_group_index: int | None = None
    input_split_source: Any = None
    operator_order: list[int] = field(default_factory=list)
    description: str = ""
    min_resources: object = None

    @property
    def is_input_vertex(self) -> bool:
        """Whether it has no inputs."""
        return not self.inputs

    @property
    def is_output_vertex(self) -> bool:
        """Whether it has no outputs."""
        return not self.produced_data_sets

    def __repr__(self) -> str:
        return f"JobVertex({self.name!r}, {self.id})"


@dataclass(slots=True, eq=False)
class IntermediateDataSet:
    """The output of a vertex for some consumers."""

    id: IntermediateDataSetID
    producer: JobVertex
    result_type: ResultPartitionType
    distribution_pattern: DistributionPattern
    consumers: list[JobEdge] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"IntermediateDataSet({self.id} of {self.producer.name!r})"


@dataclass(slots=True, eq=False)
class JobEdge:
    """An input of a vertex: a data set and its distribution over the subtasks."""

    source: IntermediateDataSet
    target: JobVertex
    type_number: int
    partitioner: Partitioner
    distribution_pattern: DistributionPattern
    ship_strategy: str
    source_node_id: int
    target_node_id: int
    output_tag: str | None = None
    not_chained_because: str = ""

    @property
    def is_broadcast(self) -> bool:
        """Whether every subtask receives every element."""
        return self.partitioner.name == "BROADCAST"

    @property
    def is_forward(self) -> bool:
        """Whether subtask i reads from subtask i only."""
        return self.partitioner.name == "FORWARD"

    def __repr__(self) -> str:
        return f"JobEdge({self.source.producer.name!r} -> {self.target.name!r}, {self.ship_strategy})"


def topological_order(vertices: Iterable[JobVertex]) -> list[JobVertex]:
    """Return the vertices, sources first, in Flink's order (`JobGraph.getVerticesSortedTopologicallyFromSources`).

    The run time is linear in vertices and edges.

    Raises:
        InvalidProgramError: the graph is cyclic.
    """
    open_inputs = {vertex: len(vertex.inputs) for vertex in vertices}
    ordered = [vertex for vertex, inputs in open_inputs.items() if not inputs]
    for vertex in ordered:
        _close_inputs_behind(vertex, open_inputs)
    sorted_already = set(ordered)
    for start in ordered:  # grows during the iteration
        _append_ready_consumers(start, ordered, sorted_already, open_inputs)
    if len(ordered) < len(open_inputs):
        names = ", ".join(repr(vertex.name) for vertex in open_inputs if vertex not in sorted_already)
        raise InvalidProgramError(f"The job graph is cyclic: {names} feed each other or are fed by those that do")
    return ordered


def _consumers(vertex: JobVertex) -> Iterator[JobVertex]:
    return (edge.target for data_set in vertex.produced_data_sets for edge in data_set.consumers)


def _close_inputs_behind(vertex: JobVertex, open_inputs: dict[JobVertex, int]) -> None:
    for consumer in _consumers(vertex):
        open_inputs[consumer] -= 1


def _append_ready_consumers(
    start: JobVertex, ordered: list[JobVertex], sorted_already: set[JobVertex], open_inputs: dict[JobVertex, int]
) -> None:
    """Append consumers depth first, with an explicit stack: paths may exceed Python's recursion limit."""
    stack = [_consumers(start)]
    while stack:
        target = next(stack[-1], None)
        if target is None:
            stack.pop()
        elif target not in sorted_already and not open_inputs[target]:
            ordered.append(target)
            sorted_already.add(target)
            _close_inputs_behind(target, open_inputs)
            stack.append(_consumers(target))
