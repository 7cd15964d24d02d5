"""Broadcast state: maps that every subtask of an operator holds in full, and their changes per batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from firesteel.common.keys.canonical_keys import key_keeper, key_of
from firesteel.common.values.coercion import coercer, is_immutable_type
from firesteel.common.values.ownership import own
from firesteel.functions.state import BroadcastState
from firesteel.operators.state.descriptions import DESCRIBED, Description, conversion, description_of
from firesteel.operators.state.entries import Delta, Stored
from firesteel.operators.state.keyed_state_backend import BROADCAST, parts_of
from firesteel.operators.state.state_table import DELETED, StateTable
from firesteel.operators.state.states import entries_of

if TYPE_CHECKING:
    from firesteel.functions.state import MapStateDescriptor


class BroadcastStates:
    """The broadcast states of one operator, one table each (Flink: `runtime.state.HeapBroadcastState`)."""

    def __init__(self) -> None:
        self._tables: dict[str, StateTable] = {}
        self._restored: dict[str, Description] = {}
        self._described: dict[str, Description] = {}

    def claim(self, descriptors: Iterable[MapStateDescriptor[object, object]]) -> None:
        """Check the descriptors against restored state, and convert it.

        Raises:
            StateMigrationError: a descriptor does not fit.
        """
        for descriptor in descriptors:
            name = BROADCAST + descriptor.name
            restored = self._restored.pop(name, None)
            convert = None if restored is None else conversion(restored, descriptor)
            self._described[name] = description_of(descriptor)
            if convert is not None:
                table = self.table(descriptor.name)
                table.put_all(list(table.data), list(map(convert, table.data.values())))

    def table(self, name: str) -> StateTable:
        """Return the table of a state, created on first use."""
        table = self._tables.get(BROADCAST + name)
        if table is None:
            table = self._tables[BROADCAST + name] = StateTable(BROADCAST + name, None)
        return table

    def parts(self, full: bool) -> Iterator[Delta]:
        """Yield the changes since the last call, or the whole state if `full`; each has the descriptions."""
        has_entries = False
        for name, table in self._tables.items():
            for part in parts_of(name, table.entries() if full else table.changes()):
                has_entries = True
                yield part
        if has_entries:
            yield DESCRIBED, self._restored | self._described

    def load(self, delta: Delta) -> None:
        """Apply a delta if it belongs to a broadcast state, without marking its entries as changed."""
        name, entries = delta
        if name == DESCRIBED:
            self._restored.update((of, found) for of, found in entries.items() if of.startswith(BROADCAST))
        elif name.startswith(BROADCAST):
            table = self.table(name.removeprefix(BROADCAST))
            for entry, value in entries.items():
                if value is DELETED:
                    table.discard(entry)
                else:
                    table.load(entry, value)


class OperatorBroadcastState(BroadcastState[Stored, Stored]):
    """A map that every subtask holds in full, keyed by canonical forms; `writable` on the broadcast side only."""

    def __init__(self, descriptor: MapStateDescriptor[object, object], table: StateTable, writable: bool) -> None:
        self._name = descriptor.name
        self._keep_key = key_keeper(descriptor.key_type_info)
        self._coerce_value = coercer(descriptor.value_type_info) or own
        self._copies = not is_immutable_type(descriptor.value_type_info)
        self._table = table
        self._writable = writable

    def _show(self, value: object) -> Stored:
        return own(value) if self._copies else value

    def get(self, key: object) -> Stored:
        """Return the value of a key, or None if the key is absent."""
        return self._show(self._table.data.get(self._keep_key(key)))

    def contains(self, key: object) -> bool:
        """Return whether the map contains the key."""
        return self._keep_key(key) in self._table.data

    def items(self) -> Iterator[tuple[Stored, Stored]]:
        """Return the (key, value) pairs."""
        return ((key_of(key), self._show(value)) for key, value in list(self._table.data.items()))

    def keys(self) -> Iterator[Stored]:
        """Return the keys."""
        return map(key_of, list(self._table.data))

    def values(self) -> Iterator[Stored]:
        """Return the values."""
        return map(self._show, list(self._table.data.values()))

    def is_empty(self) -> bool:
        """Return whether the map is empty."""
        return not self._table.data

    def put(self, key: object, value: object) -> None:
        """Set the value of a key."""
        self._check_writable()
        self._table.put(self._keep_key(key), self._coerce_value(value))

    def put_all(self, dict_value: Mapping[object, object] | Iterable[tuple[object, object]]) -> None:
        """Set the values of several keys."""
        for key, value in entries_of(dict_value):
            self.put(key, value)

    def remove(self, key: object) -> None:
        """Remove a key if it is present."""
        self._check_writable()
        self._table.remove(self._keep_key(key))

    def clear(self) -> None:
        """Remove all keys."""
        self._check_writable()
        for key in list(self._table.data):
            self._table.remove(key)

    def _check_writable(self) -> None:
        if not self._writable:
            raise RuntimeError(
                f"broadcast state {self._name!r} is read-only here: change it in process_broadcast_element only"
            )
        self._table.forget_repetitions()
