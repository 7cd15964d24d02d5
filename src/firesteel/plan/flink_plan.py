"""Conversion of the plan that a Flink cluster serves at `/jobs/:id/plan` to a JobGraph."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from firesteel.graph.job_graph import (
    ChainedOperator,
    ChainedOutput,
    IntermediateDataSet,
    JobEdge,
    JobGraph,
    JobVertex,
    Partitioner,
    ResultPartitionType,
    SlotSharingGroup,
)
from firesteel.graph.job_vertex import topological_order
from firesteel.graph.plan import chain_name

_BRANCH = re.compile(r"^((?::  |   )*)([:+]- )?(.*)$")


def job_graph_of_plan(plan: Mapping[str, Any], vertices: Mapping[str, Mapping[str, Any]] | None = None) -> JobGraph:
    """Return the JobGraph of a plan.

    A plan contains only descriptions of operators, and no slot sharing groups. The groups are taken from `vertices`
    (those of `/jobs/:id`, by id); without them all vertices are assumed to share slots.

    Raises:
        KeyError: a part of the plan is missing.
        InvalidProgramError: the graph is cyclic.
    """
    told = vertices or {}
    built = {node["id"]: _vertex(node, told.get(node["id"], {})) for node in plan["nodes"]}
    _number_operators(list(built.values()))
    for node in plan["nodes"]:
        for entry in node.get("inputs", ()):
            _connect(built[entry["id"]], built[node["id"]], entry)
    ordered = topological_order(built.values())
    groups: dict[str, SlotSharingGroup] = {}
    for vertex in ordered:
        group_id = told.get(vertex.id, {}).get("slotSharingGroupId", "default")
        group = groups.setdefault(group_id, SlotSharingGroup("default" if len(groups) == 0 else f"group {len(groups)}"))
        group.vertex_ids.append(vertex.id)
        vertex.slot_sharing_group = group
    return JobGraph(
        plan["jid"],
        plan["name"],
        plan.get("type", "STREAMING"),
        False,
        {},
        ordered,
        list(groups.values()),
        list(built),
    )


def _vertex(node: Mapping[str, Any], told: Mapping[str, Any]) -> JobVertex:
    description = html.unescape(node["description"].replace("<br/>", "\n"))
    chain = _operators(node["id"], description)
    order = [operator.node_id for operator in reversed(chain)]
    names = {operator.node_id: operator.name for operator in chain}
    below = {operator.node_id: [output.target_node_id for output in operator.chained_outputs] for operator in chain}
    return JobVertex(
        node["id"],
        told.get("name") or chain_name(order, names.__getitem__, below.__getitem__),
        node["parallelism"],
        told.get("maxParallelism", -1),
        chain,
        operator_order=order,
        description=description,
    )


def _operators(vertex_id: str, description: str) -> list[ChainedOperator]:
    """Return the operators of a description tree, head first; node ids are numbered within the vertex."""
    operators: list[ChainedOperator] = []
    path: list[ChainedOperator] = []
    for line in filter(None, description.split("\n")):
        match = _BRANCH.match(line)
        assert match is not None, "the pattern matches every line"
        depth = len(match[1]) // 3 + bool(match[2])
        node_id = len(operators)
        operator = ChainedOperator(node_id, f"{vertex_id}-{node_id}", match[3], depth + 1)
        del path[depth:]
        if path:
            path[-1].chained_outputs += (ChainedOutput(node_id, 0, None),)
        path.append(operator)
        operators.append(operator)
    return operators


def _number_operators(vertices: list[JobVertex]) -> None:
    """Number the operators over all vertices, producers first (a plan lists consumers first)."""
    offset = 1
    for vertex in reversed(vertices):
        for operator in vertex.chain:
            operator.node_id += offset
            operator.chained_outputs = tuple(
                ChainedOutput(output.target_node_id + offset, 0, None) for output in operator.chained_outputs
            )
        vertex.operator_order = [node_id + offset for node_id in vertex.operator_order]
        offset += len(vertex.chain)


def _connect(producer: JobVertex, consumer: JobVertex, entry: Mapping[str, Any]) -> None:
    partitioner = Partitioner(entry["ship_strategy"])
    data_set = IntermediateDataSet(
        f"{producer.id}-{len(producer.produced_data_sets)}",
        producer,
        ResultPartitionType[entry["exchange"].upper()],
        partitioner.distribution_pattern,
    )
    edge = JobEdge(
        data_set,
        consumer,
        0,
        partitioner,
        partitioner.distribution_pattern,
        partitioner.name,
        producer.chain[-1].node_id,
        consumer.chain[0].node_id,
    )
    data_set.consumers.append(edge)
    producer.produced_data_sets.append(data_set)
    consumer.inputs.append(edge)
