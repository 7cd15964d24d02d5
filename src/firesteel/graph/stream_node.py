"""Nodes and edges of a StreamGraph, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import InvalidProgramError
from firesteel.graph.partitioner import FORWARD_UNSPECIFIED, Partitioner
from firesteel.graph.slot_resources import SlotResources


@dataclass(slots=True)
class StreamEdge:
    """A connection of two nodes (Flink: `api.graph.StreamEdge`).

    Attributes:
        type_number: 0 for the input of a one-input operator, 1 and 2 for the inputs of a two-input operator.
        exchange_mode: `UNDEFINED`, `PIPELINED` or `BATCH`.
        edge_id: Unique id of the edge.
        data_set_id: Id of the persistent result, for an edge into `cache()`.
    """

    source_id: int
    target_id: int
    type_number: int
    partitioner: Partitioner
    exchange_mode: str
    output_tag: str | None
    edge_id: str
    data_set_id: str | None = None


@dataclass(slots=True, eq=False)
class StreamNode:
    """An operator with its settings (Flink: `api.graph.StreamNode`)."""

    id: int
    name: str
    parallelism: int
    description: str | None = None
    parallelism_configured: bool = False
    max_parallelism: int = -1
    slot_sharing_group: str = "default"
    chaining_strategy: str = "ALWAYS"
    yielding: bool = False
    legacy_source: bool = False
    buffer_timeout: int = -1
    uid: str | None = None
    user_hash: str | None = None
    operator: Any = None
    output_type: Any = None
    user_location: str | None = None
    in_edges: list[StreamEdge] = field(default_factory=list)
    out_edges: list[StreamEdge] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name!r} (node {self.id}{f', {self.user_location}' if self.user_location else ''})"


def check_forward(source: StreamNode, target: StreamNode, partitioner: Partitioner) -> None:
    """Check that a FORWARD edge does not change the parallelism.

    Raises:
        InvalidProgramError: it does.
    """
    if partitioner.name == "FORWARD" and source.parallelism != target.parallelism:
        raise InvalidProgramError(
            f"Forward partitioning does not allow change of parallelism: upstream {source} has parallelism "
            f"{source.parallelism}, downstream {target} has {target.parallelism}; use rebalance() or rescale() "
            "in between, or set equal parallelism"
        )


@dataclass(slots=True, eq=False)
class Topology:
    """Operators and their connections: the data of a `StreamGraph`.

    Attributes:
        dynamic: Whether the scheduler decides the parallelism that the program leaves open.
        global_exchange_mode: Exchange mode of edges without their own one, e.g. `ALL_EDGES_PIPELINED`.
        resources: Declared resources by slot sharing group.
        vertex_description_mode: `TREE` or `CASCADING`.
        vertex_name_include_index_prefix: Whether names of vertices begin with their topological position, as in
            `[vertex-0]...`.
        one_default_group: Whether all vertices of group `default` share slots; otherwise each pipelined region is a
            group.
    """

    job_name: str = "Flink Streaming Job"
    job_type: str = "STREAMING"
    dynamic: bool = False
    chaining_enabled: bool = True
    chain_different_max_parallelism: bool = True
    auto_generate_uids: bool = True
    global_exchange_mode: str = "ALL_EDGES_PIPELINED"
    checkpointing_enabled: bool = False
    one_default_group: bool = True
    vertex_description_mode: str = "TREE"
    vertex_name_include_index_prefix: bool = False
    configuration: dict[str, str] = field(default_factory=dict)
    resources: dict[str, SlotResources] = field(default_factory=dict)
    nodes: dict[int, StreamNode] = field(default_factory=dict)
    source_ids: list[int] = field(default_factory=list)
    sink_ids: list[int] = field(default_factory=list)

    def add_node(self, node: StreamNode) -> None:
        """Add a node."""
        self.nodes[node.id] = node

    def add_edge(
        self,
        source_id: int,
        target_id: int,
        type_number: int,
        partitioner: Partitioner | None,
        exchange_mode: str = "UNDEFINED",
        output_tag: str | None = None,
        data_set_id: str | None = None,
    ) -> None:
        """Connect two nodes; the default partitioner is FORWARD for equal parallelism, otherwise REBALANCE.

        Raises:
            InvalidProgramError: a FORWARD edge changes the parallelism.
        """
        source, target = self.nodes[source_id], self.nodes[target_id]
        if partitioner is None:
            partitioner = self._default_partitioner(source, target)
        check_forward(source, target, partitioner)
        # Ids of data sets come from those of edges, and two nodes may be connected twice.
        same = sum(edge.target_id == target_id for edge in source.out_edges)
        edge_id = f"{source.name}-{source_id}_{target.name}-{target_id}_{type_number}_{partitioner.name}_{same}"
        edge = StreamEdge(
            source_id, target_id, type_number, partitioner, exchange_mode, output_tag, edge_id, data_set_id
        )
        source.out_edges.append(edge)
        target.in_edges.append(edge)

    def _default_partitioner(self, source: StreamNode, target: StreamNode) -> Partitioner:
        if source.parallelism != target.parallelism:
            return Partitioner("REBALANCE")
        return FORWARD_UNSPECIFIED if self.dynamic else Partitioner("FORWARD")
