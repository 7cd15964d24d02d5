"""Kinds of intermediate results."""

from __future__ import annotations

from enum import Enum


class ResultPartitionType(Enum):
    """The way a result is stored and consumed (Flink: `io.network.partition.ResultPartitionType`)."""

    BLOCKING = "BLOCKING"
    BLOCKING_PERSISTENT = "BLOCKING_PERSISTENT"
    PIPELINED = "PIPELINED"
    PIPELINED_BOUNDED = "PIPELINED_BOUNDED"
    PIPELINED_APPROXIMATE = "PIPELINED_APPROXIMATE"
    HYBRID_FULL = "HYBRID_FULL"
    HYBRID_SELECTIVE = "HYBRID_SELECTIVE"

    @property
    def is_blocking_or_blocking_persistent_result_partition(self) -> bool:
        """Whether consumers start when it is complete."""
        return self in (ResultPartitionType.BLOCKING, ResultPartitionType.BLOCKING_PERSISTENT)

    @property
    def is_pipelined_or_pipelined_bounded_result_partition(self) -> bool:
        """Whether producer and consumers form one region."""
        return self in (ResultPartitionType.PIPELINED, ResultPartitionType.PIPELINED_BOUNDED)

    @property
    def is_hybrid_result_partition(self) -> bool:
        """Whether it may be consumed both before and after it is complete."""
        return self in (ResultPartitionType.HYBRID_FULL, ResultPartitionType.HYBRID_SELECTIVE)

    @property
    def is_bounded(self) -> bool:
        """Whether it has a limited number of buffers."""
        return self in (ResultPartitionType.PIPELINED_BOUNDED, ResultPartitionType.PIPELINED_APPROXIMATE)

    @property
    def is_persistent(self) -> bool:
        """Whether it outlives the job."""
        return self is ResultPartitionType.BLOCKING_PERSISTENT

    @property
    def is_reconsumable(self) -> bool:
        """Whether it can be read again."""
        return self.is_blocking_or_blocking_persistent_result_partition or self is ResultPartitionType.HYBRID_FULL

    @property
    def can_be_pipelined_consumed(self) -> bool:
        """Whether consumers may start before it is complete."""
        return not self.is_blocking_or_blocking_persistent_result_partition

    @property
    def must_be_pipelined_consumed(self) -> bool:
        """Whether consumers must run together with the producer."""
        return self.is_pipelined_or_pipelined_bounded_result_partition
