"""The keyed state of one operator, in memory, with what changed since the last version.

Each state is a table from entry to value. An entry is the key, or `(key, namespace)` in states that windows keep apart.
The tables know nothing of files: `KeyedStateBackend.delta` hands out what changed, `load` takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.key_groups import key_group_assigner

Delta = dict[int, dict[str, dict[Any, Any]]]
"""Key group -> state name -> entry -> value, where `DELETED` stands for an entry that is gone."""


NAMESPACED = "@"
"""What the names of tables begin with whose entries are `(key, namespace, ...)` and not the key alone."""

WITH_TTL = "\0ttl"
"""What the names of tables end with whose values have a time to live, and therefore a time in them."""


class _Deleted:
    """The value of an entry that is gone; one object, also after pickling."""

    def __reduce__(self) -> str:
        return "DELETED"


DELETED = _Deleted()


class StateTable:
    """One named state: `data` maps entries to values, `dirty` names the entries touched since the last version.

    `unexpired` gives what of `data` a full snapshot takes, None: all of it.
    """

    __slots__ = ("data", "dirty", "namespaced", "unexpired")

    def __init__(self, name: str) -> None:
        self.data: dict[Any, Any] = {}
        self.dirty: set[Any] = set()
        self.namespaced = name.startswith(NAMESPACED)
        self.unexpired: Callable[[], dict[Any, Any]] | None = None

    def put(self, entry: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.data[entry] = value
        self.dirty.add(entry)

    def remove(self, entry: Any) -> None:
        """Remove an entry if it is there."""
        if entry in self.data:
            del self.data[entry]
            self.dirty.add(entry)


class KeyedStateBackend:
    """All states of one keyed operator.

    Flink: `runtime.state.heap.HeapKeyedStateBackend`. Differs in that a version is the changes of one batch.

    Attributes:
        current_key: The key that states without namespace refer to.
        current_entry: `(current_key, namespace)`, set by window operators.
        key_group: The key group of a key.
        on_records: Called before elements are processed, with their number: clean-ups that each record drives.
    """

    def __init__(self, key_type: Any, max_parallelism: int) -> None:
        self.current_key: Any = None
        self.current_entry: Any = None
        self.tables: dict[str, StateTable] = {}
        self.on_records: list[Callable[[int], None]] = []
        self.key_group: Callable[[Any], int] = key_group_assigner(key_type, max_parallelism)

    def table(self, name: str) -> StateTable:
        """The table of a state, made when first asked for."""
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = StateTable(name)
        return table

    def delta(self) -> Delta:
        """What changed since the last call."""
        delta: Delta = {}
        for name, table in self.tables.items():
            self._group(delta, name, table, table.dirty, table.data)
            table.dirty = set()
        return delta

    def full(self) -> Delta:
        """Everything but what is left out of snapshots, in the form of a delta."""
        delta: Delta = {}
        for name, table in self.tables.items():
            data = table.data if table.unexpired is None else table.unexpired()
            self._group(delta, name, table, data, data)
        return delta

    def _group(self, delta: Delta, name: str, table: StateTable, entries: Iterable[Any], data: dict[Any, Any]) -> None:
        key_group, namespaced = self.key_group, table.namespaced
        for entry in entries:
            group = key_group(entry[0] if namespaced else entry)
            delta.setdefault(group, {}).setdefault(name, {})[entry] = data.get(entry, DELETED)

    def load(self, delta: Delta) -> None:
        """Apply a delta to the tables; nothing counts as changed by it."""
        for states in delta.values():
            for name, entries in states.items():
                data = self.table(name).data
                for entry, value in entries.items():
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
