"""Maps by entry: what map states keep. What changes of a large map is little, so its parts are entries of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from firesteel.operators.disk_store import DiskStore
from firesteel.operators.state_table import DELETED, NAMESPACED, DirtyEntries, Unexpired


class MapTable(DirtyEntries, ABC):
    """The maps of all entries (see `state_table.Table`, whose entries are `(entry, map key)` here).

    Map keys are canonical forms (see `common.keys`), so that maps in memory and on disk have the same entries.

    Attributes:
        unexpired: What a full snapshot takes, None: all of it.
    """

    __slots__ = ("_namespaced", "unexpired")

    def __init__(self, name: str) -> None:
        super().__init__([])
        self._namespaced = name.startswith(NAMESPACED)
        self.unexpired: Unexpired | None = None

    # --- the map of one entry ----------------------------------------------------------------------------------

    @abstractmethod
    def get(self, entry: Any, key: Any, default: Any = None) -> Any:
        """The value of a map key."""

    @abstractmethod
    def _set(self, entry: Any, key: Any, value: Any) -> None: ...

    @abstractmethod
    def _delete(self, entry: Any, key: Any) -> None: ...

    @abstractmethod
    def items(self, entry: Any) -> Iterator[tuple[Any, Any]]:
        """Map keys and values; the map may be changed meanwhile."""

    @abstractmethod
    def is_empty(self, entry: Any) -> bool:
        """True if no map key is there."""

    def put(self, entry: Any, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        self._set(entry, key, value)
        self.dirty.append((entry, key))

    def remove(self, entry: Any, key: Any) -> None:
        """Remove a map key if it is there."""
        if self.get(entry, key, DELETED) is not DELETED:
            self._delete(entry, key)
            self.dirty.append((entry, key))

    def clear(self, entry: Any) -> None:
        """Remove all map keys."""
        for key, _ in self.items(entry):
            self._delete(entry, key)
            self.dirty.append((entry, key))

    # --- all maps ----------------------------------------------------------------------------------------------

    @abstractmethod
    def maps(self) -> list[Any]:
        """The entries that have a map."""

    @abstractmethod
    def _all(self) -> Iterator[tuple[Any, Any]]: ...

    def key_of(self, entry: Any) -> Any:
        """The key that `(entry, map key)` belongs to."""
        return entry[0][0] if self._namespaced else entry[0]

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """The dirty map entries and their values."""
        for entry, key in self.take_dirty():
            yield (entry, key), self.get(entry, key, DELETED)

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """All map entries with their values, but expired ones."""
        yield from self._all() if self.unexpired is None else self.unexpired(self._all())
        self.forget_dirty()

    def load(self, entry: Any, value: Any) -> None:
        """Set the value of a map entry."""
        state_entry, key = entry
        self._set(state_entry, key, value)

    def discard(self, entry: Any) -> None:
        """Remove a map entry if it is there."""
        state_entry, key = entry
        if self.get(state_entry, key, DELETED) is not DELETED:
            self._delete(state_entry, key)

    def clear_key(self, key: Any) -> None:
        """Remove the maps of a key."""
        for entry in self.maps():
            if (entry[0] if self._namespaced else entry) == key:
                self.clear(entry)
        self.forget_dirty()

    def __len__(self) -> int:
        return len(self.maps())


class MapsInMemory(MapTable):
    """A dict per entry."""

    __slots__ = ("_maps",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._maps: dict[Any, dict[Any, Any]] = {}

    def get(self, entry: Any, key: Any, default: Any = None) -> Any:
        """The value of a map key."""
        stored = self._maps.get(entry)
        return default if stored is None else stored.get(key, default)

    def _set(self, entry: Any, key: Any, value: Any) -> None:
        stored = self._maps.get(entry)
        if stored is None:
            self._maps[entry] = {key: value}
        else:
            stored[key] = value

    def _delete(self, entry: Any, key: Any) -> None:
        stored = self._maps[entry]
        del stored[key]
        if not stored:
            del self._maps[entry]

    def items(self, entry: Any) -> Iterator[tuple[Any, Any]]:
        """Map keys and values, as they are now."""
        return iter(list(self._maps.get(entry, {}).items()))

    def is_empty(self, entry: Any) -> bool:
        """True if no map key is there."""
        return entry not in self._maps

    def maps(self) -> list[Any]:
        """The entries that have a map."""
        return list(self._maps)

    def _all(self) -> Iterator[tuple[Any, Any]]:
        for entry, stored in self._maps.items():
            for key, value in stored.items():
                yield (entry, key), value


class MapsOnDisk(MapTable):
    """A row per map key, so that a map may be larger than memory."""

    __slots__ = ("_data",)

    def __init__(self, name: str, store: DiskStore) -> None:
        super().__init__(name)
        self._data = store.table_of_pairs()

    def get(self, entry: Any, key: Any, default: Any = None) -> Any:
        """The value of a map key."""
        boxed = self._data.get((entry, key))
        return default if boxed is None else boxed[0]

    def _set(self, entry: Any, key: Any, value: Any) -> None:
        self._data[entry, key] = (value,)

    def _delete(self, entry: Any, key: Any) -> None:
        del self._data[entry, key]

    def items(self, entry: Any) -> Iterator[tuple[Any, Any]]:
        """Map keys and values; what is changed meanwhile may be seen or not."""
        for (_, key), (value,) in self._data.items_of(entry):
            yield key, value

    def is_empty(self, entry: Any) -> bool:
        """True if no map key is there."""
        return next(self._data.items_of(entry), None) is None

    def maps(self) -> list[Any]:
        """The entries that have a map."""
        return list(dict.fromkeys(entry for entry, _ in self._data))

    def _all(self) -> Iterator[tuple[Any, Any]]:
        for (entry, key), (value,) in self._data.items():
            yield (entry, key), value
