"""JobVertices as plain data and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.graph.job_vertex import (
    ChainedOperator,
    ChainedOutput,
    IntermediateDataSet,
    JobEdge,
    JobVertex,
    NonChainedOutput,
)
from firesteel.graph.partitioner import DistributionPattern, Partitioner
from firesteel.graph.result_partition_type import ResultPartitionType

CACHED = "CACHE_DATA_SET"  # stands for the random id of a cached data set


def _data_set_name(data_set: IntermediateDataSet) -> str:
    return CACHED if data_set.result_type.is_persistent else data_set.id


def vertex_to_dict(vertex: JobVertex) -> dict[str, Any]:
    """One vertex as plain data."""
    operators = {operator.node_id: operator for operator in vertex.chain}
    cached = {data_set.id for data_set in vertex.produced_data_sets if data_set.result_type.is_persistent}
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "max_parallelism": vertex.max_parallelism,
        "is_input_vertex": vertex.is_input_vertex,
        "is_output_vertex": vertex.is_output_vertex,
        "input_split_source": vertex.input_split_source,
        "description": vertex.description,
        "operator_ids": [_operator_id_to_dict(operators[node_id]) for node_id in vertex.operator_order],
        "chain": [
            _operator_to_dict(operator, cached)
            for operator in [vertex.chain[0], *sorted(vertex.chain[1:], key=lambda operator: operator.node_id)]
        ],
        "inputs": [_edge_to_dict(edge) for edge in vertex.inputs],
        "produced_data_sets": [_data_set_to_dict(data_set) for data_set in vertex.produced_data_sets],
    }


def _operator_id_to_dict(operator: ChainedOperator) -> dict[str, Any]:
    return {
        "generated_operator_id": operator.operator_id,
        "user_defined_operator_id": operator.user_hash,
        "user_defined_operator_name": operator.name,
        "user_defined_operator_uid": operator.uid,
    }


def _operator_to_dict(operator: ChainedOperator, cached: set[str]) -> dict[str, Any]:
    return {
        "node_id": operator.node_id,
        "operator_id": operator.operator_id,
        "operator_name": operator.name,
        "chain_index": operator.chain_index,
        "chained_outputs": [
            [operator.node_id, output.target_node_id, output.output_tag] for output in operator.chained_outputs
        ],
        "chained_type_numbers": [output.type_number for output in operator.chained_outputs],
        "outputs": [
            [CACHED if output.data_set_id in cached else output.data_set_id, output.output_tag]
            for output in operator.outputs
        ],
    }


def _edge_to_dict(edge: JobEdge) -> dict[str, Any]:
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


def _data_set_to_dict(data_set: IntermediateDataSet) -> dict[str, Any]:
    first = data_set.consumers[0]
    return {
        "id": _data_set_name(data_set),
        "distribution_pattern": data_set.distribution_pattern.value,
        "result_type": data_set.result_type.value,
        "broadcast": first.is_broadcast,
        "forward": first.is_forward,
        "consumers": [edge.target.id for edge in data_set.consumers],
    }


def vertices_from_dict(data: Mapping[str, Any]) -> dict[str, JobVertex]:
    """The vertices that `JobGraph.to_dict` described, by id."""
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
    return vertices


def _vertex_from_dict(data: Mapping[str, Any]) -> JobVertex:
    ids = {entry["generated_operator_id"]: entry for entry in data["operator_ids"]}
    nodes = {entry["operator_id"]: entry["node_id"] for entry in data["chain"]}
    operators = [_operator_from_dict(entry, ids[entry["operator_id"]]) for entry in data["chain"]]
    return JobVertex(
        data["id"],
        data["name"],
        data["parallelism"],
        data["max_parallelism"],
        sorted(operators, key=lambda operator: (operator.chain_index, operator.node_id)),
        input_split_source=data["input_split_source"],
        operator_order=[nodes[entry["generated_operator_id"]] for entry in data["operator_ids"]],
        description=data["description"],
    )


def _operator_from_dict(data: Mapping[str, Any], ids: Mapping[str, Any]) -> ChainedOperator:
    outputs = zip(data["chained_outputs"], data["chained_type_numbers"], strict=True)
    return ChainedOperator(
        data["node_id"],
        data["operator_id"],
        data["operator_name"],
        data["chain_index"],
        chained_outputs=tuple(ChainedOutput(target, number, tag) for (_, target, tag), number in outputs),
        outputs=tuple(NonChainedOutput(data_set, tag) for data_set, tag in data["outputs"]),
        uid=ids["user_defined_operator_uid"],
        user_hash=ids["user_defined_operator_id"],
    )


def _edge_from_dict(data: Mapping[str, Any], source: IntermediateDataSet, target: JobVertex) -> JobEdge:
    return JobEdge(
        source,
        target,
        data["type_number"],
        Partitioner(data["ship_strategy"]),
        DistributionPattern(data["distribution_pattern"]),
        data["ship_strategy"],
        data["source_node_id"],
        data["target_node_id"],
        data["output_tag"],
        data["not_chained_because"],
    )
