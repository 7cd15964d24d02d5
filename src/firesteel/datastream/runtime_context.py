"""What a function may ask of the task it runs in: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from firesteel.datastream.state import (
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
    """State of the current key."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """The value state of that descriptor."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """The list state of that descriptor."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """The map state of that descriptor."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """The reducing state of that descriptor."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, ACC, OUT]
    ) -> AggregatingState[IN, OUT]:
        """The aggregating state of that descriptor."""


class RuntimeContext(KeyedStateStore):
    """The subtask that a function runs in."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Name of the vertex."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Parallelism of the vertex."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Max parallelism of the vertex."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Number of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Number of this attempt, from 0."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Name of the vertex with subtask and parallelism, e.g. `Map (1/4)#0`."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where the function registers metrics."""
