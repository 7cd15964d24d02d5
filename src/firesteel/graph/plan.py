"""Plans of a StreamGraph as JSON text, and of a JobVertex as in the REST API."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.graph.job_vertex import JobVertex
from firesteel.graph.stream_node import StreamNode, Topology


def stream_plan_json(graph: Topology) -> str:
    """Return the operators as JSON, sorted by id with sinks last (Flink: `JSONGenerator`)."""
    sinks = set(graph.sink_ids)
    ids = sorted(graph.nodes, key=lambda node_id: (node_id in sinks, node_id))
    return json.dumps({"nodes": [_stream_node(graph, graph.nodes[node_id]) for node_id in ids]}, indent=2)


def _stream_node(graph: Topology, node: StreamNode) -> dict[str, object]:
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


Text = Callable[[int], str]
Children = Callable[[int], Sequence[int]]


def chain_name(order: Sequence[int], text: Text, children: Children) -> str:
    """Return the name of a chain: `A -> B`, or `A -> (B, C)`; `order` contains its nodes, tails first and head last."""
    return _in_one_line(order, text, children, ", ")


def description_cascade(order: Sequence[int], text: Text, children: Children) -> str:
    """Return the operators of a chain in one line, as Flink's description mode CASCADING."""
    return _in_one_line(order, text, children, " , ")


def _in_one_line(order: Sequence[int], text: Text, children: Children, separator: str) -> str:
    lines: dict[int, str] = {}
    for node_id in order:
        below = [lines.pop(child) for child in children(node_id)]
        joined = below[0] if len(below) == 1 else f"({separator.join(below)})"
        lines[node_id] = f"{text(node_id)} -> {joined}" if below else text(node_id)
    return lines[order[-1]]


def description_tree(order: Sequence[int], text: Text, children: Children) -> str:
    """Return the operators of a chain as a tree of lines, as Flink's description mode TREE."""
    lines: list[str] = []
    pending = [(order[-1], "", "")]
    while pending:
        current, prefix, indent = pending.pop()
        lines.append(prefix + text(current))
        below = list(children(current))
        for child in reversed(below):
            is_last = child == below[-1]
            pending.append((child, indent + ("+- " if is_last else ":- "), indent + ("   " if is_last else ":  ")))
    return "\n".join(lines) + "\n"


DESCRIPTION_MODES = {"TREE": description_tree, "CASCADING": description_cascade}


def plan_node(vertex: JobVertex) -> dict[str, object]:
    """Return a vertex as in the plan of the REST API."""
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
