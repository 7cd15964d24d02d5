"""Collections within accumulators (module as `pyflink.table.data_view`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
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


class RemovableIterator(Generic[K, V, T]):
    """An iterator over entries of a map that can be removed on the way (PyFlink: `RemovableConcatIterator`).

    Args:
        entries: The map.
        shown: What is returned for a key.
    """

    def __init__(self, entries: dict[K, V], shown: Callable[[K], T]) -> None:
        self._entries = entries
        self._shown = shown
        self._keys = iter(list(entries))
        self._last: list[K] = []

    def __iter__(self) -> RemovableIterator[K, V, T]:
        return self

    def __next__(self) -> T:
        self._last = [next(self._keys)]
        return self._shown(self._last[0])

    def remove(self) -> None:
        """Remove the entry that was returned last.

        Raises:
            RuntimeError: none was returned, or it is removed already.
        """
        if not self._last:
            raise RuntimeError("remove() needs an entry that next() has returned, once")
        del self._entries[self._last.pop()]


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

    def items(self) -> RemovableIterator[K, V, tuple[K, V]]:
        """Return an iterator over the pairs."""
        return RemovableIterator(self._dict, lambda key: (key, self._dict[key]))

    def keys(self) -> RemovableIterator[K, V, K]:
        """Return an iterator over the keys."""
        return RemovableIterator(self._dict, lambda key: key)

    def values(self) -> RemovableIterator[K, V, V]:
        """Return an iterator over the values."""
        return RemovableIterator(self._dict, self._dict.__getitem__)

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
