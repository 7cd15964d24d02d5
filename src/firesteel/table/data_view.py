"""Collections within accumulators (module as `pyflink.table.data_view`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection that is part of an accumulator.

    Example:
        >>> words = ListView()
        >>> words.add_all(["to", "be"])
        >>> list(words)
        ['to', 'be']
        >>> words.clear()
        >>> list(words)
        []
    """

    @abstractmethod
    def clear(self) -> None:
        """Remove everything."""


class ListView(DataView, Generic[T]):
    """A list that is part of an accumulator; its type is `DataTypes.LIST_VIEW`.

    Example:
        >>> class Concatenate(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return Row(ListView())
        ...     def accumulate(self, accumulator, value):
        ...         accumulator[0].add(value)
        ...     def get_value(self, accumulator):
        ...         return " ".join(accumulator[0])
        ...     def get_accumulator_type(self):
        ...         return DataTypes.ROW([DataTypes.FIELD("words", DataTypes.LIST_VIEW(DataTypes.STRING()))])
        ...     def get_result_type(self):
        ...         return DataTypes.STRING()
        >>> table_env = StreamTableEnvironment.create(env)
        >>> words = table_env.from_elements([("to",), ("be",)], ["word"])
        >>> text = words.select(udaf(Concatenate())(col("word")).alias("text"))
        >>> _ = table_env.to_changelog_stream(text).collect_async()
        >>> run_local(env).elements[-1]
        Row(text='to be')
    """

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """Return the elements."""
        return self._list

    def add(self, value: T) -> None:
        """Append an element.

        Args:
            value: An element of the type that LIST_VIEW declares; it is not copied.
        """
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        """Append elements.

        Args:
            values: Elements in order.
        """
        self._list.extend(values)

    def clear(self) -> None:
        """Remove all elements."""
        self._list.clear()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    def __getitem__(self, index: Any) -> Any:
        return self._list[index]


class MapView(Generic[K, V]):
    """A map that is part of an accumulator; its type is `DataTypes.MAP_VIEW`.

    Example:
        >>> class CountDistinct(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return Row(MapView())
        ...     def accumulate(self, accumulator, value):
        ...         accumulator[0][value] = True
        ...     def get_value(self, accumulator):
        ...         return len(list(accumulator[0].keys()))
        ...     def get_accumulator_type(self):
        ...         seen = DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BOOLEAN())
        ...         return DataTypes.ROW([DataTypes.FIELD("seen", seen)])
        ...     def get_result_type(self):
        ...         return DataTypes.BIGINT()
        >>> table_env = StreamTableEnvironment.create(env)
        >>> words = table_env.from_elements([("to",), ("be",), ("to",)], ["word"])
        >>> distinct = words.select(udaf(CountDistinct())(col("word")).alias("n"))
        >>> _ = table_env.to_changelog_stream(distinct).collect_async()
        >>> run_local(env).elements[-1]
        Row(n=2)
    """

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value of a key.

        Args:
            key: A key; it must be hashable.

        Returns:
            None if there is no such key.
        """
        return self._dict.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key.

        Args:
            key: A key; it must be hashable.
            value: Replaces the present value.
        """
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys, and leave others alone.

        Args:
            dict_value: Values by key.
        """
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key and its value.

        Args:
            key: A key that the map has.

        Raises:
            KeyError: it is not there.
        """
        del self._dict[key]

    def contains(self, key: K) -> bool:
        """Return whether a key is there.

        Args:
            key: A key; it must be hashable.
        """
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Return the pairs."""
        return self._dict.items()

    def keys(self) -> Iterable[K]:
        """Return the keys."""
        return self._dict.keys()

    def values(self) -> Iterable[V]:
        """Return the values."""
        return self._dict.values()

    def is_empty(self) -> bool:
        """Return whether there are no keys."""
        return not self._dict

    def clear(self) -> None:
        """Remove all keys."""
        self._dict.clear()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    def __getitem__(self, key: K) -> V:
        return self._dict[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._dict[key] = value

    def __delitem__(self, key: K) -> None:
        del self._dict[key]

    def __contains__(self, key: K) -> bool:
        return key in self._dict

    def __iter__(self) -> Any:
        return iter(self._dict)
