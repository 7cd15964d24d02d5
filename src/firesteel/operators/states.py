"""The states that user functions work with, over the tables of a `KeyedStateBackend`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from firesteel.common.coercion import coercer, is_immutable_type
from firesteel.common.keys import key_keeper, key_of
from firesteel.common.ownership import IMMUTABLE, own, own_all
from firesteel.datastream.state import (
    AggregatingState,
    ListState,
    MapState,
    MapStateDescriptor,
    ReducingState,
    StateDescriptor,
    ValueState,
)
from firesteel.operators.functions import method_of
from firesteel.operators.state_backend import OF_MAPS, WITH_TTL, KeyedStateBackend
from firesteel.operators.state_table import DELETED, NAMESPACED

Coerce = Callable[[Any], Any]


def _coerce(type_info: Any) -> Coerce:
    """Conversion to the declared type, or a copy: what user code does to the value later must not change the state."""
    return coercer(type_info) or own


def _same(value: Any) -> Any:
    return value


def _show(type_info: Any) -> Coerce:
    """What makes of a stored value the one that user code gets: a copy where it could change the state."""
    return _same if is_immutable_type(type_info) else own


def table_name(descriptor: StateDescriptor, namespaced: bool, limited: bool) -> str:
    """The name of the table that keeps a state, `limited` if its values have a time to live."""
    maps = OF_MAPS if isinstance(descriptor, MapStateDescriptor) else ""
    return (NAMESPACED if namespaced else "") + descriptor.name + maps + (WITH_TTL if limited else "")


def has_ttl(descriptor: StateDescriptor) -> bool:
    """True if the values of that state live for a limited time."""
    return descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled()


def entries_of(mapping: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    """The pairs of what `put_all` takes: a dict, as PyFlink's signature says, or pairs, as its implementation wants."""
    return mapping.items() if isinstance(mapping, Mapping) else mapping


class _TableState:
    """What all states share: the table, and the entry that the current key (and window) stands for."""

    __slots__ = ("_backend", "_namespaced", "_table")

    def __init__(self, backend: KeyedStateBackend, descriptor: StateDescriptor, namespaced: bool) -> None:
        self._backend = backend
        self._namespaced = namespaced
        self._table = backend.table(table_name(descriptor, namespaced, has_ttl(descriptor)))

    def _entry(self) -> Any:
        return self._backend.current_entry if self._namespaced else self._backend.current_key

    def _stored(self) -> Any:
        return self._table.data.get(self._entry())

    def clear(self) -> None:
        """Remove the value of the current key."""
        self._table.remove(self._entry())

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Combine the values of the `sources` entries into `target`: windows that merge."""
        merged = self._table.data.get(target)
        for source in sources:
            value = self._table.data.get(source)
            if value is not None:
                merged = value if merged is None else self._combine(merged, value)
                self._table.remove(source)
        if merged is not None:
            self._table.put(target, merged)

    def _combine(self, first: Any, second: Any) -> Any:
        raise TypeError(f"{type(self).__name__} can't be merged")


class KeyedValueState(_TableState, ValueState[Any]):
    """A value per key."""

    __slots__ = ("_coerce", "_show")

    def __init__(self, backend: KeyedStateBackend, descriptor: StateDescriptor, namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = coercer(descriptor.type_info)
        self._show = _show(descriptor.type_info)

    def value(self) -> Any:
        """The value of the current key, None if there is none."""
        backend = self._backend
        value = self._table.data.get(backend.current_entry if self._namespaced else backend.current_key)
        return value if value.__class__ in IMMUTABLE else self._show(value)

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        if value is None:
            self.clear()
            return
        if self._coerce is not None:
            value = self._coerce(value)
        elif value.__class__ not in IMMUTABLE:
            value = own(value)
        backend = self._backend
        entry = backend.current_entry if self._namespaced else backend.current_key
        table = self._table
        table.data[entry] = value
        table.dirty.append(entry)


class KeyedListState(_TableState, ListState[Any]):
    """A list per key."""

    __slots__ = ("_coerce", "_show_all")

    def __init__(self, backend: KeyedStateBackend, descriptor: Any, namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = _coerce(descriptor.elem_type_info)
        self._show_all = _same if is_immutable_type(descriptor.elem_type_info) else own_all

    def get(self) -> list[Any]:
        """The elements; an empty list if there are none."""
        return self._show_all(list(self._stored() or ()))

    def add(self, value: Any) -> None:
        """Append one element."""
        self.add_all([value])

    def add_all(self, values: Iterable[Any]) -> None:
        """Append elements."""
        entry = self._entry()
        stored = self._table.data.get(entry)
        new = list(map(self._coerce, values))
        if stored is None:
            self._table.put(entry, new)
        else:
            stored.extend(new)
            self._table.dirty.append(entry)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements."""
        new = list(map(self._coerce, values))
        if new:
            self._table.put(self._entry(), new)
        else:
            self.clear()

    def _combine(self, first: Any, second: Any) -> Any:
        return first + second


class KeyedMapState(MapState[Any, Any]):
    """A map per key. Its map keys are canonical forms, as keys are."""

    __slots__ = ("_backend", "_coerce_value", "_keep_key", "_namespaced", "_show", "_table")

    def __init__(self, backend: KeyedStateBackend, descriptor: Any, namespaced: bool) -> None:
        self._backend = backend
        self._namespaced = namespaced
        self._table = backend.map_table(table_name(descriptor, namespaced, has_ttl(descriptor)))
        self._keep_key = key_keeper(descriptor.key_type_info)
        self._coerce_value = _coerce(descriptor.value_type_info)
        self._show = _show(descriptor.value_type_info)

    def _entry(self) -> Any:
        return self._backend.current_entry if self._namespaced else self._backend.current_key

    def get(self, key: Any) -> Any:
        """The value of a map key, None if it is not there."""
        return self._show(self._table.get(self._entry(), self._keep_key(key)))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        self._table.put(self._entry(), self._keep_key(key), self._coerce_value(value))

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Set the values of several map keys."""
        for key, value in entries_of(dict_value):
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove a map key if it is there."""
        self._table.remove(self._entry(), self._keep_key(key))

    def contains(self, key: Any) -> bool:
        """True if the map key is there."""
        return self._table.get(self._entry(), self._keep_key(key), DELETED) is not DELETED

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of map key and value; the map may be changed meanwhile."""
        show = self._show
        return ((key_of(key), show(value)) for key, value in self._table.items(self._entry()))

    def keys(self) -> Iterator[Any]:
        """The map keys."""
        return (key_of(key) for key, _ in self._table.items(self._entry()))

    def values(self) -> Iterator[Any]:
        """The values."""
        show = self._show
        return (show(value) for _, value in self._table.items(self._entry()))

    def is_empty(self) -> bool:
        """True if no map key is there."""
        return self._table.is_empty(self._entry())

    def clear(self) -> None:
        """Remove all map keys of the current key."""
        self._table.clear(self._entry())

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Refused: what is to become of a map key that both have?"""
        raise TypeError(f"{type(self).__name__} can't be merged")


class KeyedReducingState(_TableState, ReducingState[Any]):
    """One value per key that all added values were reduced to."""

    __slots__ = ("_coerce", "_reduce", "_show")

    def __init__(self, backend: KeyedStateBackend, descriptor: Any, namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = coercer(descriptor.type_info)
        self._show = _show(descriptor.type_info)
        self._reduce = method_of(descriptor.reduce_function, "reduce")

    def get(self) -> Any:
        """The reduced value, None if nothing was added."""
        return self._show(self._stored())

    def add(self, value: Any) -> None:
        """Reduce one more value into the state."""
        entry = self._entry()
        self._table.put(entry, self._reduced(self._table.data.get(entry), value))

    def _reduced(self, stored: Any, value: Any) -> Any:
        """The value to store; one that was changed in place is not copied."""
        value = own(value)
        reduced = value if stored is None else self._reduce(stored, value)
        if self._coerce is not None:
            return self._coerce(reduced)
        return reduced if reduced is stored or reduced is value else own(reduced)

    def _combine(self, first: Any, second: Any) -> Any:
        return self._reduced(first, second)


class KeyedAggregatingState(_TableState, AggregatingState[Any, Any]):
    """An accumulator per key."""

    __slots__ = ("_coerce", "_function")

    def __init__(self, backend: KeyedStateBackend, descriptor: Any, namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = coercer(descriptor.type_info)
        self._function = descriptor.agg_function

    def get(self) -> Any:
        """The result of the accumulator, None if nothing was added."""
        stored = self._stored()
        return None if stored is None else self._function.get_result(own(stored))

    def add(self, value: Any) -> None:
        """Accumulate one more value."""
        entry = self._entry()
        self._table.put(entry, self._accumulated(self._table.data.get(entry), value))

    def _accumulated(self, stored: Any, value: Any) -> Any:
        """The accumulator to store; one that was changed in place is not copied."""
        accumulator = own(self._function.create_accumulator()) if stored is None else stored
        added = self._function.add(own(value), accumulator)
        if self._coerce is not None:
            return self._coerce(added)
        return added if added is accumulator else own(added)

    def _combine(self, first: Any, second: Any) -> Any:
        merged = self._function.merge(first, second)
        if self._coerce is not None:
            return self._coerce(merged)
        return merged if merged is first or merged is second else own(merged)
