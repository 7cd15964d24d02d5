"""Kinds of state and their descriptors (module as `pyflink.datastream.state`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from firesteel.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from firesteel.datastream.state_ttl import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
ACC = TypeVar("ACC")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)


class OperatorStateStore(ABC):
    """State that belongs to a subtask and not to a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """The broadcast state of that descriptor."""


class State(ABC):
    """Root of all kinds of state; keyed state is always that of the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Removes the value of the current key."""


class ValueState(State, Generic[T]):
    """One value."""

    @abstractmethod
    def value(self) -> T | None:
        """The value; None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Sets the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """Takes elements in, gives their combination back."""

    @abstractmethod
    def get(self) -> OUT | None:
        """What the elements added so far amount to."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Adds an element."""


class MergingState(AppendingState[IN, OUT]):
    """An `AppendingState` whose values can be merged, e.g. when windows merge."""


class ReducingState(MergingState[T, T]):
    """Keeps the elements reduced to one; `get` gives None without elements."""


class AggregatingState(MergingState[IN, OUT]):
    """Keeps the elements aggregated; `get` gives the result, None without elements."""


class ListState(MergingState[T, Iterable[T]]):
    """A list of elements; `get` gives an iterable, empty without elements."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replaces all elements."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Adds elements."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class MapState(State, Generic[K, V]):
    """A map; entries are read and written one by one."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value under `key`; None if there is none."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Sets the value under `key`."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Sets several values, given as a dict or as pairs."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Removes `key`; nothing happens if it is not there."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """True if `key` has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """True without entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """Broadcast state as the side sees it that is not broadcast."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value under `key`; None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """True if `key` has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """True without entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """State that every subtask holds in full; the broadcast side writes it, alike in all subtasks."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Sets the value under `key`."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Sets several values, given as a dict or as pairs."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Removes `key`; nothing happens if it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class Reducer(Protocol[T]):
    """A `ReduceFunction`, as far as state needs it."""

    def reduce(self, value1: T, value2: T) -> T:
        """Return both values as one."""


class Aggregator(Protocol[IN_contra, ACC, OUT_co]):
    """An `AggregateFunction`, as far as state needs it."""

    def create_accumulator(self) -> ACC:
        """Return an accumulator without elements."""

    def add(self, value: IN_contra, accumulator: ACC) -> ACC:
        """Return the accumulator with one more element."""

    def get_result(self, accumulator: ACC) -> OUT_co:
        """Return the result of what was accumulated."""

    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return both accumulators as one."""


class StateDescriptor(ABC):  # noqa: B024 - only the concrete descriptors make sense, as in Flink
    """Name and type of a state, and how long its values live.

    Attributes:
        name: Unique within one operator.
        type_info: Type of the value, element, map or accumulator.
        ttl_config: None if values live for ever.
    """

    def __init__(self, name: str, type_info: TypeInformation[Any]) -> None:
        if not isinstance(type_info, TypeInformation):
            raise TypeError(f"State {name!r}: the type must be a TypeInformation, found {type_info!r}")
        self.name = name
        self.type_info = type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Limits the life of the values.

        Example:
            >>> from firesteel.common import Time, Types
            >>> seen = MapStateDescriptor("seen", Types.STRING(), Types.BOOLEAN())
            >>> seen.enable_time_to_live(StateTtlConfig.new_builder(Time.minutes(10)).build())
        """
        self.ttl_config = ttl_config

    def _parts(self) -> dict[str, Any]:
        """Return the attributes that make the descriptor; `ValueStateDescriptor[int](...)` adds one of its own."""
        return {name: part for name, part in self.__dict__.items() if name != "__orig_class__"}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a `ValueState`."""

    def __init__(self, name: str, value_type_info: TypeInformation[T]) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a `ListState`; `elem_type_info` is the type of one element."""

    def __init__(self, name: str, elem_type_info: TypeInformation[T]) -> None:
        super().__init__(name, ListTypeInfo(elem_type_info))
        self.elem_type_info = elem_type_info


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """Describes a `MapState` or a broadcast state."""

    def __init__(self, name: str, key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]) -> None:
        super().__init__(name, MapTypeInfo(key_type_info, value_type_info))
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a `ReducingState`; `reduce_function` is a ReduceFunction or a function of two values."""

    def __init__(
        self, name: str, reduce_function: Reducer[T] | Callable[[T, T], T], type_info: TypeInformation[T]
    ) -> None:
        if not callable(reduce_function) and not hasattr(reduce_function, "reduce"):
            raise TypeError(f"State {name!r}: needs a ReduceFunction or a function, found {reduce_function!r}")
        super().__init__(name, type_info)
        self.reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """What reduces two values to one."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, ACC, OUT]):
    """Describes an `AggregatingState`; `state_type_info` is the type of the accumulator."""

    def __init__(
        self, name: str, agg_function: Aggregator[IN, ACC, OUT], state_type_info: TypeInformation[ACC]
    ) -> None:
        if not hasattr(agg_function, "create_accumulator"):
            raise TypeError(f"State {name!r}: needs an AggregateFunction, found {agg_function!r}")
        super().__init__(name, state_type_info)
        self.agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The AggregateFunction."""
        return self.agg_function
