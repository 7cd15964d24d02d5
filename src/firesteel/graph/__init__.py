"""Translation of API calls to a job: transformations, StreamGraph, JobGraph, and the passes between them."""

from firesteel.graph.job_graph import (
    ChainedOperator,
    ChainedOutput,
    DistributionPattern,
    IntermediateDataSet,
    JobEdge,
    JobGraph,
    JobVertex,
    NonChainedOutput,
    Partitioner,
    ResultPartitionType,
    SlotSharingGroup,
)
from firesteel.graph.stream_graph import StreamEdge, StreamGraph, StreamNode

__all__ = [
    "ChainedOperator",
    "ChainedOutput",
    "DistributionPattern",
    "IntermediateDataSet",
    "JobEdge",
    "JobGraph",
    "JobVertex",
    "NonChainedOutput",
    "Partitioner",
    "ResultPartitionType",
    "SlotSharingGroup",
    "StreamEdge",
    "StreamGraph",
    "StreamNode",
]
