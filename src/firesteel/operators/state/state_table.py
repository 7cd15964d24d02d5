"""One named state of a keyed operator: a table from entry to value that tracks its changes since the last version.

An entry is the key, or `(key, namespace)` in states that are kept per window. Tables whose values change in part,
`MapTable` and `WindowTable`, write their parts as separate entries of a version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Protocol

from firesteel.operators.state.disk_list import loaded
from firesteel.operators.state.distinct_entries import distinct
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.list_part import ListPart
from firesteel.operators.state.mapping_on_disk import MappingOnDisk

if TYPE_CHECKING:
    from firesteel.common.encoding.entry_columns import ColumnSource

NAMESPACED = "@"
"""Prefix of the names of tables whose entries are `(key, namespace, ...)` instead of the key."""

_DIRTY_ENTRIES = 1_000_000
"""Length of the list of touched entries at which duplicates are removed."""

_DIRTY_ON_DISK = 100_000
"""The same where the list counts as a part of little memory."""


class Deleted:
    """The value of a removed entry; a singleton, also after pickling."""

    def __reduce__(self) -> str:
        return "DELETED"


DELETED = Deleted()

_AT_ONCE = 5_000
"""Entries of a long list that are handled at once: threads that look up state wait for the interpreter meanwhile."""

Unexpired = Callable[[Iterable[tuple[Entry, Stored]]], Iterator[tuple[Entry, Stored]]]
"""Filters `(entry, value)` pairs whose values have not expired."""


class Table(Protocol):
    """The interface of a state for the backend; returned changes count as part of the last version from then on."""

    def key_of(self, entry: object) -> Entry:
        """Return the key that an entry belongs to."""

    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Return the entries changed since the last version with their values; `DELETED` for removed entries."""

    def entries(self) -> Iterator[tuple[Entry, Stored]]:
        """Return all entries that belong into versions, with their values."""

    def load(self, entry: object, value: object) -> None:
        """Set an entry from a version without marking it as changed."""

    def discard(self, entry: object) -> None:
        """Remove an entry according to a version, without marking it as changed."""

    def forget_repetitions(self) -> None:
        """Remove duplicates from the list of changed entries if it is long; called often."""

    def clear_key(self, key: object) -> None:
        """Remove a key that BATCH mode has finished."""

    def __len__(self) -> int: ...


class DirtyEntries:
    """The entries of a table that were touched since the last version.

    Attributes:
        dirty: The touched entries, with duplicates, as appending is faster than a look-up. To change a value in place,
        get it right before its entry is appended.
    """

    __slots__ = ("_distinct", "_least", "_limit", "dirty")

    def __init__(self, dirty: list[object], is_on_disk: bool) -> None:
        self.dirty = dirty
        self._distinct: Callable[[list[object]], Iterable[object]] = distinct if is_on_disk else _in_dictionary
        self._limit = self._least = _DIRTY_ON_DISK if is_on_disk else _DIRTY_ENTRIES

    def forget_repetitions(self) -> None:
        """Remove duplicates when the list is long; the next time is when it has doubled."""
        if len(self.dirty) > self._limit:
            self._settle()
            self.dirty[:] = self._distinct(self.dirty)
            self._limit = max(self._least, 2 * len(self.dirty))

    def _settle(self) -> None:
        """Take note of the dirty entries before the list is shortened."""

    def take_dirty(self) -> list[Entry]:
        """Return each dirty entry once, and clear them."""
        dirty = list(self._distinct(self.dirty))
        self.forget_dirty()
        return dirty

    def forget_dirty(self) -> None:
        """Clear the dirty entries, after a version has taken all entries."""
        self._settle()
        while self.dirty:
            del self.dirty[-_AT_ONCE:]
        self._limit = self._least


def _in_dictionary(entries: list[object]) -> dict[object, None]:
    """Return entries without duplicates, in the order of their first occurrence."""
    found: dict[object, None] = {}
    for begin in range(0, len(entries), _AT_ONCE):
        found.update(zip(entries[begin : begin + _AT_ONCE], repeat(None), strict=False))
    return found


class StateTable(DirtyEntries):
    """A state whose values are written as a whole, except lists that were only appended to (see `Table`).

    Attributes:
        data: Entries and their values.
        grown: The lists that were appended to since the last version, with their lengths in it.
        namespaced: Whether entries consist of key and namespace.
        source: Further entries, which the operator keeps as columns; they are not in `data`.
        unexpired: Filters the entries of a full snapshot; None keeps all of them.
    """

    __slots__ = ("_disk", "data", "grown", "namespaced", "source", "unexpired")

    def __init__(self, name: str, data: MappingOnDisk | None) -> None:
        super().__init__([] if data is None else data.changed, data is not None)
        self.data: MutableMapping[Entry, Stored] = {} if data is None else data
        self._disk = data
        self.grown: dict[Entry, int] = {}
        self.namespaced = name.startswith(NAMESPACED)
        self.unexpired: Unexpired | None = None
        self.source: ColumnSource | None = None

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read the values of entries that are going to be asked for together, if they are on disk."""
        if self._disk is not None:
            self._disk.prefetch(entries)

    def put(self, entry: object, value: object) -> None:
        """Set the value of an entry."""
        self.data[entry] = value
        self.dirty.append(entry)

    def update(self, entry: object, value: object) -> None:
        """Set the value of an entry for a function, whose None is no value, as in Flink."""
        if value is None:
            self.remove(entry)
        else:
            self.put(entry, value)

    def put_all(self, entries: Sequence[object], values: Sequence[object]) -> None:
        """Set the values of entries."""
        self.data.update(zip(entries, values, strict=True))
        self.dirty.extend(entries)

    def append(self, entry: object, elements: list[Stored]) -> None:
        """Append elements to the list of an entry, which the table keeps if there is none."""
        stored = self.data.get(entry)
        if stored is None:
            self.put(entry, elements)
        else:
            # The first append since the last version decides: a version has only the elements from there on.
            self.grown.setdefault(entry, len(stored))
            stored.extend(elements)
            if self._disk is not None:
                self._disk.grew(entry)

    def remove(self, entry: object) -> None:
        """Remove an entry if it is present."""
        if entry in self.data:
            del self.data[entry]
            self.dirty.append(entry)

    def key_of(self, entry: Entry) -> Entry:
        """Return the key of an entry: the entry itself or its first part."""
        return entry[0] if self.namespaced else entry

    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield the dirty entries and their values, and what was appended to other lists."""
        grown, data = self.grown, self.data
        self.grown = {}
        dirty = self.take_dirty()
        if grown:  # A list that was also replaced is among the dirty ones, with all its elements.
            for entry in grown.keys() & dirty:
                del grown[entry]
        if self._disk is None:
            yield from zip(dirty, map(data.get, dirty, repeat(DELETED)), strict=True)
        else:
            yield from self._disk.values_of(dirty, DELETED)
        for entry, length in grown.items():
            yield entry, ListPart(length, data[entry][length:])

    def entries(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all entries that have not expired, with their values."""
        items = self.data.items() if self._disk is None else self._disk.unchanged_items()
        yield from items if self.unexpired is None else self.unexpired(items)
        self.forget_dirty()

    def all_items(self) -> Iterable[tuple[Entry, Stored]]:
        """Return all entries with their values, also expired ones, while nothing is changed."""
        self._take_back()
        return self.data.items()

    def take_all(self) -> list[tuple[Entry, Stored]]:
        """Remove all entries, also expired ones, and return them with their values."""
        self._take_back()
        items = list(self.data.items())
        for entry, _ in items:
            self.remove(entry)
        return items

    def _take_back(self) -> None:
        if self.source is not None:
            self.source.give_back()

    def forget_dirty(self) -> None:
        """Clear the changes, after a version has taken all entries."""
        super().forget_dirty()
        self.grown.clear()

    def _settle(self) -> None:
        if self._disk is not None:
            self._disk.settle()

    def load(self, entry: object, value: object) -> None:
        """Set or continue the value of an entry without marking it as changed."""
        if value.__class__ is ListPart:
            self.data[entry] = loaded(self.data.get(entry), value)
            if self._disk is not None:
                self._disk.grew(entry)
        else:
            self.data[entry] = value

    def discard(self, entry: object) -> None:
        """Remove an entry if it is present, without marking it as changed."""
        self.data.pop(entry, None)

    def clear_key(self, key: object) -> None:
        """Remove the entries of a key."""
        if self.namespaced:
            for entry in [entry for entry in self.data if entry[0] == key]:
                del self.data[entry]
        else:
            self.data.pop(key, None)
        self.forget_dirty()

    def __len__(self) -> int:
        return len(self.data) + (0 if self.source is None else len(self.source))
