"""How the elements of an edge are spread over subtasks."""

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
    """Which producers a consumer is connected to (Flink: `jobgraph.DistributionPattern`)."""

    POINTWISE = "POINTWISE"
    ALL_TO_ALL = "ALL_TO_ALL"


@dataclass(frozen=True, slots=True)
class Partitioner:
    """How the elements of an edge are spread over subtasks (Flink: `runtime.partitioner.StreamPartitioner`).

    Attributes:
        name: One of `NAMES`; elements on `HASH` and `CUSTOM` edges are `(key, value)`.
        function: For `CUSTOM`: has `partition(key, n)` or is called as `function(key, n)`. For `HASH` over column
            batches: the indexes of the key columns.
        unspecified: A `FORWARD` that nobody asked for, in a job whose parallelism the scheduler decides; it becomes
            `RESCALE` where the edge does not chain (Flink: `ForwardForUnspecifiedPartitioner`).
    """

    name: str
    function: Any = None
    unspecified: bool = False

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"{self.name!r} is no partitioner; there are {', '.join(NAMES)}")

    @property
    def class_name(self) -> str:
        """The class that does it in Flink."""
        return "ForwardForUnspecifiedPartitioner" if self.unspecified else _CLASSES[self.name]

    @property
    def distribution_pattern(self) -> DistributionPattern:
        """POINTWISE for FORWARD and RESCALE, else ALL_TO_ALL."""
        return DistributionPattern.POINTWISE if self.name in _POINTWISE else DistributionPattern.ALL_TO_ALL


FORWARD, REBALANCE, RESCALE, SHUFFLE, HASH, BROADCAST, GLOBAL = (Partitioner(name) for name in NAMES[:-1])
FORWARD_UNSPECIFIED = Partitioner("FORWARD", unspecified=True)
