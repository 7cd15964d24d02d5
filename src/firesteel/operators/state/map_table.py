"""Storage of map states by map entry, because changes of a large map are usually small.

Why: `docs/decisions/0017-tables-by-window-and-by-map-key.md`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.state_table import DELETED, NAMESPACED, DirtyEntries, Unexpired


class MapTable(DirtyEntries, ABC):
    """The maps of all entries (see `state_table.Table`, whose entries are `(entry, map key)` here).

    Map keys are canonical forms (see `common.keys`), so that maps in memory and on disk have the same entries.

    Attributes:
        unexpired: Filters the entries of a full snapshot; None keeps all of them.
    """

    __slots__ = ("_namespaced", "unexpired")

    def __init__(self, name: str, is_on_disk: bool) -> None:
        super().__init__([], is_on_disk)
        self._namespaced = name.startswith(NAMESPACED)
        self.unexpired: Unexpired | None = None

    # --- the map of one entry ----------------------------------------------------------------------------------

    @abstractmethod
    def get(self, entry: object, key: object, default: object = None) -> Stored:
        """Return the value of a map key, or the default."""

    @abstractmethod
    def _set(self, entry: object, key: object, value: object) -> None: ...

    @abstractmethod
    def _delete(self, entry: object, key: object) -> None: ...

    @abstractmethod
    def items(self, entry: object) -> Iterator[tuple[Stored, Stored]]:
        """Return an iterator over map keys and values; the map may be changed during iteration."""

    @abstractmethod
    def is_empty(self, entry: object) -> bool:
        """Return whether the map is empty."""

    def put(self, entry: object, key: object, value: object) -> None:
        """Set the value of a map key."""
        self._set(entry, key, value)
        self.dirty.append((entry, key))

    def remove(self, entry: object, key: object) -> None:
        """Remove a map key if it is present."""
        if self.get(entry, key, DELETED) is not DELETED:
            self._delete(entry, key)
            self.dirty.append((entry, key))

    def clear(self, entry: object) -> None:
        """Remove all map keys."""
        for key, _ in self.items(entry):
            self._delete(entry, key)
            self.dirty.append((entry, key))

    # --- all maps ----------------------------------------------------------------------------------------------

    @abstractmethod
    def maps(self) -> list[Entry]:
        """Return the entries that have a map."""

    @abstractmethod
    def _all(self) -> Iterator[tuple[object, object]]: ...

    def key_of(self, entry: Entry) -> Entry:
        """Return the key that `(entry, map key)` belongs to."""
        return entry[0][0] if self._namespaced else entry[0]

    @abstractmethod
    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield the dirty map entries and their values."""

    def entries(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all map entries that have not expired, with their values."""
        yield from self._all() if self.unexpired is None else self.unexpired(self._all())
        self.forget_dirty()

    def all_items(self) -> Iterable[tuple[Entry, Stored]]:
        """Return all map entries with their values, also expired ones, while nothing is changed."""
        return self._all()

    def take_all(self) -> list[tuple[Entry, Stored]]:
        """Remove all map entries, also expired ones, and return them with their values."""
        items: list[tuple[Entry, Stored]] = list(self._all())
        for (entry, key), _ in items:
            self.remove(entry, key)
        return items

    def load(self, entry: Entry, value: object) -> None:
        """Set the value of a map entry."""
        state_entry, key = entry
        self._set(state_entry, key, value)

    def discard(self, entry: Entry) -> None:
        """Remove a map entry if it is present."""
        state_entry, key = entry
        if self.get(state_entry, key, DELETED) is not DELETED:
            self._delete(state_entry, key)

    def clear_key(self, key: object) -> None:
        """Remove all maps of a key."""
        for entry in self.maps():
            if (entry[0] if self._namespaced else entry) == key:
                self.clear(entry)
        self.forget_dirty()

    def __len__(self) -> int:
        return len(self.maps())


class MapsInMemory(MapTable):
    """A map table with one dict per entry."""

    __slots__ = ("_maps",)

    def __init__(self, name: str) -> None:
        super().__init__(name, is_on_disk=False)
        self._maps: dict[object, dict[object, object]] = {}

    def get(self, entry: object, key: object, default: object = None) -> Stored:
        """Return the value of a map key, or the default."""
        stored = self._maps.get(entry)
        return default if stored is None else stored.get(key, default)

    def _set(self, entry: object, key: object, value: object) -> None:
        stored = self._maps.get(entry)
        if stored is None:
            self._maps[entry] = {key: value}
        else:
            stored[key] = value

    def _delete(self, entry: object, key: object) -> None:
        stored = self._maps[entry]
        del stored[key]
        # `is_empty` and `maps` look only whether there is a map.
        if not stored:
            del self._maps[entry]

    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield the dirty map entries and their values."""
        for entry, key in self.take_dirty():
            yield (entry, key), self.get(entry, key, DELETED)

    def items(self, entry: object) -> Iterator[tuple[Stored, Stored]]:
        """Return an iterator over a copy of the map keys and values."""
        return iter(list(self._maps.get(entry, {}).items()))

    def is_empty(self, entry: object) -> bool:
        """Return whether the map is empty."""
        return entry not in self._maps

    def maps(self) -> list[Entry]:
        """Return the entries that have a map."""
        return list(self._maps)

    def _all(self) -> Iterator[tuple[object, object]]:
        for entry, stored in self._maps.items():
            for key, value in stored.items():
                yield (entry, key), value


class MapsOnDisk(MapTable):
    """A map table with one database row per map key, so that a map may be larger than memory."""

    __slots__ = ("_data",)

    def __init__(self, name: str, store: DiskStore) -> None:
        super().__init__(name, is_on_disk=True)
        self._data = store.maps()
        self._data.noted = self.dirty

    def get(self, entry: object, key: object, default: object = None) -> Stored:
        """Return the value of a map key, or the default."""
        return self._data.get((entry, key), default)

    def _set(self, entry: object, key: object, value: object) -> None:
        self._data[entry, key] = value

    def _delete(self, entry: object, key: object) -> None:
        del self._data[entry, key]

    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield the dirty map entries and their values."""
        yield from self._data.values_of(self.take_dirty(), DELETED)

    def items(self, entry: object) -> Iterator[tuple[Stored, Stored]]:
        """Yield map keys and values; concurrent changes may or may not be visible."""
        for (_, key), stored in self._data.items_of(entry):
            yield key, stored

    def is_empty(self, entry: object) -> bool:
        """Return whether the map is empty."""
        return next(self._data.items_of(entry), None) is None

    def maps(self) -> list[Entry]:
        """Return the entries that have a map."""
        return list(dict.fromkeys(entry for entry, _ in self._data))

    def _all(self) -> Iterator[tuple[Entry, Stored]]:
        yield from self._data.items()
