"""The methods of `DataStream` that partition elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types
from firesteel.datastream.streams.stream_base import StreamBase, check_function
from firesteel.functions import operator_descriptors as op
from firesteel.functions.operator_builder import add_partitioner, taken_values_of
from firesteel.functions.user_functions import KeySelector, Partitioner
from firesteel.graph.partitioner import FORWARD, REBALANCE, RESCALE, SHUFFLE
from firesteel.graph.partitioner import Partitioner as EdgePartitioner
from firesteel.graph.transformations import KeyByTransformation, ValuesTransformation

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

T = TypeVar("T")
K = TypeVar("K")


class StreamPartitioning(StreamBase[T]):
    """The part of `DataStream` that partitions elements other than by key."""

    def partition_custom(
        self,
        partitioner: Callable[[K, int], int] | Partitioner,
        key_selector: KeySelector[T, K] | Callable[[T], K],
    ) -> DataStream[T]:
        """Send each element to the subtask that a partitioner chooses for its key.

        Args:
            partitioner: A `Partitioner`, or a function of key and number of subtasks that returns a subtask index.
            key_selector: A `KeySelector` or a function that returns the key of an element.
        """
        check_function(partitioner, Partitioner, "partition", "partition_custom()")
        check_function(key_selector, KeySelector, "get_key", "partition_custom()")
        own_type = self.get_type()
        pair = Types.ROW([PickledBytesTypeInfo(), own_type])
        operator = op.PartitionCustomOperator(partitioner, key_selector)
        transformation = self._operator("_partition_custom_map_operator", operator, pair, cls=KeyByTransformation)
        # That of the operator, which opens and closes it.
        opened: object = transformation.operator.partitioner
        partitioned = add_partitioner(self._new_stream(transformation), EdgePartitioner("CUSTOM", opened))
        stream = self._new_stream(partitioned)
        return taken_values_of(stream, own_type)

    def _take_values(self, output_type: TypeInformation[Any]) -> DataStream[Any]:
        transformation = self._operator(
            "_keyed_stream_values_operator", op.ValuesOperator(), output_type, cls=ValuesTransformation
        )
        return self._new_stream(transformation)

    def shuffle(self) -> DataStream[T]:
        """Send each element to a random subtask."""
        return self._new_stream(self._partition(SHUFFLE))

    def rebalance(self) -> DataStream[T]:
        """Send the elements to all downstream subtasks in round-robin order."""
        return self._new_stream(self._partition(REBALANCE))

    def rescale(self) -> DataStream[T]:
        """Send the elements to a local subset of the downstream subtasks in round-robin order."""
        return self._new_stream(self._partition(RESCALE))

    def forward(self) -> DataStream[T]:
        """Send each element to the downstream subtask of the same index; both operators need equal parallelism."""
        return self._new_stream(self._partition(FORWARD))
