"""Tables on disk whose entries are pairs: those with the same first part are stored next to each other."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from firesteel.operators.state.cache_memory import CacheShare
from firesteel.operators.state.disk_dict import AFTER_ALL, TABLE, DiskDict
from firesteel.operators.state.disk_list import ListChunks
from firesteel.operators.state.embedded_store import EmbeddedStore
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.entry_bytes import decoded, encoded

_LENGTH = struct.Struct(">H")

_NOTED_KEY_BYTES = 60
"""What a key that a batch has changed takes in the dictionary of its window."""


class _PairsDict(DiskDict):
    """A dictionary whose entries are pairs."""

    def __init__(self, store: EmbeddedStore, prefix: bytes, chunks: ListChunks, share: CacheShare) -> None:
        super().__init__(store, prefix, chunks, share)
        self._last_read: tuple[bytes, object] = b"", None

    def _begin(self, first: object) -> tuple[bytes, bool]:
        """Return the bytes with which the entries of a first part begin, and whether it can't be made from them."""
        data, is_whole = encoded(first)
        # With the length first, no part is the beginning of another one, so a range is that of one first part.
        return self._prefix + _LENGTH.pack(len(data)) + data, is_whole

    def _encode(self, entry: Entry) -> tuple[bytes, bool]:
        (begin, first_whole), (second, second_whole) = self._begin(entry[0]), encoded(entry[1])
        return begin + second, first_whole or second_whole

    def _decode(self, key: bytes) -> object:
        begin = TABLE.size + _LENGTH.size
        end = begin + _LENGTH.unpack_from(key, TABLE.size)[0]
        if key[begin:end] != self._last_read[0]:  # Entries are read in their order, with the same first part in a row.
            self._last_read = key[begin:end], decoded(key[begin:end])
        return self._last_read[1], decoded(key[end:])

    def _stored_of(self, first: object) -> Iterator[tuple[Entry, Stored]]:
        """Yield the entries of a first part that are on disk, and their values there."""
        for entry, value in self._stored(self._begin(first)[0]):
            if entry not in self._removed:
                yield entry, value


class MapsDict(_PairsDict):
    """The maps of all entries: `(entry, map key)`.

    It notes which entries are not on disk, as these are written each time that a map is read as a whole.
    """

    def __init__(self, store: EmbeddedStore, prefix: bytes, chunks: ListChunks, share: CacheShare) -> None:
        super().__init__(store, prefix, chunks, share)
        self._unwritten = self._marks = set[object]()
        self._note_loaded = _nothing
        self._note_changed, self._note_removed = self._unwritten.add, self._unwritten.discard

    def _unwritten_of(self, entries: list[object]) -> set[object]:
        return self._unwritten.intersection(entries)

    def write(self) -> None:
        """Write the entries that are in memory only."""
        self._write_all(self._unwritten.copy())
        self._unwritten.clear()
        self._forget_removed()

    def items_of(self, entry: object) -> Iterator[tuple[Entry, Stored]]:
        """Yield the entries of a map and their values; they may be changed during iteration."""
        self.write()
        yield from self._stored_of(entry)


class WindowsDict(_PairsDict):
    """The contents of all windows: `(window, key)`.

    It knows which keys of a window are in memory, so that a window that ends costs what it has and not what waits.
    """

    def __init__(self, store: EmbeddedStore, prefix: bytes, chunks: ListChunks, share: CacheShare) -> None:
        super().__init__(store, prefix, chunks, share)
        self._in_memory: dict[object, dict[object, None]] = {}
        self._begins: dict[object, tuple[bytes, bool]] = {}
        self._noted_keys = 0
        self._note_loaded, self._note_changed, self._note_removed = self._add_clean, self._add_changed, self._forget

    def _begin(self, first: object) -> tuple[bytes, bool]:
        begin = self._begins.get(first)
        if begin is None:
            begin = self._begins[first] = super()._begin(first)
        return begin

    def _add_clean(self, entry: Entry) -> None:
        self._clean.add(entry)
        self._in_memory.setdefault(entry[0], {})[entry[1]] = None

    def _add_changed(self, entry: Entry) -> None:
        self._clean.discard(entry)
        self._in_memory.setdefault(entry[0], {})[entry[1]] = None

    def _forget(self, entry: Entry) -> None:
        self._clean.discard(entry)
        keys = self._in_memory.get(entry[0], {})
        keys.pop(entry[1], None)
        if not keys:
            self._in_memory.pop(entry[0], None)

    def note_keys(self, more: int) -> None:
        """Note how many more keys of windows, or fewer, are noted for the next version."""
        self._noted_keys += more
        self.share.note(self._noted_bytes(len(self._cached)))

    def _noted_bytes(self, in_memory: int) -> int:
        return _NOTED_KEY_BYTES * self._noted_keys

    def items_of(self, window: object) -> Iterator[tuple[Entry, Stored]]:
        """Yield the keys of a window with their contents, those in memory first; nothing is changed meanwhile."""
        known = self._in_memory.get(window, {})
        for key in known:
            yield key, self._cached[window, key]
        if self._has_rows:
            for (_, key), value in self._stored_of(window):
                if key not in known:
                    yield key, value

    def remove_window(self, window: object) -> None:
        """Remove the contents of a window."""
        if self.chunks.are_used:
            for _, value in self.items_of(window):
                self.chunks.remove(value)
        for key in self._in_memory.pop(window, ()):
            del self._cached[window, key]
            self._clean.discard((window, key))
        if self._has_rows:
            begin = self._begin(window)[0]
            self._store.remove_between(begin, begin + AFTER_ALL)
        self._begins.pop(window, None)


def _nothing(entry: object) -> None:
    pass
