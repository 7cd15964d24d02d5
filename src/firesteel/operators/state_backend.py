"""The keyed state of one operator, in memory or on disk: a table per state, and what changed since the last version.

The tables know nothing of versions: `KeyedStateBackend.delta` hands out what changed, `load` takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from firesteel.common.key_groups import key_group_assigner
from firesteel.operators.disk_store import DiskStore
from firesteel.operators.map_table import MapsInMemory, MapsOnDisk, MapTable
from firesteel.operators.state_table import DELETED, NAMESPACED, StateTable, Table
from firesteel.operators.window_table import WindowTable

Delta = tuple[str, dict[Any, Any]]
"""State name, and entry -> value, where `DELETED` stands for an entry that is gone."""

_CHUNK = 10_000
"""Entries that are handed out at once."""

TIMERS_TABLE = f"{NAMESPACED}timers"
"""The table of timers, which is in memory always, as they are queued there anyway."""

WITH_TTL = "\0ttl"
"""What the names of tables end with whose values have a time to live, and therefore a time in them."""

BROADCAST = "\0broadcast\0"
"""What the names of broadcast states begin with in deltas: each subtask has all of their entries."""

OF_MAPS = "\0map"
"""What is behind the name of a state in the names of tables of maps."""


class KeyedStateBackend:
    """All states of one keyed operator.

    Flink: `runtime.state.heap.HeapKeyedStateBackend` or, with a `store`, `EmbeddedRocksDBStateBackend`. Differs in that
    a version is the changes of one batch.

    Attributes:
        current_key: The key that states without namespace refer to.
        current_entry: `(current_key, namespace)`, set by window operators.
        key_group: The key group of a key.
        on_records: Called before elements are processed, with their number: clean-ups that each record drives.
    """

    def __init__(self, key_type: Any, max_parallelism: int, store: DiskStore | None = None) -> None:
        self._store = store
        self.current_key: Any = None
        self.current_entry: Any = None
        self.tables: dict[str, Table] = {}
        self.on_records: list[Callable[[int], None]] = []
        self.key_group: Callable[[Any], int] = key_group_assigner(key_type, max_parallelism)

    def table(self, name: str) -> StateTable:
        """The table of a state, made when first asked for."""
        table = self._table(name)
        assert isinstance(table, StateTable)
        return table

    def map_table(self, name: str) -> MapTable:
        """The table of a map state, made when first asked for; `OF_MAPS` is in the name."""
        table = self._table(name)
        assert isinstance(table, MapTable)
        return table

    def _table(self, name: str) -> Table:
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = self._make(name)
        return table

    def _make(self, name: str) -> Table:
        store = None if name == TIMERS_TABLE else self._store
        if OF_MAPS in name:
            return MapsInMemory(name) if store is None else MapsOnDisk(name, store)
        return StateTable(name, None if store is None else store.table())

    def window_table(self, name: str) -> WindowTable:
        """The table of the windows that wait for their end, to be made before anything is loaded."""
        table = self.tables[name] = WindowTable(self._store)
        return table

    def forget_repetitions(self) -> None:
        """Keep the lists of what changed short."""
        for table in self.tables.values():
            table.forget_repetitions()

    def delta(self) -> Iterator[Delta]:
        """What changed since the last call of this or `full`, in parts."""
        for name, table in self.tables.items():
            yield from parts_of(name, table.changes())

    def full(self) -> Iterator[Delta]:
        """Everything but what is left out of snapshots, in parts of the form of a delta."""
        for name, table in self.tables.items():
            yield from parts_of(name, table.entries())

    def load(self, delta: Delta, key_groups: range | None = None) -> None:
        """Apply a delta of keyed state, or what of it is in some key groups; nothing counts as changed by it."""
        name, entries = delta
        if name.startswith(BROADCAST):
            return
        table, key_group = self._table(name), self.key_group
        for entry, value in entries.items():
            if key_groups is not None and key_group(table.key_of(entry)) not in key_groups:
                continue
            if value is DELETED:
                table.discard(entry)
            else:
                table.load(entry, value)

    def clear_key(self, key: Any) -> None:
        """Forget all states of a key: BATCH mode is done with it."""
        for table in self.tables.values():
            table.clear_key(key)


def parts_of(name: str, items: Iterable[tuple[Any, Any]]) -> Iterator[Delta]:
    """Entries of one state and their values as deltas of bounded size."""
    rest = iter(items)
    while part := dict(islice(rest, _CHUNK)):
        yield name, part
