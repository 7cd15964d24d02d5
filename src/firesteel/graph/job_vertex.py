"""Vertices of a JobGraph and the data sets between them; plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import InvalidProgramError
from firesteel.graph.partitioner import DistributionPattern, Partitioner
from firesteel.graph.result_partition_type import ResultPartitionType

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
    """An output that leaves the vertex; one per produced data set."""

    data_set_id: IntermediateDataSetID
    output_tag: str | None


@dataclass(slots=True, eq=False)
class ChainedOperator:
    """One operator of a vertex.

    Attributes:
        chain_index: 1 for the head of the chain.
        operator: The descriptor that says what runs; opaque here.
        uid: What the program set.
        user_hash: The operator id that the program set by `set_uid_hash`.
        user_location: `file.py:12` of the API call that made it.
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


@dataclass(slots=True, eq=False)
class SlotSharingGroup:
    """Vertices whose subtasks may share slots."""

    name: str
    vertex_ids: list[JobVertexID] = field(default_factory=list)
    resource_profile: Any = None


@dataclass(slots=True, eq=False)
class JobVertex:
    """A chain of operators that run together (Flink: `jobgraph.JobVertex`).

    Attributes:
        parallelism: -1 leaves it to the scheduler.
        max_parallelism: -1 if not set.
        chain: Its operators, head first.
        operator_order: Node ids of the chain in Flink's order: tails first, head last.
        input_split_source: What cuts its input into splits; opaque, None for all that the DataStream API makes.
        description: The tree of its operators' descriptions.
        min_resources: What its operators declared to need; None: unknown, as always from the DataStream API, whose slot
            sharing groups declare theirs apart.
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
    min_resources: Any = None

    @property
    def is_input_vertex(self) -> bool:
        """True without inputs."""
        return not self.inputs

    @property
    def is_output_vertex(self) -> bool:
        """True without outputs."""
        return not self.produced_data_sets

    def __repr__(self) -> str:
        return f"JobVertex({self.name!r}, {self.id})"


@dataclass(slots=True, eq=False)
class IntermediateDataSet:
    """What a vertex produces for some consumers."""

    id: IntermediateDataSetID
    producer: JobVertex
    result_type: ResultPartitionType
    distribution_pattern: DistributionPattern
    consumers: list[JobEdge] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"IntermediateDataSet({self.id} of {self.producer.name!r})"


@dataclass(slots=True, eq=False)
class JobEdge:
    """A vertex's input: a data set and how it is spread over the subtasks."""

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
        """True if every subtask gets every element."""
        return self.partitioner.name == "BROADCAST"

    @property
    def is_forward(self) -> bool:
        """True if subtask i reads from subtask i only."""
        return self.partitioner.name == "FORWARD"

    def __repr__(self) -> str:
        return f"JobEdge({self.source.producer.name!r} -> {self.target.name!r}, {self.ship_strategy})"


def topological_order(vertices: Iterable[JobVertex]) -> list[JobVertex]:
    """The vertices, sources first, in Flink's order (`JobGraph.getVerticesSortedTopologicallyFromSources`).

    Linear in vertices and edges.

    Raises:
        InvalidProgramError: there is a cycle.
    """
    open_inputs = {vertex: len(vertex.inputs) for vertex in vertices}
    ordered = [vertex for vertex, inputs in open_inputs.items() if not inputs]
    for vertex in ordered:
        _close_inputs_behind(vertex, open_inputs)
    sorted_already = set(ordered)
    for start in ordered:  # grows meanwhile
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
    """Depth first, with a stack of its own: chains of vertices may be longer than Python's recursion limit."""
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
