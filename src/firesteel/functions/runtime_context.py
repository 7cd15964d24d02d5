"""The runtime context of a function: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from firesteel.functions.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from firesteel.metrics import MetricGroup

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class KeyedStateStore(ABC):
    """The state of the current key.

    Example:
        >>> class CountPerWindow(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         fired = context.window_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        ...         fired.update((fired.value() or 0) + 1)
        ...         yield key, fired.value()
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Return the value state of a descriptor.

        Args:
            state_descriptor: Name and type of the state; the name is unique within the operator.
        """

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the list state of a descriptor.

        Args:
            state_descriptor: Name and element type of the state.
        """

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Return the map state of a descriptor.

        Args:
            state_descriptor: Name, key type and value type of the state.
        """

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Return the reducing state of a descriptor.

        Args:
            state_descriptor: Name, type and reduce function of the state.
        """

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, ACC, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Return the aggregating state of a descriptor.

        Args:
            state_descriptor: Name, accumulator type and aggregate function of the state.
        """


class RuntimeContext(KeyedStateStore):
    """Information about the subtask that runs a function, and access to its state and metrics.

    Example:
        >>> class WithSubtask(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.subtask = runtime_context.get_index_of_this_subtask()
        ...     def map(self, value):
        ...         return self.subtask, value
        >>> _ = env.from_collection(["to", "be"], Types.STRING()).map(WithSubtask()).collect_async()
        >>> run_local(env).elements
        [(0, 'to'), (0, 'be')]
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the vertex."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the vertex."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the maximum parallelism of the vertex."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return the number of this attempt, from 0."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the name of the vertex with subtask and parallelism, e.g. `Map (1/4)#0`."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or `default_value` if it is not set.

        Args:
            key: Name of the parameter.
            default_value: The result if there is no such parameter.
        """

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the metric group in which the function registers its metrics."""
