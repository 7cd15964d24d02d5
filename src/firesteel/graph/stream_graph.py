"""The StreamGraph: operators as nodes, and edges with partitioners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.graph.chaining import Chaining
from firesteel.graph.hashing import operator_hashes
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.job_graph_generator import create_job_graph
from firesteel.graph.partitioner import FORWARD_UNSPECIFIED, Partitioner
from firesteel.graph.plan import stream_plan_json
from firesteel.graph.stream_node import StreamEdge, StreamNode, Topology, check_forward

__all__ = ["StreamEdge", "StreamGraph", "StreamNode"]


class StreamGraph(Topology):
    """The operators of a program and their connections (Flink: `api.graph.StreamGraph`)."""

    __slots__ = ()

    def get_job_graph(self) -> JobGraph:
        """Return the `JobGraph` of this graph.

        Raises:
            InvalidProgramError: the program is empty, or uids collide or are missing.
        """
        return create_job_graph(self)

    def get_execution_plan(self) -> str:
        """Return the plan as JSON text, as Flink's `getStreamingPlanAsJSON`."""
        return stream_plan_json(self)

    def to_dict(self) -> dict[str, object]:
        """Return the graph as plain data, without operators and types."""
        chaining = Chaining(self)
        hashes = operator_hashes(self, chaining)
        fields = {key: getattr(self, name) for key, name in _GRAPH_FIELDS.items()}
        return fields | {
            "source_ids": list(self.source_ids),
            "sink_ids": list(self.sink_ids),
            "nodes": [_node_to_dict(node, hashes[node.id], chaining) for node in self.nodes.values()],
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> StreamGraph:
        """Return the graph of `to_dict`, or of a recording of Flink's graph, without operators.

        Raises:
            InvalidProgramError: a forward edge changes the parallelism.
            KeyError: a part of the graph is missing.
        """
        graph = StreamGraph(**{name: data[key] for key, name in _GRAPH_FIELDS.items() if key in data})
        graph.source_ids, graph.sink_ids = list(data["source_ids"]), list(data["sink_ids"])
        edges: dict[tuple[int, str], StreamEdge] = {}
        for described in data["nodes"]:
            node = StreamNode(**{name: described[name] for name in _NODE_FIELDS if name in described})
            node.out_edges = [_edge_from_dict(edge) for edge in described["out_edges"]]
            edges.update(((node.id, edge.edge_id), edge) for edge in node.out_edges)
            graph.add_node(node)
        for described in data["nodes"]:
            node = graph.nodes[described["id"]]
            node.in_edges = [edges[edge["source_id"], edge["edge_id"]] for edge in described["in_edges"]]
            for edge in node.in_edges:
                check_forward(graph.nodes[edge.source_id], node, edge.partitioner)
        return graph


_GRAPH_FIELDS = {
    **{
        name: name
        for name in (
            "job_name",
            "job_type",
            "dynamic",
            "chaining_enabled",
            "chain_different_max_parallelism",
            "global_exchange_mode",
            "auto_generate_uids",
            "checkpointing_enabled",
            "configuration",
            "vertex_description_mode",
            "vertex_name_include_index_prefix",
        )
    },
    "all_vertices_in_same_slot_sharing_group_by_default": "one_default_group",
}
_NODE_FIELDS = (
    "id",
    "name",
    "parallelism",
    "description",
    "parallelism_configured",
    "max_parallelism",
    "slot_sharing_group",
    "chaining_strategy",
    "yielding",
    "legacy_source",
    "buffer_timeout",
    "uid",
    "user_hash",
    "user_location",
)


def _node_to_dict(node: StreamNode, operator_hash: str, chaining: Chaining) -> dict[str, object]:
    fields = {name: getattr(node, name) for name in _NODE_FIELDS}
    return fields | {
        "description": node.description or node.name,
        "operator_factory": None if node.operator is None else type(node.operator).__name__,
        "operator_hash": operator_hash,
        "in_edges": _edges_to_dict(node.in_edges, chaining),
        "out_edges": _edges_to_dict(node.out_edges, chaining),
    }


def _edges_to_dict(edges: Iterable[StreamEdge], chaining: Chaining) -> list[dict[str, object]]:
    return [
        {
            "source_id": edge.source_id,
            "target_id": edge.target_id,
            "type_number": edge.type_number,
            "partitioner": edge.partitioner.class_name,
            "partitioner_name": edge.partitioner.name,
            "exchange_mode": edge.exchange_mode,
            "output_tag": edge.output_tag,
            "edge_id": edge.edge_id,
            "chainable": chaining.is_chainable(edge),
            "not_chained_because": chaining.broken_by(edge) or "",
            "intermediate_dataset_id_to_produce": edge.data_set_id,
        }
        for edge in edges
    ]


def _edge_from_dict(edge: Mapping[str, Any]) -> StreamEdge:
    return StreamEdge(
        edge["source_id"],
        edge["target_id"],
        edge["type_number"],
        Partitioner(edge["partitioner_name"], unspecified=edge["partitioner"] == FORWARD_UNSPECIFIED.class_name),
        edge["exchange_mode"],
        edge["output_tag"],
        edge["edge_id"],
        edge.get("intermediate_dataset_id_to_produce"),
    )
