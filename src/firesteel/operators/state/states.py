"""The states that user functions access, implemented over the tables of a `KeyedStateBackend`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from firesteel.common.keys.canonical_keys import key_keeper, key_of
from firesteel.common.unchanged import unchanged
from firesteel.common.values.coercion import coercer, is_immutable_type
from firesteel.common.values.ownership import IMMUTABLE, own, own_all
from firesteel.functions.state import (
    AggregatingState,
    ListState,
    MapState,
    MapStateDescriptor,
    ReducingState,
    StateDescriptor,
    ValueState,
)
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.state.disk_list import DiskList
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.keyed_state_backend import OF_MAPS, WITH_TTL, KeyedStateBackend
from firesteel.operators.state.state_table import DELETED, NAMESPACED

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.functions.state import AggregatingStateDescriptor, ListStateDescriptor, ReducingStateDescriptor

Coerce = Callable[[Stored], Stored]


def _coerce(type_info: TypeInformation[object] | None) -> Coerce:
    """Return a function that converts to the declared type or copies, so that user code can't change stored values."""
    return coercer(type_info) or own


def _show(type_info: TypeInformation[Stored] | None) -> Coerce:
    """Return a function that maps stored values to values for user code, copied if they are mutable."""
    return unchanged if is_immutable_type(type_info) else own


def table_name(descriptor: StateDescriptor, namespaced: bool, limited: bool) -> str:
    """Return the name of a state's table; `limited` tells whether its values have a time to live."""
    maps = OF_MAPS if isinstance(descriptor, MapStateDescriptor) else ""
    return (NAMESPACED if namespaced else "") + descriptor.name + maps + (WITH_TTL if limited else "")


def possible_table_names(descriptor: StateDescriptor, namespaced: bool) -> list[str]:
    """Return the names that tables of a state can have, whatever its kind and time to live are."""
    name = (NAMESPACED if namespaced else "") + descriptor.name
    return [name + maps + ttl for maps in ("", OF_MAPS) for ttl in ("", WITH_TTL)]


def has_ttl(descriptor: StateDescriptor) -> bool:
    """Return whether a state has a time to live."""
    return descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled()


def entries_of(mapping: Mapping[object, object] | Iterable[tuple[object, object]]) -> Iterable[tuple[object, object]]:
    """Return the pairs of a `put_all` argument: a dict as in PyFlink's signature, or pairs as in its implementation."""
    return mapping.items() if isinstance(mapping, Mapping) else mapping


class _TableState:
    """The base of states: the table and the entry of the current key (and window)."""

    __slots__ = ("_backend", "_namespaced", "_table")

    def __init__(self, backend: KeyedStateBackend, descriptor: StateDescriptor, namespaced: bool) -> None:
        self._backend = backend
        self._namespaced = namespaced
        self._table = backend.table(table_name(descriptor, namespaced, has_ttl(descriptor)))

    def _entry(self) -> Entry:
        return self._backend.current_entry if self._namespaced else self._backend.current_key

    def _stored(self) -> Stored:
        return self._table.data.get(self._entry())

    def clear(self) -> None:
        """Remove the value of the current key."""
        self._table.remove(self._entry())

    def merge(self, target: object, sources: Iterable[Entry]) -> None:
        """Merge the values of the `sources` entries into `target`, when windows merge."""
        merged = self._table.data.get(target)
        for source in sources:
            value = self._table.data.get(source)
            if value is not None:
                merged = value if merged is None else self._combine(merged, value)
                self._table.remove(source)
        self._table.update(target, merged)

    def _combine(self, first: object, second: object) -> object:
        raise TypeError(f"{type(self).__name__} can't be merged")


class KeyedValueState(_TableState, ValueState[Stored]):
    """One value per key."""

    __slots__ = ("_coerce", "_show")

    def __init__(self, backend: KeyedStateBackend, descriptor: StateDescriptor, namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = coercer(descriptor.type_info)
        self._show = _show(descriptor.type_info)

    def value(self) -> Stored:
        """Return the value of the current key, or None."""
        backend = self._backend
        value = self._table.data.get(backend.current_entry if self._namespaced else backend.current_key)
        # Stored values belong to the state: one that user code changes without `update` must not change, as in Flink.
        return value if value.__class__ in IMMUTABLE else self._show(value)

    def update(self, value: object) -> None:
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
        # `put` written out: this is the hottest call of stateful jobs.
        table.data[entry] = value
        table.dirty.append(entry)


class KeyedListState(_TableState, ListState[Stored]):
    """One list per key."""

    __slots__ = ("_coerce", "_show_all")

    def __init__(self, backend: KeyedStateBackend, descriptor: ListStateDescriptor[Stored], namespaced: bool) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = _coerce(descriptor.elem_type_info)
        self._show_all = unchanged if is_immutable_type(descriptor.elem_type_info) else own_all

    def get(self) -> Sequence[Stored]:
        """Return the elements, an empty list if there are none; those of a long list on disk are read as one goes."""
        stored = self._stored()
        return [] if stored is None else self._shown(stored)

    def add(self, value: object) -> None:
        """Append one element."""
        self.add_all([value])

    def add_all(self, values: Iterable[Stored]) -> None:
        """Append elements."""
        new = list(map(self._coerce, values))
        if new:
            self._table.append(self._entry(), new)

    def update(self, values: Iterable[Stored]) -> None:
        """Replace all elements."""
        new = list(map(self._coerce, values))
        self.clear()
        if new:
            self._table.put(self._entry(), new)

    def _shown(self, stored: list[Stored] | DiskList) -> Sequence[Stored]:
        """Return what a function may keep: a copy, or a list on disk as it is now."""
        return stored.view(self._show_all) if isinstance(stored, DiskList) else self._show_all(list(stored))

    def _combine(self, first: Stored, second: Stored) -> object:
        first.extend(second)
        return first


class KeyedMapState(MapState[Stored, Stored]):
    """One map per key; its map keys are stored in canonical form, as keys are."""

    __slots__ = ("_backend", "_coerce_value", "_keep_key", "_namespaced", "_show", "_table")

    def __init__(
        self, backend: KeyedStateBackend, descriptor: MapStateDescriptor[object, object], namespaced: bool
    ) -> None:
        self._backend = backend
        self._namespaced = namespaced
        self._table = backend.map_table(table_name(descriptor, namespaced, has_ttl(descriptor)))
        self._keep_key = key_keeper(descriptor.key_type_info)
        self._coerce_value = _coerce(descriptor.value_type_info)
        self._show = _show(descriptor.value_type_info)

    def _entry(self) -> Entry:
        return self._backend.current_entry if self._namespaced else self._backend.current_key

    def get(self, key: object) -> Stored:
        """Return the value of a map key, or None."""
        return self._show(self._table.get(self._entry(), self._keep_key(key)))

    def put(self, key: object, value: object) -> None:
        """Set the value of a map key."""
        self._table.put(self._entry(), self._keep_key(key), self._coerce_value(value))

    def put_all(self, dict_value: Mapping[object, object] | Iterable[tuple[object, object]]) -> None:
        """Set the values of several map keys."""
        for key, value in entries_of(dict_value):
            self.put(key, value)

    def remove(self, key: object) -> None:
        """Remove a map key if it is present."""
        self._table.remove(self._entry(), self._keep_key(key))

    def contains(self, key: object) -> bool:
        """Return whether the map contains a key."""
        return self._table.get(self._entry(), self._keep_key(key), DELETED) is not DELETED

    def items(self) -> Iterator[tuple[Stored, Stored]]:
        """Return an iterator over (map key, value) pairs; the map may be changed during iteration."""
        show = self._show
        return ((key_of(key), show(value)) for key, value in self._table.items(self._entry()))

    def keys(self) -> Iterator[Stored]:
        """Return the map keys."""
        return (key_of(key) for key, _ in self._table.items(self._entry()))

    def values(self) -> Iterator[Stored]:
        """Return the values."""
        show = self._show
        return (show(value) for _, value in self._table.items(self._entry()))

    def is_empty(self) -> bool:
        """Return whether the map is empty."""
        return self._table.is_empty(self._entry())

    def clear(self) -> None:
        """Remove all map keys of the current key."""
        self._table.clear(self._entry())

    def merge(self, target: object, sources: Iterable[Entry]) -> None:
        """Raise TypeError, as the values of a map key present in both maps could not be merged."""
        raise TypeError(f"{type(self).__name__} can't be merged")


class KeyedReducingState(_TableState, ReducingState[Stored]):
    """One value per key, the reduction of all added values."""

    __slots__ = ("_coerce", "_reduce", "_show")

    def __init__(
        self, backend: KeyedStateBackend, descriptor: ReducingStateDescriptor[object], namespaced: bool
    ) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = coercer(descriptor.type_info)
        self._show = _show(descriptor.type_info)
        self._reduce = method_of(descriptor.reduce_function, "reduce")

    def get(self) -> Stored:
        """Return the reduced value, or None if nothing was added."""
        return self._show(self._stored())

    def add(self, value: object) -> None:
        """Reduce one more value into the state."""
        entry = self._entry()
        self._table.update(entry, self._reduced(self._table.data.get(entry), value))

    def _reduced(self, stored: object, value: object) -> object:
        """Return the value to store; a value that the function changed in place is not copied."""
        value = own(value)
        reduced = value if stored is None else self._reduce(stored, value)
        if self._coerce is not None:
            return self._coerce(reduced)
        # A function may return an object that it keeps elsewhere and changes later.
        return reduced if reduced is stored or reduced is value else own(reduced)

    def _combine(self, first: object, second: object) -> object:
        return self._reduced(first, second)


class KeyedAggregatingState(_TableState, AggregatingState[Stored, Stored]):
    """One accumulator per key."""

    __slots__ = ("_coerce", "_function")

    def __init__(
        self,
        backend: KeyedStateBackend,
        descriptor: AggregatingStateDescriptor[object, object, object],
        namespaced: bool,
    ) -> None:
        super().__init__(backend, descriptor, namespaced)
        self._coerce = coercer(descriptor.type_info)
        self._function = descriptor.agg_function

    def get(self) -> Stored:
        """Return the result of the accumulator, or None if nothing was added."""
        stored = self._stored()
        # `get_result` may take the accumulator apart, which goes on afterwards.
        return None if stored is None else self._function.get_result(own(stored))

    def add(self, value: object) -> None:
        """Accumulate one more value; None clears the state, as in Flink."""
        entry = self._entry()
        self._table.update(entry, self._accumulated(self._table.data.get(entry), value))

    def _accumulated(self, stored: object, value: object) -> object:
        """Return the accumulator to store; one that was changed in place is not copied."""
        if value is None:
            return None
        accumulator = own(self._function.create_accumulator()) if stored is None else stored
        added = self._function.add(own(value), accumulator)
        if self._coerce is not None:
            return self._coerce(added)
        return added if added is accumulator else own(added)

    def _combine(self, first: object, second: object) -> object:
        merged = self._function.merge(first, second)
        if self._coerce is not None:
            return self._coerce(merged)
        return merged if merged is first or merged is second else own(merged)
