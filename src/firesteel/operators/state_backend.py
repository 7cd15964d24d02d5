"""The keyed state of one operator, in memory or on disk, with what changed since the last version.

Each state is a table from entry to value. An entry is the key, or `(key, namespace)` in states that windows keep apart.
The tables know nothing of versions: `KeyedStateBackend.delta` hands out what changed, `load` takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from itertools import islice
from typing import Any

from firesteel.common.key_groups import key_group_assigner
from firesteel.operators.disk_store import DiskDict, DiskStore

Delta = tuple[str, dict[Any, Any]]
"""State name, and entry -> value, where `DELETED` stands for an entry that is gone."""

_CHUNK = 10_000
"""Entries that are handed out at once."""

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


class StateTable:
    """One named state.

    Attributes:
        data: Entries and their values.
        dirty: The entries that were touched since the last version. A value that is changed in place must be got right
            before its entry is added here.
        namespaced: Whether entries are more than the key.
        unexpired: What of `(entry, value)` pairs a full snapshot takes, None: all of it.
    """

    __slots__ = ("data", "dirty", "namespaced", "unexpired")

    def __init__(self, name: str, data: DiskDict | None) -> None:
        self.data: MutableMapping[Any, Any] = {} if data is None else data
        self.dirty: set[Any] = set() if data is None else _DirtyOnDisk(data)
        self.namespaced = name.startswith(NAMESPACED)
        self.unexpired: Callable[[Iterable[tuple[Any, Any]]], Iterator[tuple[Any, Any]]] | None = None

    def put(self, entry: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.data[entry] = value
        self.dirty.add(entry)

    def remove(self, entry: Any) -> None:
        """Remove an entry if it is there."""
        if entry in self.data:
            del self.data[entry]
            self.dirty.add(entry)


class _DirtyOnDisk(set[Any]):
    """Tells a table on disk which of its cached values were changed in place."""

    def __init__(self, data: DiskDict) -> None:
        super().__init__()
        self._data = data

    def add(self, entry: Any) -> None:
        super().add(entry)
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
        self.tables: dict[str, StateTable] = {}
        self.on_records: list[Callable[[int], None]] = []
        self.key_group: Callable[[Any], int] = key_group_assigner(key_type, max_parallelism)

    def table(self, name: str) -> StateTable:
        """The table of a state, made when first asked for."""
        table = self.tables.get(name)
        if table is None:
            data = None if self._store is None or name == TIMERS_TABLE else self._store.table()
            table = self.tables[name] = StateTable(name, data)
        return table

    def delta(self) -> Iterator[Delta]:
        """What changed since the last call of this or `full`, in parts."""
        for name, table in self.tables.items():
            get = table.data.get
            yield from _parts(name, ((entry, get(entry, DELETED)) for entry in table.dirty))
            table.dirty.clear()

    def full(self) -> Iterator[Delta]:
        """Everything but what is left out of snapshots, in parts of the form of a delta."""
        for name, table in self.tables.items():
            items = table.data.items()
            yield from _parts(name, items if table.unexpired is None else table.unexpired(items))
            table.dirty.clear()

    def load(self, delta: Delta, key_groups: range | None = None) -> None:
        """Apply a delta, or what of it is in some key groups; nothing counts as changed by it."""
        name, entries = delta
        table = self.table(name)
        data, key_group, namespaced = table.data, self.key_group, table.namespaced
        for entry, value in entries.items():
            if key_groups is not None and key_group(entry[0] if namespaced else entry) not in key_groups:
                continue
            if isinstance(value, _Deleted):
                data.pop(entry, None)
            else:
                data[entry] = value

    def clear_key(self, key: Any) -> None:
        """Forget all states of a key: BATCH mode is done with it."""
        for table in self.tables.values():
            if table.namespaced:
                for entry in [entry for entry in table.data if entry[0] == key]:
                    del table.data[entry]
            else:
                table.data.pop(key, None)
            table.dirty.clear()


def _parts(name: str, items: Iterable[tuple[Any, Any]]) -> Iterator[Delta]:
    rest = iter(items)
    while part := dict(islice(rest, _CHUNK)):
        yield name, part
