"""Partitioners, which distribute the elements of an edge over subtasks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

_POINTWISE = frozenset({"FORWARD", "RESCALE"})
_CLASSES = {
    "FORWARD": "ForwardPartitioner",
    "REBALANCE": "RebalancePartitioner",
    "RESCALE": "RescalePartitioner",
    "SHUFFLE": "ShufflePartitioner",
    "HASH": "KeyGroupStreamPartitioner",
    "BROADCAST": "BroadcastPartitioner",
    "GLOBAL": "GlobalPartitioner",
    "CUSTOM": "CustomPartitionerWrapper",
}
NAMES = tuple(_CLASSES)


class DistributionPattern(Enum):
    """The producers that a consumer is connected to (Flink: `jobgraph.DistributionPattern`)."""

    POINTWISE = "POINTWISE"
    ALL_TO_ALL = "ALL_TO_ALL"


@dataclass(frozen=True, slots=True)
class Partitioner:
    """The distribution of an edge's elements over subtasks (Flink: `runtime.partitioner.StreamPartitioner`).

    Attributes:
        name: One of `NAMES`; elements on `HASH` and `CUSTOM` edges are `(key, value)`.
        function: For `CUSTOM`: an object with `partition(key, n)`, or a `function(key, n)`. For `HASH` of column
            batches: the indexes of the key columns.
        unspecified: A default `FORWARD` in a job whose parallelism the scheduler decides. It becomes `RESCALE` if the
            edge is not chained (Flink: `ForwardForUnspecifiedPartitioner`).
    """

    name: str
    function: Any = None
    unspecified: bool = False

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"{self.name!r} is not a partitioner; allowed: {', '.join(NAMES)}")

    @property
    def class_name(self) -> str:
        """The name of the corresponding class in Flink."""
        return "ForwardForUnspecifiedPartitioner" if self.unspecified else _CLASSES[self.name]

    @property
    def distribution_pattern(self) -> DistributionPattern:
        """POINTWISE for FORWARD and RESCALE, otherwise ALL_TO_ALL."""
        return DistributionPattern.POINTWISE if self.name in _POINTWISE else DistributionPattern.ALL_TO_ALL


FORWARD, REBALANCE, RESCALE, SHUFFLE, HASH, BROADCAST, GLOBAL = (Partitioner(name) for name in NAMES[:-1])
FORWARD_UNSPECIFIED = Partitioner("FORWARD", unspecified=True)
