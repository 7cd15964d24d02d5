"""Translation of a StreamGraph to a JobGraph (Flink: `StreamingJobGraphGenerator`)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from firesteel.errors import InvalidProgramError
from firesteel.graph.chaining import Chaining
from firesteel.graph.hashing import data_set_id, operator_hashes
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.job_vertex import (
    ChainedOperator,
    ChainedOutput,
    IntermediateDataSet,
    JobEdge,
    JobVertex,
    NonChainedOutput,
    topological_order,
)
from firesteel.graph.partitioner import RESCALE, Partitioner
from firesteel.graph.plan import DESCRIPTION_MODES, chain_name
from firesteel.graph.result_partition_type import ResultPartitionType
from firesteel.graph.slot_sharing import assign_slot_sharing_groups
from firesteel.graph.stream_node import StreamEdge, StreamNode, Topology

_EXCHANGE_MODES = {"PIPELINED": ResultPartitionType.PIPELINED_BOUNDED, "BATCH": ResultPartitionType.BLOCKING}
_GLOBAL_MODES = {
    "ALL_EDGES_PIPELINED": ResultPartitionType.PIPELINED_BOUNDED,
    "ALL_EDGES_BLOCKING": ResultPartitionType.BLOCKING,
    "ALL_EDGES_HYBRID_FULL": ResultPartitionType.HYBRID_FULL,
    "ALL_EDGES_HYBRID_SELECTIVE": ResultPartitionType.HYBRID_SELECTIVE,
}


def create_job_graph(graph: Topology) -> JobGraph:
    """Return the JobGraph of a StreamGraph.

    Raises:
        InvalidProgramError: there are no operators, or uids collide or are missing.
    """
    if not graph.nodes:
        raise InvalidProgramError("No operators defined in streaming topology. Cannot execute.")
    builder = _Builder(graph)
    builder.build()
    job_graph = JobGraph(
        uuid.uuid4().hex,
        graph.job_name,
        graph.job_type,
        graph.dynamic,
        dict(graph.configuration),
        topological_order(builder.vertices.values()),
        insertion_order=list(builder.vertices),
    )
    if graph.vertex_name_include_index_prefix:
        for index, vertex in enumerate(job_graph.vertices):
            vertex.name = f"[vertex-{index}]{vertex.name}"
    assign_slot_sharing_groups(job_graph, graph, {v.id: n for n, v in builder.by_head.items()})
    return job_graph


@dataclass
class _Chain:
    """A chain under construction: nodes in Flink's order (tails first), their depths, and the outgoing edges."""

    nodes: list[StreamNode] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)
    leaving: list[StreamEdge] = field(default_factory=list)


class _Builder:
    def __init__(self, graph: Topology) -> None:
        self.graph = graph
        self.chaining = Chaining(graph)
        self.hashes = operator_hashes(graph, self.chaining)
        self.vertices: dict[str, JobVertex] = {}
        self.by_head: dict[int, JobVertex] = {}
        self._heads: dict[int, int] = {}
        self._chains: dict[int, _Chain] = {}

    def build(self) -> None:
        """Create the vertices, consumers first, then connect them."""
        for source_id in sorted(self.graph.source_ids):
            self._visit(source_id)
        self._unify_forward_groups()
        self._check_hybrid_shuffle()
        for head_id in self.by_head:
            self._connect(head_id)

    # --- chains to vertices ------------------------------------------------------------------------------------------

    def _visit(self, start_id: int) -> None:
        """Create the vertices of a head and of everything downstream, in post-order.

        This is iterative, because programs may be long.
        """
        pending: list[tuple[int, bool]] = [(start_id, False)]
        while pending:
            head_id, explored = pending.pop()
            if explored:
                self._create_vertex(head_id)
            elif head_id not in self._chains:
                chain = self._collect(head_id)
                self._chains[head_id] = chain
                pending.append((head_id, True))
                pending.extend((edge.target_id, False) for edge in reversed(chain.leaving))

    def _collect(self, head_id: int) -> _Chain:
        chain = _Chain()
        self._extend(chain, self.graph.nodes[head_id])
        for node in chain.nodes:
            self._heads[node.id] = head_id
        return chain

    def _extend(self, chain: _Chain, head: StreamNode) -> None:
        """Add the nodes after a head, depth first; an outgoing edge is added when its source is complete."""
        pending = [(head, iter(self._chained_targets(head.id)))]
        chain.index[head.id] = 1
        while pending:
            node, targets = pending[-1]
            target = next(targets, None)
            if target is not None:
                chain.index[target] = chain.index[node.id] + 1
                pending.append((self.graph.nodes[target], iter(self._chained_targets(target))))
                continue
            pending.pop()
            chain.leaving.extend(edge for edge in node.out_edges if not self.chaining.is_chainable(edge))
            chain.nodes.append(node)

    def _create_vertex(self, head_id: int) -> None:
        chain, head = self._chains[head_id], self.graph.nodes[head_id]
        operators = sorted(chain.nodes, key=lambda node: (chain.index[node.id], node.id))
        order = [node.id for node in chain.nodes]
        is_configured = any(node.parallelism_configured for node in chain.nodes)
        describe = DESCRIPTION_MODES[self.graph.vertex_description_mode]
        vertex = JobVertex(
            self.hashes[head_id],
            chain_name(order, self._name, self._chained_targets),
            head.parallelism if not self.graph.dynamic or is_configured else -1,
            head.max_parallelism,
            [self._chained_operator(node, chain.index[node.id]) for node in operators],
            operator_order=order,
            description=describe(order, self._description, self._chained_targets),
        )
        self.vertices[vertex.id] = vertex
        self.by_head[head_id] = vertex

    def _chained_operator(self, node: StreamNode, index: int) -> ChainedOperator:
        return ChainedOperator(
            node.id,
            self.hashes[node.id],
            node.name,
            index,
            node.operator,
            node.output_type,
            tuple(
                ChainedOutput(edge.target_id, edge.type_number, edge.output_tag)
                for edge in node.out_edges
                if self.chaining.is_chainable(edge)
            ),
            user_location=node.user_location,
            uid=node.uid,
            user_hash=node.user_hash,
        )

    def _chained_targets(self, node_id: int) -> list[int]:
        edges = self.graph.nodes[node_id].out_edges
        return [edge.target_id for edge in edges if self.chaining.is_chainable(edge)]

    def _description(self, node_id: int) -> str:
        node = self.graph.nodes[node_id]
        return node.description or node.name

    def _name(self, node_id: int) -> str:
        return self.graph.nodes[node_id].name

    # --- parallelism -------------------------------------------------------------------------------------------------

    def _unify_forward_groups(self) -> None:
        """In a dynamic job, unify the parallelism of vertices connected by FORWARD: a configured one applies to all.

        Their maximum parallelism is unified, too: the smallest one that is set applies.
        """
        if not self.graph.dynamic:
            return
        for _ in self.by_head:  # at most one round per vertex until nothing changes
            changed = [self._spread_parallelism(head_id) for head_id in self.by_head]
            if not any(changed):
                return

    def _spread_parallelism(self, head_id: int) -> bool:
        changed = False
        vertex = self.by_head[head_id]
        for edge in self._chains[head_id].leaving:
            target = self.by_head[self._heads[edge.target_id]]
            if self._partitioner(edge).name != "FORWARD":
                continue
            limits = [limit for limit in (vertex.max_parallelism, target.max_parallelism) if limit > 0]
            unified = max(vertex.parallelism, target.parallelism), min(limits, default=-1)
            for one in (vertex, target):
                changed |= unified != (one.parallelism, one.max_parallelism)
                one.parallelism, one.max_parallelism = unified
        return changed

    def _check_hybrid_shuffle(self) -> None:
        if "HYBRID" not in self.graph.global_exchange_mode:
            return
        groups = {node.slot_sharing_group for node in self.graph.nodes.values()} - {"default"}
        if groups:
            raise InvalidProgramError(
                "hybrid shuffle mode currently does not support setting non-default slot sharing group, "
                f"found {', '.join(sorted(groups))}"
            )

    # --- data sets ---------------------------------------------------------------------------------------------------

    def _connect(self, head_id: int) -> None:
        vertex, chain = self.by_head[head_id], self._chains[head_id]
        outputs: dict[int, list[NonChainedOutput]] = {}
        shared: list[tuple[tuple[object, ...], IntermediateDataSet]] = []
        for edge in chain.leaving:
            data_set = self._data_set(vertex, edge, shared)
            target = self.by_head[self._heads[edge.target_id]]
            job_edge = self._job_edge(edge, data_set, target)
            data_set.consumers.append(job_edge)
            target.inputs.append(job_edge)
            output = NonChainedOutput(data_set.id, edge.output_tag)
            if output not in outputs.setdefault(edge.source_id, []):
                outputs[edge.source_id].append(output)
        for operator in vertex.chain:
            operator.outputs = tuple(outputs.get(operator.node_id, ()))

    def _data_set(
        self, vertex: JobVertex, edge: StreamEdge, shared: list[tuple[tuple[object, ...], IntermediateDataSet]]
    ) -> IntermediateDataSet:
        result_type, partitioner = self._result_type(edge), self._partitioner(edge)
        self._check_buffer_timeout(edge, result_type)
        target = self.graph.nodes[edge.target_id]
        target_parallelism = self.by_head[self._heads[edge.target_id]].parallelism
        key = (edge.source_id, partitioner, target_parallelism, target.max_parallelism, edge.output_tag, result_type)
        # A pipelined result is gone once it was read, and a persistent one has an id of its own.
        may_share = result_type.is_reconsumable and not result_type.is_persistent
        found = next((data_set for other, data_set in shared if other == key), None) if may_share else None
        if found is not None:
            return found
        data_set = IntermediateDataSet(
            edge.data_set_id or data_set_id(vertex.id, edge.edge_id),
            vertex,
            result_type,
            partitioner.distribution_pattern,
        )
        vertex.produced_data_sets.append(data_set)
        shared.append((key, data_set))
        return data_set

    def _check_buffer_timeout(self, edge: StreamEdge, result_type: ResultPartitionType) -> None:
        source = self.graph.nodes[edge.source_id]
        if not result_type.can_be_pipelined_consumed and source.buffer_timeout != -1:
            raise InvalidProgramError(
                f"operator {source.name!r} has buffer timeout {source.buffer_timeout} and its result is consumed as a "
                "whole (BATCH): use set_buffer_timeout(-1), or an exchange that is pipelined"
            )

    def _job_edge(self, edge: StreamEdge, data_set: IntermediateDataSet, target: JobVertex) -> JobEdge:
        partitioner = self._partitioner(edge)
        return JobEdge(
            data_set,
            target,
            edge.type_number,
            partitioner,
            partitioner.distribution_pattern,
            partitioner.name,
            edge.source_id,
            edge.target_id,
            edge.output_tag,
            self.chaining.broken_by(edge) or "",
        )

    def _partitioner(self, edge: StreamEdge) -> Partitioner:
        # Such an edge is FORWARD only within a chain, as the scheduler may give both ends different parallelism.
        return RESCALE if edge.partitioner.unspecified else edge.partitioner

    def _result_type(self, edge: StreamEdge) -> ResultPartitionType:
        if edge.data_set_id is not None:
            return ResultPartitionType.BLOCKING_PERSISTENT
        if edge.exchange_mode in _EXCHANGE_MODES:
            return _EXCHANGE_MODES[edge.exchange_mode]
        mode = self.graph.global_exchange_mode
        if mode == "FORWARD_EDGES_PIPELINED":
            forward = edge.partitioner.name == "FORWARD"
            return ResultPartitionType.PIPELINED_BOUNDED if forward else ResultPartitionType.BLOCKING
        if mode == "ALL_EDGES_HYBRID_SELECTIVE" and edge.partitioner.name == "BROADCAST":
            return ResultPartitionType.HYBRID_FULL
        return _GLOBAL_MODES[mode]
