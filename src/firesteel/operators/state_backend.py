"""The keyed state of one operator, in memory or on disk, with what changed since the last version.

Each state is a table from entry to value. An entry is the key, or `(key, namespace)` in states that windows keep apart.
The tables know nothing of versions: `KeyedStateBackend.delta` hands out what changed, `load` takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from itertools import islice
from typing import Any, Protocol

from firesteel.common.key_groups import key_group_assigner
from firesteel.operators.disk_store import DiskDict, DiskStore
from firesteel.operators.window_table import WindowTable

Delta = tuple[str, dict[Any, Any]]
"""State name, and entry -> value, where `DELETED` stands for an entry that is gone."""

_CHUNK = 10_000
"""Entries that are handed out at once."""

_DIRTY_ENTRIES = 1_000_000
"""So many are listed as touched before those that are there twice are sorted out."""

NAMESPACED = "@"
"""What the names of tables begin with whose entries are `(key, namespace, ...)` and not the key alone."""

TIMERS_TABLE = f"{NAMESPACED}timers"
"""The table of timers, which is in memory always, as they are queued there anyway."""

WITH_TTL = "\0ttl"
"""What the names of tables end with whose values have a time to live, and therefore a time in them."""


class _Deleted:
    """The value of an entry that is gone; one object, also after pickling."""

    def __reduce__(self) -> str:
        return "DELETED"


DELETED = _Deleted()


class Table(Protocol):
    """What the backend asks of each state; what it gives out counts as part of the last version from then on."""

    def changes(self, deleted: Any) -> Iterator[tuple[Any, Any]]:
        """Entries that changed since the last version, with their values; `deleted` for those that are gone."""

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """All entries with their values, but what is left out of versions."""

    def load(self, entry: Any, value: Any) -> None:
        """Take an entry from a version; that is no change."""

    def discard(self, entry: Any) -> None:
        """Drop an entry as a version does; that is no change."""

    def forget_repetitions(self) -> None:
        """Keep the list of what changed short; called often."""

    def clear_key(self, key: Any) -> None:
        """Forget a key: BATCH mode is done with it."""

    def __len__(self) -> int: ...


class StateTable:
    """One named state (see `Table`).

    Attributes:
        data: Entries and their values.
        dirty: The entries that were touched since the last version, again and again: to append is quicker than to look
            for them. A value that is changed in place must be got right before its entry is appended.
        namespaced: Whether entries are more than the key.
        unexpired: What of `(entry, value)` pairs a full snapshot takes, None: all of it.
    """

    __slots__ = ("_dirty_limit", "data", "dirty", "namespaced", "unexpired")

    def __init__(self, name: str, data: DiskDict | None) -> None:
        self.data: MutableMapping[Any, Any] = {} if data is None else data
        self.dirty: list[Any] = [] if data is None else _DirtyOnDisk(data)
        self._dirty_limit = _DIRTY_ENTRIES
        self.namespaced = name.startswith(NAMESPACED)
        self.unexpired: Callable[[Iterable[tuple[Any, Any]]], Iterator[tuple[Any, Any]]] | None = None

    def put(self, entry: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.data[entry] = value
        self.dirty.append(entry)

    def remove(self, entry: Any) -> None:
        """Remove an entry if it is there."""
        if entry in self.data:
            del self.data[entry]
            self.dirty.append(entry)

    def forget_repetitions(self) -> None:
        """Keep each dirty entry once when they are many; what is left may double before that is done again."""
        if len(self.dirty) > self._dirty_limit:
            self.dirty[:] = dict.fromkeys(self.dirty)
            self._dirty_limit = max(_DIRTY_ENTRIES, 2 * len(self.dirty))

    def changes(self, deleted: Any) -> Iterator[tuple[Any, Any]]:
        """The dirty entries and their values."""
        get = self.data.get
        for entry in dict.fromkeys(self.dirty):
            yield entry, get(entry, deleted)
        self.dirty.clear()
        self._dirty_limit = _DIRTY_ENTRIES

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """All entries with their values, but expired ones."""
        items = self.data.items()
        yield from items if self.unexpired is None else self.unexpired(items)
        self.dirty.clear()

    def load(self, entry: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.data[entry] = value

    def discard(self, entry: Any) -> None:
        """Remove an entry if it is there."""
        self.data.pop(entry, None)

    def clear_key(self, key: Any) -> None:
        """Remove the entries of a key."""
        if self.namespaced:
            for entry in [entry for entry in self.data if entry[0] == key]:
                del self.data[entry]
        else:
            self.data.pop(key, None)
        self.dirty.clear()

    def __len__(self) -> int:
        return len(self.data)


class _DirtyOnDisk(list[Any]):
    """Tells a table on disk which of its cached values were changed in place."""

    def __init__(self, data: DiskDict) -> None:
        super().__init__()
        self._data = data

    def append(self, entry: Any) -> None:
        super().append(entry)
        self._data.touched(entry)


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
        table = self.tables.get(name)
        if table is None:
            data = None if self._store is None or name == TIMERS_TABLE else self._store.table()
            table = self.tables[name] = StateTable(name, data)
        assert isinstance(table, StateTable)
        return table

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
            yield from _parts(name, table.changes(DELETED))

    def full(self) -> Iterator[Delta]:
        """Everything but what is left out of snapshots, in parts of the form of a delta."""
        for name, table in self.tables.items():
            yield from _parts(name, table.entries())

    def load(self, delta: Delta, key_groups: range | None = None) -> None:
        """Apply a delta, or what of it is in some key groups; nothing counts as changed by it."""
        name, entries = delta
        table = self.tables[name] if name in self.tables else self.table(name)
        key_group, namespaced = self.key_group, name.startswith(NAMESPACED)
        for entry, value in entries.items():
            if key_groups is not None and key_group(entry[0] if namespaced else entry) not in key_groups:
                continue
            if isinstance(value, _Deleted):
                table.discard(entry)
            else:
                table.load(entry, value)

    def clear_key(self, key: Any) -> None:
        """Forget all states of a key: BATCH mode is done with it."""
        for table in self.tables.values():
            table.clear_key(key)


def _parts(name: str, items: Iterable[tuple[Any, Any]]) -> Iterator[Delta]:
    rest = iter(items)
    while part := dict(islice(rest, _CHUNK)):
        yield name, part
