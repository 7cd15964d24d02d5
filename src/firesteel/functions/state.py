"""State primitives and their descriptors (module as `pyflink.datastream.state`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from firesteel.common.type_classes.type_information import checked_type
from firesteel.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from firesteel.functions.state_ttl import StateTtlConfig

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
    """Operator state, which belongs to a subtask rather than to a key.

    Example:
        >>> names = MapStateDescriptor("names", Types.INT(), Types.STRING())
        >>> def name_of(store: OperatorStateStore, number: int) -> str | None:
        ...     return store.get_broadcast_state(names).get(number)
    """

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Return the broadcast state of a descriptor.

        Args:
            state_descriptor: The descriptor that was passed to `broadcast`.
        """


class State(ABC):
    """The base class of all state; keyed state always refers to the current key.

    Example:
        >>> class CountToThree(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         if self.count.value() == 3:
        ...             self.count.clear()
        ...             yield value
        >>> letters = env.from_collection(["a", "a", "b", "a", "a"], Types.STRING())
        >>> by_letter = letters.key_by(lambda letter: letter, Types.STRING())
        >>> _ = by_letter.process(CountToThree(), Types.STRING()).collect_async()
        >>> run_local(env).elements
        ['a']
    """

    @abstractmethod
    def clear(self) -> None:
        """Remove the value of the current key."""


class ValueState(State, Generic[T]):
    """Keyed state with a single value.

    Example:
        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...     def process_element(self, value, ctx):
        ...         count = (self.count.value() or 0) + 1
        ...         self.count.update(count)
        ...         yield value, count
        >>> words = env.from_collection(["to", "be", "to"], Types.STRING())
        >>> _ = words.key_by(lambda word: word, Types.STRING()).process(Count()).collect_async()
        >>> run_local(env).elements
        [('to', 1), ('be', 1), ('to', 2)]
    """

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value; None removes it.

        Args:
            value: A value of the state's type, or None.
        """


class AppendingState(State, Generic[IN, OUT]):
    """State that elements are added to and that returns their combination.

    Example:
        >>> def add_all(state: AppendingState, values: list[int]) -> None:
        ...     for value in values:
        ...         state.add(value)
    """

    @abstractmethod
    def get(self) -> OUT | None:
        """Return the combination of the elements added so far."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add an element.

        Args:
            value: An element of the state's type.
        """


class MergingState(AppendingState[IN, OUT]):
    """An `AppendingState` whose values can be merged, e.g. when windows merge.

    Example:
        >>> def count_late(state: MergingState, values: list[int]) -> None:
        ...     for value in values:
        ...         state.add(value)
    """


class ReducingState(MergingState[T, T]):
    """State that keeps the elements reduced to one value; `get` returns None without elements.

    Example:
        >>> class Largest(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ReducingStateDescriptor("largest", max, Types.INT())
        ...         self.largest = runtime_context.get_reducing_state(descriptor)
        ...     def process_element(self, value, ctx):
        ...         self.largest.add(value)
        ...         yield self.largest.get()
        >>> numbers = env.from_collection([2, 5, 3], Types.INT())
        >>> _ = numbers.key_by(lambda n: "all", Types.STRING()).process(Largest(), Types.INT()).collect_async()
        >>> run_local(env).elements
        [2, 5, 5]
    """


class AggregatingState(MergingState[IN, OUT]):
    """State that keeps the elements aggregated; `get` returns the result, or None without elements.

    Example:
        >>> class Mean(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
        >>> class RunningMean(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        ...         self.mean = runtime_context.get_aggregating_state(descriptor)
        ...     def process_element(self, value, ctx):
        ...         self.mean.add(value)
        ...         yield self.mean.get()
        >>> numbers = env.from_collection([2, 4, 6], Types.INT())
        >>> _ = numbers.key_by(lambda n: "all", Types.STRING()).process(RunningMean(), Types.DOUBLE()).collect_async()
        >>> run_local(env).elements
        [2.0, 3.0, 4.0]
    """


class ListState(MergingState[T, Iterable[T]]):
    """State with a list of elements; `get` returns an iterable, which is empty without elements.

    Example:
        >>> class Pairs(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.waiting.add(value)
        ...         numbers = list(self.waiting)
        ...         if len(numbers) == 2:
        ...             self.waiting.clear()
        ...             yield tuple(numbers)
        >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.INT())
        >>> _ = numbers.key_by(lambda n: "all", Types.STRING()).process(Pairs()).collect_async()
        >>> run_local(env).elements
        [(1, 2), (3, 4)]
    """

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace all elements.

        Args:
            values: The new elements; an empty list clears the state.
        """

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Add several elements.

        Args:
            values: The elements to append, in order.
        """

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class MapState(State, Generic[K, V]):
    """State with a map, whose entries are read and written individually.

    Example:
        >>> class FirstSeen(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = MapStateDescriptor("seen", Types.STRING(), Types.BOOLEAN())
        ...         self.seen = runtime_context.get_map_state(descriptor)
        ...     def process_element(self, value, ctx):
        ...         if value not in self.seen:
        ...             self.seen[value] = True
        ...             yield value
        >>> words = env.from_collection(["to", "be", "to"], Types.STRING())
        >>> _ = words.key_by(lambda word: "all", Types.STRING()).process(FirstSeen(), Types.STRING()).collect_async()
        >>> run_local(env).elements
        ['to', 'be']
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a key.

        Args:
            key: A key of the map, which is not the key of the stream.

        Returns:
            None if the key has no value, or has the value None; `contains` tells them apart.
        """

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key.

        Args:
            key: A key of the descriptor's key type.
            value: A value of the descriptor's value type.
        """

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Set several values, and leave those of other keys alone.

        Args:
            dict_value: A mapping, or an iterable of pairs.
        """

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a key and its value.

        Args:
            key: A key of the map; nothing happens if it has no value.
        """

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether a key has a value.

        Args:
            key: A key of the map, which is not the key of the stream.
        """

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return all keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return all values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there are no entries."""

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
    """Broadcast state as seen by the non-broadcast side.

    Example:
        >>> names = MapStateDescriptor("names", Types.INT(), Types.STRING())
        >>> class WithName(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         state = ctx.get_broadcast_state(names)
        ...         yield state[value] if value in state else "unknown"
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(names)[value[0]] = value[1]
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a key.

        Args:
            key: A key of the map.

        Returns:
            None if the key has no value, or has the value None; `contains` tells them apart.
        """

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether a key has a value.

        Args:
            key: A key of the map.
        """

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return all keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return all values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there are no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """State that every subtask holds in full; the broadcast side must write it identically in all subtasks.

    Example:
        >>> names = MapStateDescriptor("names", Types.INT(), Types.STRING())
        >>> class WithName(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.get_broadcast_state(names).get(value)
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(names).put(*value)
    """

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key.

        Args:
            key: The key, which must be hashable.
            value: The value.
        """

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Set several values, and leave those of other keys alone.

        Args:
            dict_value: A mapping, or an iterable of pairs.
        """

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a key and its value.

        Args:
            key: A key of the map; nothing happens if it has no value.
        """

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class Reducer(Protocol[T]):
    """The interface of a `ReduceFunction` that state uses."""

    def reduce(self, value1: T, value2: T) -> T:
        """Return the combination of both values."""


class Aggregator(Protocol[IN_contra, ACC, OUT_co]):
    """The interface of an `AggregateFunction` that state uses."""

    def create_accumulator(self) -> ACC:
        """Return an empty accumulator."""

    def add(self, value: IN_contra, accumulator: ACC) -> ACC:
        """Return the accumulator with one more element."""

    def get_result(self, accumulator: ACC) -> OUT_co:
        """Return the result computed from an accumulator."""

    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return both accumulators merged into one."""


class StateDescriptor(ABC):  # noqa: B024 - only the concrete descriptors make sense, as in Flink
    """Name, type and time to live of a state.

    Attributes:
        name: Unique within one operator.
        type_info: Type of the value, element, map or accumulator.
        ttl_config: Time to live of the values; None if they never expire.
    """

    def __init__(self, name: str, type_info: TypeInformation[Any]) -> None:
        self.name = name
        self.type_info = checked_type(type_info)
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Return the name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Set the time to live of the values.

        Args:
            ttl_config: How long values live, and which access prolongs their life.

        Example:
            >>> from firesteel.common import Time, Types
            >>> seen = MapStateDescriptor("seen", Types.STRING(), Types.BOOLEAN())
            >>> seen.enable_time_to_live(StateTtlConfig.new_builder(Time.minutes(10)).build())
        """
        self.ttl_config = ttl_config

    def _parts(self) -> dict[str, Any]:
        """Return the attributes to compare, without the one that `ValueStateDescriptor[int](...)` adds."""
        return {name: part for name, part in self.__dict__.items() if name != "__orig_class__"}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """The descriptor of a `ValueState`.

    Args:
        name: Name of the state, unique within the operator.
        value_type_info: Type of the value.

    Example:
        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...     def process_element(self, value, ctx):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         yield value, self.count.value()
    """

    def __init__(self, name: str, value_type_info: TypeInformation[T]) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """The descriptor of a `ListState`; `elem_type_info` is the type of one element.

    Args:
        name: Name of the state, unique within the operator.
        elem_type_info: Type of the elements.

    Example:
        >>> descriptor = ListStateDescriptor("waiting", Types.TUPLE([Types.STRING(), Types.INT()]))
        >>> descriptor.get_name()
        'waiting'
    """

    def __init__(self, name: str, elem_type_info: TypeInformation[T]) -> None:
        super().__init__(name, ListTypeInfo(elem_type_info))
        self.elem_type_info = elem_type_info


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """The descriptor of a `MapState` or a broadcast state.

    Args:
        name: Name of the state, unique within the operator.
        key_type_info: Type of the keys of the map.
        value_type_info: Type of the values of the map.

    Example:
        >>> descriptor = MapStateDescriptor("visits", Types.STRING(), Types.LONG())
        >>> descriptor.get_name()
        'visits'
    """

    def __init__(self, name: str, key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]) -> None:
        super().__init__(name, MapTypeInfo(key_type_info, value_type_info))
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """The descriptor of a `ReducingState`; `reduce_function` is a ReduceFunction or a function of two values.

    Args:
        name: Name of the state, unique within the operator.
        reduce_function: A `ReduceFunction` or a function that combines two values.
        type_info: Type of the values.

    Example:
        >>> descriptor = ReducingStateDescriptor("largest", max, Types.INT())
        >>> descriptor.get_name()
        'largest'
    """

    def __init__(
        self, name: str, reduce_function: Reducer[T] | Callable[[T, T], T], type_info: TypeInformation[T]
    ) -> None:
        if not callable(reduce_function) and not hasattr(reduce_function, "reduce"):
            raise TypeError(f"State {name!r}: needs a ReduceFunction or a function, found {reduce_function!r}")
        super().__init__(name, type_info)
        self.reduce_function = reduce_function

    def get_reduce_function(self) -> object:
        """Return the reduce function."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, ACC, OUT]):
    """The descriptor of an `AggregatingState`; `state_type_info` is the type of the accumulator.

    Args:
        name: Name of the state, unique within the operator.
        agg_function: An `AggregateFunction`.
        state_type_info: Type of the accumulator.

    Example:
        >>> class Mean(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
        >>> descriptor = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
    """

    def __init__(
        self, name: str, agg_function: Aggregator[IN, ACC, OUT], state_type_info: TypeInformation[ACC]
    ) -> None:
        if not hasattr(agg_function, "create_accumulator"):
            raise TypeError(f"State {name!r}: needs an AggregateFunction, found {agg_function!r}")
        super().__init__(name, state_type_info)
        self.agg_function = agg_function

    def get_agg_function(self) -> object:
        """Return the AggregateFunction."""
        return self.agg_function
