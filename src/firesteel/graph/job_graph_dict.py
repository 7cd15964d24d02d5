"""Conversion of JobVertices to plain data and back, in the format of Flink's recorded graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.errors import InvalidProgramError
from firesteel.graph.job_vertex import (
    ChainedOperator,
    ChainedOutput,
    IntermediateDataSet,
    JobEdge,
    JobVertex,
    NonChainedOutput,
    SlotSharingGroup,
)
from firesteel.graph.partitioner import DistributionPattern, Partitioner
from firesteel.graph.result_partition_type import ResultPartitionType

CACHED = "CACHE_DATA_SET"  # stands for the random id of a cached data set


def _data_set_name(data_set: IntermediateDataSet) -> str:
    return CACHED if data_set.result_type.is_persistent else data_set.id


def vertex_to_dict(vertex: JobVertex, group_index: int | None) -> dict[str, object]:
    """Return a vertex as plain data; `group_index` is the position of its slot sharing group."""
    operators = {operator.node_id: operator for operator in vertex.chain}
    data_sets = {data_set.id: data_set for data_set in vertex.produced_data_sets}
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "max_parallelism": vertex.max_parallelism,
        "is_input_vertex": vertex.is_input_vertex,
        "is_output_vertex": vertex.is_output_vertex,
        "input_split_source": vertex.input_split_source is not None,
        "operator_pretty_name": vertex.description,
        "slot_sharing_group_index": group_index,
        "co_location_group_index": vertex.co_location_group_index,
        "operator_ids": [_operator_id_to_dict(operators[node_id]) for node_id in vertex.operator_order],
        "chain": [
            _operator_to_dict(operator, data_sets)
            for operator in [*vertex.chain[:1], *sorted(vertex.chain[1:], key=lambda operator: operator.node_id)]
        ],
        "inputs": [_edge_to_dict(edge) for edge in vertex.inputs],
        "produced_data_sets": [_data_set_to_dict(data_set) for data_set in vertex.produced_data_sets],
    }


def group_to_dict(index: int, group: SlotSharingGroup) -> dict[str, object]:
    """Return a slot sharing group as plain data."""
    return {"index": index, "name": group.name, "vertices": list(group.vertex_ids)}


def co_location_groups(vertices: Sequence[JobVertex]) -> list[dict[str, object]]:
    """Return the co-location groups of vertices as plain data."""
    members: dict[int, list[str]] = {}
    for vertex in vertices:
        if vertex.co_location_group_index is not None:
            members.setdefault(vertex.co_location_group_index, []).append(vertex.id)
    return [{"index": index, "vertices": members[index]} for index in sorted(members)]


def _operator_id_to_dict(operator: ChainedOperator) -> dict[str, object]:
    return {
        "generated_operator_id": operator.operator_id,
        "user_defined_operator_id": operator.user_hash,
        "user_defined_operator_name": operator.name,
        "user_defined_operator_uid": operator.uid,
    }


def _operator_to_dict(operator: ChainedOperator, data_sets: Mapping[str, IntermediateDataSet]) -> dict[str, object]:
    return {
        "vertex_id": operator.node_id,
        "operator_id": operator.operator_id,
        "operator_name": operator.name,
        "chain_index": operator.chain_index,
        "chained_outputs": [
            [operator.node_id, output.target_node_id, output.output_tag] for output in operator.chained_outputs
        ],
        "chained_type_numbers": [output.type_number for output in operator.chained_outputs],
        "non_chained_outputs": [_output_to_dict(operator, output, data_sets) for output in operator.outputs],
        "user_location": operator.user_location,
    }


def _output_to_dict(
    operator: ChainedOperator, output: NonChainedOutput, data_sets: Mapping[str, IntermediateDataSet]
) -> dict[str, object]:
    data_set = data_sets[output.data_set_id]
    edge = data_set.consumers[0]
    return {
        "data_set_id": _data_set_name(data_set),
        "source_node_id": operator.node_id,
        "output_tag": output.output_tag,
        "partition_type": data_set.result_type.value,
        "partitioner_name": edge.partitioner.name,
        "consumer_parallelism": edge.target.parallelism,
        "consumer_max_parallelism": edge.target.max_parallelism,
        "persistent": data_set.result_type.is_persistent,
    }


def _edge_to_dict(edge: JobEdge) -> dict[str, object]:
    return {
        "source_data_set_id": _data_set_name(edge.source),
        "source_vertex_id": edge.source.producer.id,
        "distribution_pattern": edge.distribution_pattern.value,
        "ship_strategy": edge.ship_strategy,
        "result_type": edge.source.result_type.value,
        "type_number": edge.type_number,
        "broadcast": edge.is_broadcast,
        "forward": edge.is_forward,
        "source_node_id": edge.source_node_id,
        "target_node_id": edge.target_node_id,
        "output_tag": edge.output_tag,
        "not_chained_because": edge.not_chained_because,
    }


def _data_set_to_dict(data_set: IntermediateDataSet) -> dict[str, object]:
    first = data_set.consumers[0]
    return {
        "id": _data_set_name(data_set),
        "distribution_pattern": data_set.distribution_pattern.value,
        "result_type": data_set.result_type.value,
        "broadcast": first.is_broadcast,
        "forward": first.is_forward,
        "consumers": [edge.target.id for edge in data_set.consumers],
    }


def vertices_from_dict(data: Mapping[str, Any]) -> list[JobVertex]:
    """Return the connected vertices of `JobGraph.to_dict`, in the order of creation."""
    vertices: dict[str, JobVertex] = {}
    data_sets: dict[tuple[str, str], IntermediateDataSet] = {}
    for described in data["vertices"]:
        vertex = _vertex_from_dict(described)
        vertices[vertex.id] = vertex
        for produced in described["produced_data_sets"]:
            pattern = DistributionPattern(produced["distribution_pattern"])
            data_set = IntermediateDataSet(
                produced["id"], vertex, ResultPartitionType(produced["result_type"]), pattern
            )
            vertex.produced_data_sets.append(data_set)
            data_sets[vertex.id, data_set.id] = data_set
    for described in data["vertices"]:
        for entry in described["inputs"]:
            source = data_sets[entry["source_vertex_id"], entry["source_data_set_id"]]
            edge = _edge_from_dict(entry, source, vertices[described["id"]])
            edge.target.inputs.append(edge)
            source.consumers.append(edge)
    for described in data["vertices"]:
        for produced in described["produced_data_sets"]:
            # The topological order of the vertices depends on the order of the consumers.
            places = {consumer: place for place, consumer in enumerate(produced["consumers"])}
            data_sets[described["id"], produced["id"]].consumers.sort(key=lambda edge: places[edge.target.id])
    return [vertices[vertex_id] for vertex_id in data["vertices_insertion_order"]]


def groups_from_dict(data: Mapping[str, Any], vertices: Sequence[JobVertex]) -> list[SlotSharingGroup]:
    """Return the slot sharing groups of `JobGraph.to_dict`, and assign them to their vertices.

    Raises:
        InvalidProgramError: a vertex is in an unknown group.
    """
    groups = [SlotSharingGroup(group["name"], list(group["vertices"])) for group in data["slot_sharing_groups"]]
    by_id = {vertex.id: vertex for vertex in vertices}
    for group in groups:
        for vertex_id in group.vertex_ids:
            by_id[vertex_id].slot_sharing_group = group
    for described in data["vertices"]:
        index = described.get("slot_sharing_group_index")
        if index is not None and not 0 <= index < len(groups):
            raise InvalidProgramError(
                f"vertex {described['name']!r} is in the unknown slot sharing group {index}; the job graph has "
                f"{len(groups)}: {[group.name for group in groups]}"
            )
    return groups


def _vertex_from_dict(data: Mapping[str, Any]) -> JobVertex:
    ids = {entry["generated_operator_id"]: entry for entry in data["operator_ids"]}
    nodes = {entry["operator_id"]: entry["vertex_id"] for entry in data["chain"]}
    operators = [_operator_from_dict(entry, ids[entry["operator_id"]]) for entry in data["chain"]]
    return JobVertex(
        data["id"],
        data["name"],
        data["parallelism"],
        data["max_parallelism"],
        sorted(operators, key=lambda operator: (operator.chain_index, operator.node_id)),
        co_location_group_index=data.get("co_location_group_index"),
        operator_order=[nodes[entry["generated_operator_id"]] for entry in data["operator_ids"]],
        description=data["operator_pretty_name"],
    )


def _operator_from_dict(data: Mapping[str, Any], ids: Mapping[str, Any]) -> ChainedOperator:
    chained = data["chained_outputs"]
    numbers = data.get("chained_type_numbers", [0] * len(chained))
    return ChainedOperator(
        data["vertex_id"],
        data["operator_id"],
        data["operator_name"],
        data["chain_index"],
        chained_outputs=tuple(
            ChainedOutput(target, number, tag) for (_, target, tag), number in zip(chained, numbers, strict=True)
        ),
        outputs=tuple(NonChainedOutput(one["data_set_id"], one["output_tag"]) for one in data["non_chained_outputs"]),
        user_location=data.get("user_location"),
        uid=ids["user_defined_operator_uid"],
        user_hash=ids["user_defined_operator_id"],
    )


def _edge_from_dict(data: Mapping[str, Any], source: IntermediateDataSet, target: JobVertex) -> JobEdge:
    tail, head = source.producer.chain[-1:], target.chain[:1]
    return JobEdge(
        source,
        target,
        data["type_number"],
        Partitioner(data["ship_strategy"]),
        DistributionPattern(data["distribution_pattern"]),
        data["ship_strategy"],
        data.get("source_node_id", tail[0].node_id if tail else 0),
        data.get("target_node_id", head[0].node_id if head else 0),
        data.get("output_tag"),
        data.get("not_chained_because", ""),
    )
