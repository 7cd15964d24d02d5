"""One named state of a keyed operator: a table from entry to value that knows what changed since the last version.

An entry is the key, or `(key, namespace)` in states that windows keep apart. How a value that changes inside gets into
the next version is up to the table: `MapTable` and `WindowTable` have entries for its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any, Protocol

from firesteel.operators.disk_store import DiskDict

NAMESPACED = "@"
"""What the names of tables begin with whose entries are `(key, namespace, ...)` and not the key alone."""

_DIRTY_ENTRIES = 1_000_000
"""So many are listed as touched before those that are there twice are sorted out."""


class Deleted:
    """The value of an entry that is gone; one object, also after pickling."""

    def __reduce__(self) -> str:
        return "DELETED"


DELETED = Deleted()

Unexpired = Callable[[Iterable[tuple[Any, Any]]], Iterator[tuple[Any, Any]]]
"""Those of `(entry, value)` pairs whose values have not expired."""


class Table(Protocol):
    """What the backend asks of each state; what it gives out counts as part of the last version from then on."""

    def key_of(self, entry: Any) -> Any:
        """The key that an entry belongs to."""

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """Entries that changed since the last version, with their values; `DELETED` for those that are gone."""

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


class DirtyEntries:
    """The entries of a table that were touched since the last version.

    Attributes:
        dirty: The entries, again and again: to append is quicker than to look for them. A value that is changed in
            place must be got right before its entry is appended.
    """

    __slots__ = ("_limit", "dirty")

    def __init__(self, dirty: list[Any]) -> None:
        self.dirty = dirty
        self._limit = _DIRTY_ENTRIES

    def forget_repetitions(self) -> None:
        """Keep each dirty entry once when they are many; what is left may double before that is done again."""
        if len(self.dirty) > self._limit:
            self.dirty[:] = dict.fromkeys(self.dirty)
            self._limit = max(_DIRTY_ENTRIES, 2 * len(self.dirty))

    def take_dirty(self) -> Iterator[Any]:
        """Each dirty entry once; then none is."""
        yield from dict.fromkeys(self.dirty)
        self.forget_dirty()

    def forget_dirty(self) -> None:
        """Now a version has all entries."""
        self.dirty.clear()
        self._limit = _DIRTY_ENTRIES


class StateTable(DirtyEntries):
    """A state whose values are written whole (see `Table`).

    Attributes:
        data: Entries and their values.
        namespaced: Whether entries are more than the key.
        unexpired: What a full snapshot takes, None: all of it.
    """

    __slots__ = ("data", "namespaced", "unexpired")

    def __init__(self, name: str, data: DiskDict | None) -> None:
        super().__init__([] if data is None else _DirtyOnDisk(data))
        self.data: MutableMapping[Any, Any] = {} if data is None else data
        self.namespaced = name.startswith(NAMESPACED)
        self.unexpired: Unexpired | None = None

    def put(self, entry: Any, value: Any) -> None:
        """Set the value of an entry."""
        self.data[entry] = value
        self.dirty.append(entry)

    def remove(self, entry: Any) -> None:
        """Remove an entry if it is there."""
        if entry in self.data:
            del self.data[entry]
            self.dirty.append(entry)

    def key_of(self, entry: Any) -> Any:
        """The entry itself or its first part."""
        return entry[0] if self.namespaced else entry

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """The dirty entries and their values."""
        get = self.data.get
        for entry in self.take_dirty():
            yield entry, get(entry, DELETED)

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """All entries with their values, but expired ones."""
        items = self.data.items()
        yield from items if self.unexpired is None else self.unexpired(items)
        self.forget_dirty()

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
        self.forget_dirty()

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
