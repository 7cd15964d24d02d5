"""Plans for people: of a StreamGraph as JSON text, of a JobVertex as REST shows it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.graph.job_vertex import JobVertex
from firesteel.graph.stream_node import StreamNode, Topology


def stream_plan_json(graph: Topology) -> str:
    """The operators as JSON, sinks last, otherwise by id (Flink: `JSONGenerator`)."""
    sinks = set(graph.sink_ids)
    ids = sorted(graph.nodes, key=lambda node_id: (node_id in sinks, node_id))
    return json.dumps({"nodes": [_stream_node(graph, graph.nodes[node_id]) for node_id in ids]}, indent=2)


def _stream_node(graph: Topology, node: StreamNode) -> dict[str, Any]:
    pact = "Data Source" if node.id in graph.source_ids else "Operator"
    if node.id in graph.sink_ids:
        pact = "Data Sink"
    described: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": pact,
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    if node.in_edges:
        described["predecessors"] = [
            {"id": edge.source_id, "ship_strategy": edge.partitioner.name, "side": "second"} for edge in node.in_edges
        ]
    return described


def description_tree(node_id: int, text: Callable[[int], str], children: Callable[[int], Sequence[int]]) -> str:
    """A chain's operators as a tree of lines, as Flink's description mode TREE."""
    lines: list[str] = []

    def visit(current: int, prefix: str, indent: str) -> None:
        lines.append(prefix + text(current))
        below = children(current)
        for i, child in enumerate(below):
            last = i == len(below) - 1
            visit(child, indent + ("+- " if last else ":- "), indent + ("   " if last else ":  "))

    visit(node_id, "", "")
    return "\n".join(lines) + "\n"


def description_cascade(node_id: int, text: Callable[[int], str], children: Callable[[int], Sequence[int]]) -> str:
    """A chain's operators in one line, as Flink's description mode CASCADING."""
    below = [description_cascade(child, text, children) for child in children(node_id)]
    if not below:
        return text(node_id)
    joined = below[0] if len(below) == 1 else f"({' , '.join(below)})"
    return f"{text(node_id)} -> {joined}"


DESCRIPTION_MODES = {"TREE": description_tree, "CASCADING": description_cascade}


def plan_node(vertex: JobVertex) -> dict[str, Any]:
    """One vertex as REST's plan shows it."""
    node: dict[str, Any] = {
        "id": vertex.id,
        "parallelism": vertex.parallelism,
        "operator": "",
        "operator_strategy": "",
        "description": html.escape(vertex.description, quote=False).replace("\n", "<br/>"),
        "optimizer_properties": {},
    }
    if vertex.inputs:
        node["inputs"] = [
            {
                "num": number,
                "id": edge.source.producer.id,
                "ship_strategy": edge.ship_strategy,
                "exchange": edge.source.result_type.value.lower(),
            }
            for number, edge in enumerate(vertex.inputs)
        ]
    return node
