"""The ExecutionGraph as plain data."""

from __future__ import annotations

from firesteel.graph.job_graph import JobEdge
from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex, ExecutionVertex
from firesteel.runtime.executiongraph.intermediate_result import IntermediateResult

__all__ = ["edge_to_dict", "result_to_dict", "vertex_to_dict"]


def vertex_to_dict(vertex: ExecutionJobVertex, now_ms: int) -> dict[str, object]:
    """Return a vertex with its subtasks and their attempts."""
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "max_parallelism": vertex.max_parallelism,
        "results": [result.id for result in vertex.results],
        "subtasks": [_subtask_to_dict(subtask, now_ms) for subtask in vertex.vertices],
    }


def _subtask_to_dict(subtask: ExecutionVertex, now_ms: int) -> dict[str, object]:
    execution = subtask.current
    return {
        "name": subtask.name,
        "attempt": execution.attempt_number,
        "attempt_id": execution.attempt_id,
        "state": execution.state.name,
        "records_in": execution.records_in,
        "records_out": execution.records_out,
        "metrics": execution.metrics_at(now_ms),
        "timestamps": {state.name: at for state, at in execution.timestamps.items()},
        "slot": execution.allocation_id,
        "task_manager": execution.task_manager_id,
        "failure": None if execution.failure is None else str(execution.failure),
        "prior_attempts": [prior.attempt_id for prior in subtask.prior],
    }


def result_to_dict(result: IntermediateResult) -> dict[str, object]:
    """Return a data set that a vertex produces."""
    return {"id": result.id, "type": result.data_set.result_type.name, "partitions": len(result.partitions)}


def edge_to_dict(edge: JobEdge, result: IntermediateResult, consumer: ExecutionJobVertex) -> dict[str, object]:
    """Return the partitions that each subtask reads over a JobEdge, in the format of recordings of Flink.

    Partitions and subtasks are numbers; groups are numbered in the order of the edge. `down_subtasks` contains, per
    consuming subtask, its groups and `[first and last partition, first and last subpartition]` of each. `up_partitions`
    contains, per partition, its groups and the number of subpartitions that are read.
    """
    groups = result.groups_of(edge)
    consumers: list[list[int]] = [[] for _ in consumer.vertices]
    producers: list[list[int]] = [[] for _ in result.partitions]
    for number, group in enumerate(groups):
        for subtask in group.consumers.subtasks:
            consumers[subtask].append(number)
        for partition in group.consumed.partitions:
            producers[partition].append(number)
    return {
        "source": result.id,
        "target": consumer.id,
        "up": len(result.partitions),
        "down": consumer.parallelism,
        "pattern": edge.distribution_pattern.value,
        "result_type": result.data_set.result_type.value,
        "max_edges_to_target": max(len(group.consumers.subtasks) for group in groups),
        "consumed_partition_groups": [list(group.consumed.partitions) for group in groups],
        "down_subtasks": [
            [numbers, [_read(groups[number], subtask) for number in numbers]]
            for subtask, numbers in enumerate(consumers)
        ],
        "consumer_vertex_groups": [list(group.consumers.subtasks) for group in groups],
        "up_partitions": [
            [numbers, sum(len(groups[number].consumers.subtasks) for number in numbers)] for numbers in producers
        ],
    }


def _read(group: EdgeGroup, subtask: int) -> list[list[int]]:
    partitions = group.consumed.partitions
    return [[partitions[0], partitions[-1]], [group.consumed_subpartition(subtask)] * 2]
