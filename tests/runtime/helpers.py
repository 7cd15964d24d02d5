"""Small JobGraphs, and a loop that runs until nothing is left to do."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

from firesteel.graph.job_graph import (
    DistributionPattern,
    IntermediateDataSet,
    JobEdge,
    JobGraph,
    JobVertex,
    Partitioner,
    ResultPartitionType,
    SlotSharingGroup,
)

Input = tuple[str, str, str]
"""Producer's name, distribution pattern, result type."""


def an_id(name: str) -> str:
    """A stable id of 32 hex digits."""
    return hashlib.md5(name.encode()).hexdigest()


def job_graph(
    *vertices: tuple[str, int, Sequence[Input]],
    groups: dict[str, str] | None = None,
    job_type: str = "STREAMING",
    name: str = "job",
    configuration: dict[str, str] | None = None,
) -> JobGraph:
    """A job of vertices `(name, parallelism, inputs)`, in slot sharing group `default` unless `groups` says else."""
    sharing: dict[str, SlotSharingGroup] = {}
    built: dict[str, JobVertex] = {}
    for vertex_name, parallelism, inputs in vertices:
        group = (groups or {}).get(vertex_name, "default")
        sharing.setdefault(group, SlotSharingGroup(group))
        vertex = JobVertex(id=an_id(vertex_name), name=vertex_name, parallelism=parallelism)
        vertex.slot_sharing_group = sharing[group]
        sharing[group].vertex_ids.append(vertex.id)
        built[vertex_name] = vertex
        for index, (producer, pattern, result_type) in enumerate(inputs):
            connect(built[producer], vertex, index, DistributionPattern[pattern], ResultPartitionType[result_type])
    return JobGraph(
        job_id=an_id(name),
        name=name,
        job_type=job_type,
        dynamic=job_type == "BATCH",
        configuration=dict(configuration or {}),
        vertices=list(built.values()),
        slot_sharing_groups=list(sharing.values()),
    )


def connect(
    producer: JobVertex, consumer: JobVertex, index: int, pattern: DistributionPattern, result_type: ResultPartitionType
) -> None:
    data_set = IntermediateDataSet(
        id=an_id(f"{producer.name}->{consumer.name}#{index}"),
        producer=producer,
        result_type=result_type,
        distribution_pattern=pattern,
    )
    partitioner = Partitioner("REBALANCE" if pattern is DistributionPattern.ALL_TO_ALL else "RESCALE")
    edge = JobEdge(
        source=data_set,
        target=consumer,
        type_number=0,
        partitioner=partitioner,
        distribution_pattern=pattern,
        ship_strategy=partitioner.name,
        source_node_id=1,
        target_node_id=2,
    )
    data_set.consumers.append(edge)
    producer.produced_data_sets.append(data_set)
    consumer.inputs.append(edge)


async def settle(rounds: int = 200) -> None:
    """Let everything run that is not waiting for time."""
    for _ in range(rounds):
        await asyncio.sleep(0)
