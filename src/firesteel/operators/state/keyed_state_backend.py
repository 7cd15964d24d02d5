"""The keyed state of one operator, in memory or on disk: one table per state, with its changes since the last version.

The tables are independent of versions: `KeyedStateBackend.delta` returns the changes, `load` applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import methodcaller
from typing import TYPE_CHECKING

from firesteel.common.encoding.entry_columns import EntryColumns
from firesteel.common.keys.key_groups import key_group_assigner
from firesteel.operators.state.cache_memory import SpillShare, approximate_size
from firesteel.operators.state.descriptions import (
    DESCRIBED,
    NEXT_SUBTASK,
    OF_KEYS,
    Description,
    check_same,
    different,
    type_text,
)
from firesteel.operators.state.disk_list import DiskList
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.entries import Delta, Entry, Stored
from firesteel.operators.state.map_table import MapsInMemory, MapsOnDisk, MapTable
from firesteel.operators.state.served_table import ServedTable
from firesteel.operators.state.state_table import DELETED, NAMESPACED, StateTable, Table
from firesteel.operators.windows.window_table import WindowsInMemory, WindowTable
from firesteel.operators.windows.windows_on_disk import WindowsOnDisk

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation

_CHUNK = 10_000
"""Maximum number of entries in a delta."""

_CHUNK_BYTES = 1 << 19
"""About how many bytes a delta takes at most, by the size of its first entries.

A delta is copied several times on its way to and from a file. Up to this size the copies stay in the processor's cache
and in memory that is used again; with 16 MB state was written half as fast and read a third as fast.
"""

_SAMPLED = 4

TIMERS_TABLE = f"{NAMESPACED}timers"
"""The table of timers, whose data are also their queues if it is on disk."""

WITH_TTL = "\0ttl"
"""Suffix of the names of tables whose values have a time to live and therefore a timestamp."""

BROADCAST = "\0broadcast\0"
"""Prefix of the names of broadcast states in deltas; every subtask has all their entries."""

OF_MAPS = "\0map"
"""Suffix after the name of a state in the names of map tables."""


class KeyedStateBackend:
    """All states of one keyed operator.

    Flink: `runtime.state.heap.HeapKeyedStateBackend` or, with a `store`, `EmbeddedRocksDBStateBackend`. Unlike in
    Flink, a version consists of the changes of one batch.

    Attributes:
        key_type: The declared type of the keys, if any.
        current_key: The key that states without a namespace refer to.
        current_entry: `(current_key, namespace)`, set by window operators.
        key_group: Returns the key group of a key.
        on_records: Callbacks for cleanup that runs per record; called with the number of elements before they are
        processed.
        times_to_live: The time to live in ms of the values of a table, by its name.
        served: The views of tables that others read.
    """

    def __init__(
        self, key_type: TypeInformation[object] | None, max_parallelism: int, store: DiskStore | None = None
    ) -> None:
        self._store = store
        self.key_type = key_type
        self.current_key: Entry = None
        self.current_entry: object = None
        self.tables: dict[str, Table] = {}
        self.on_records: list[Callable[[int], None]] = []
        self.times_to_live: dict[str, int] = {}
        self.served: dict[str, ServedTable] = {}
        self._restored: dict[str, Description] = {}
        self._of_subtask: dict[str, Description] = {}
        self._described: dict[str, Description] = {OF_KEYS: {"kind": "key", "key": type_text(key_type, is_key=True)}}
        self._undescribed = dict(self._described)
        self.key_group: Callable[[Entry], int] = key_group_assigner(key_type, max_parallelism)

    @property
    def restored(self) -> dict[str, Description]:
        """The descriptions of restored states, by name of the table."""
        for name, found in self._of_subtask.items():
            known = self._restored.setdefault(name, found)
            self._restored[name] = known if known == found else different(known, found)
        self._of_subtask = {}
        return self._restored

    @property
    def is_on_disk(self) -> bool:
        """Whether the tables are on disk."""
        return self._store is not None

    @property
    def new_spill(self) -> Callable[[], SpillShare] | None:
        """Make a share of the memory for entries that an operator keeps as columns; None if all are in memory."""
        return None if self._store is None else self._store.spill

    def table(self, name: str) -> StateTable:
        """Return the table of a state, created on first use."""
        table = self._table(name)
        assert isinstance(table, StateTable)
        return table

    def map_table(self, name: str) -> MapTable:
        """Return the table of a map state, created on first use; its name contains `OF_MAPS`."""
        table = self._table(name)
        assert isinstance(table, MapTable)
        return table

    def changing_table(self, name: str) -> StateTable | MapTable:
        """Return the table of a state, whose changes the caller notes."""
        return self.map_table(name) if OF_MAPS in name else self.table(name)

    def _table(self, name: str) -> Table:
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = self._make(name)
        return table

    def _make(self, name: str) -> Table:
        store = self._store
        if name == TIMERS_TABLE:
            return StateTable(name, None if store is None else store.timers())
        if OF_MAPS in name:
            return MapsInMemory(name) if store is None else MapsOnDisk(name, store)
        return StateTable(name, None if store is None else store.table())

    def window_table(self, name: str, grows: bool) -> WindowTable:
        """Create the table of windows that wait for their end; must be called before anything is loaded."""
        table = WindowsInMemory(grows) if self._store is None else WindowsOnDisk(self._store, grows)
        self.tables[name] = table
        return table

    def prefetch(self, elements: Sequence[tuple[object, object]]) -> None:
        """Read the state of the keys of `(key, value)` elements that are going to be processed."""
        if self._store is not None:
            for table in self.tables.values():
                if isinstance(table, StateTable) and not table.namespaced:
                    table.prefetch(key for key, _ in elements)

    def forget_repetitions(self) -> None:
        """Remove duplicates from the lists of changed entries if they are long."""
        for table in self.tables.values():
            table.forget_repetitions()

    def delta(self) -> Iterator[Delta]:
        """Return the changes since the last call of `delta` or `full`, as deltas of bounded size."""
        return self._versioned(self._undescribed, methodcaller("changes"), is_full=False)

    def full(self) -> Iterator[Delta]:
        """Return all state except entries excluded from snapshots, as deltas of bounded size."""
        return self._versioned(self.restored | self._described, methodcaller("entries"), is_full=True)

    def _versioned(
        self,
        descriptions: dict[str, Description],
        items_of: Callable[[Table], Iterator[tuple[Entry, Stored]]],
        is_full: bool,
    ) -> Iterator[Delta]:
        has_entries = False
        for name, table in self.tables.items():
            parts: Iterable[Delta] = chain(parts_of(name, items_of(table)), _parts_of_columns(name, table, is_full))
            served = self.served.get(name)
            if served is not None:
                parts = served.noted(parts, is_full)
            for part in parts if self._store is None else _lists_in_parts(parts):
                has_entries = True
                yield part
        if self._store is not None:
            self._store.end_version()
        # An operator without any entry has no state, also for a program that no longer has the operator.
        if has_entries and descriptions:
            yield DESCRIBED, dict(descriptions)
        self._undescribed = {} if has_entries else dict(descriptions)

    def load(self, delta: Delta, key_groups: range | None = None) -> None:
        """Apply a delta of keyed state, restricted to some key groups if given, without marking changes."""
        name, entries = delta
        if name.startswith(BROADCAST):
            return
        if name == DESCRIBED:
            self._of_subtask.update((of, found) for of, found in entries.items() if not of.startswith(BROADCAST))
            return
        if name == NEXT_SUBTASK:
            _ = self.restored
            return
        table, key_group = self._table(name), self.key_group
        for entry, value in entries.items():
            # After rescaling, the files of a former subtask have keys of several new ones.
            if key_groups is not None and key_group(table.key_of(entry)) not in key_groups:
                continue
            if value is DELETED:
                table.discard(entry)
            else:
                table.load(entry, value)

    def check_key_type(self, operator: str) -> None:
        """Check that the keys of restored state have the type of the program's.

        Raises:
            StateMigrationError: they have another type.
        """
        before = self.restored.get(OF_KEYS, self._described[OF_KEYS])
        check_same(f"the key of operator {operator!r}", "type", before["key"], self._described[OF_KEYS]["key"])

    def described_tables(self) -> dict[str, tuple[str, str]]:
        """Return name of the table and kind of each state of users that keys have, by name of the state."""
        found: dict[str, tuple[str, str]] = {}
        for name, description in self._described.items():
            if name in self.tables and not name.startswith(NAMESPACED):
                found[name.removesuffix(WITH_TTL).removesuffix(OF_MAPS)] = name, str(description["kind"])
        return found

    def served_table(self, name: str, kind: str, batch_id: int) -> ServedTable:
        """Return the view of a table in memory as of the last batch; to be called between batches if there is none."""
        if name not in self.served:
            self.served[name] = ServedTable(self.changing_table(name), kind, batch_id)
        return self.served[name]

    def publish(self, batch_id: int) -> None:
        """Let the views show the version that was written after a batch; drop those that nobody reads any more."""
        for name, served in list(self.served.items()):
            if served.is_unused():
                del self.served[name]
            else:
                served.publish(batch_id)

    def describe(self, name: str, description: Description) -> None:
        """Note what the versions say about the state of a table."""
        self._described[name] = self._undescribed[name] = description

    def clear_key(self, key: object) -> None:
        """Remove all state of a key that BATCH mode has finished."""
        for table in self.tables.values():
            table.clear_key(key)


def parts_of(name: str, items: Iterable[tuple[object, object]]) -> Iterator[Delta]:
    """Yield the entries of one state and their values as deltas of bounded size."""
    rest = iter(items)
    while part := dict(islice(rest, _SAMPLED)):
        part.update(islice(rest, max(_chunk_like(part) - len(part), 0)))
        yield name, part


def _parts_of_columns(name: str, table: Table, is_full: bool) -> Iterator[Delta]:
    """Yield what a table's operator keeps as columns, as deltas of bounded size."""
    source = table.source if isinstance(table, StateTable) else None
    if source is None:
        return
    parts = ((part, []) for part in source.entries()) if is_full else source.changes()
    for columns, gone in parts:
        if columns:
            step = max(min(_CHUNK, _CHUNK_BYTES * len(columns) // columns.nbytes), 1)
            for start in range(0, len(columns), step):
                yield name, columns.part(start, min(start + step, len(columns)))
        for start in range(0, len(gone), _CHUNK):
            yield name, dict.fromkeys(gone[start : start + _CHUNK], DELETED)


def _chunk_like(sample: Mapping[object, object]) -> int:
    """Return the number of entries like those of a sample that a delta may have."""
    size = sum(map(approximate_size, sample.values())) // len(sample)
    return max(min(_CHUNK, _CHUNK_BYTES // max(size, 1)), 1)


def _lists_in_parts(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """Yield the deltas of a table on disk with a delta for each part of its long lists."""
    for name, entries in deltas:
        if isinstance(entries, EntryColumns):  # They have no lists, and would become objects here.
            yield name, entries
            continue
        lists = {entry: value for entry, value in entries.items() if value.__class__ is DiskList}
        yield name, {entry: value for entry, value in entries.items() if entry not in lists} if lists else entries
        for entry, stored in lists.items():
            for part in stored.parts():
                yield name, {entry: part}
