"""A table of keyed state most of whose entries are on disk, with a cache of recent ones as objects.

Why: `docs/decisions/0052-state-on-disk-in-lmdb.md`.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from firesteel.common.trust.pickling import pickled
from firesteel.operators.state.cache_memory import CacheShare, approximate_size
from firesteel.operators.state.disk_list import CHUNK_ELEMENTS, ListChunks
from firesteel.operators.state.embedded_store import LONGEST_KEY, EmbeddedStore, Pair
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.entry_bytes import decoded, encoded
from firesteel.operators.state.mapping_on_disk import MappingOnDisk

_FEWEST_ENTRIES = 2
"""Number of entries that are kept however large they are: functions change values in place."""

_NEW_ENTRIES = 64
"""Number of new entries after which a small table looks how much memory its entries take."""

_SAMPLED = 8
"""Number of the oldest and of the latest entries whose size is looked at."""

_ENTRY_BYTES = 100
"""What an entry takes in the dictionary, beside its key and value."""

_MARK_BYTES = 60
"""What an entry takes in a set."""

_DROPPED_PART = 8

_BATCH = 4096
"""Entries that are read at once by those who read all."""

_PREFETCHED = 256
"""Entries that are read at once before they are asked for; their values may be large."""

_SORTED = 1 << 14
"""Entries that are read in the order in which they are on disk."""

_REMOVED = 4096
"""Removed entries that are noted before they are removed from disk."""

TABLE = struct.Struct(">I")
"""The number of a table, with which its keys begin."""

AFTER_ALL = b"\xff" * LONGEST_KEY
"""Follows the beginning of keys in what comes after all of them."""

_MISSING = object()
"""Stands for no value, as None may be one."""


class DiskDict(MappingOnDisk):
    """A dictionary most of whose entries are on disk.

    Entries stay in memory from when they are read or written until there is no more room; then the first ones go, in
    the order of their arrival. To change a value in place, call `get`, change the value, and add the entry to
    `changed`, with no other `get` in between.

    Attributes:
        chunks: The chunks of its long lists.
    """

    def __init__(self, store: EmbeddedStore, prefix: bytes, chunks: ListChunks, share: CacheShare) -> None:
        super().__init__(share)
        self.chunks = chunks
        self._store, self._prefix = store, prefix
        self._size = self._review_at = self._allowed = self._until_review = self._settled = 0
        self._absent: set[object] = set()
        self._has_rows = False
        self._cached: dict[object, object] = {}
        self._removed: set[object] = set()
        # Those that are as on disk, and not the others: these are most where new keys come, and a set takes 60 bytes
        # for each.
        self._clean = self._marks = set[object]()
        self._note_loaded: Callable[[object], None] = self._clean.add
        self._note_changed: Callable[[object], None] = self._clean.discard
        self._note_removed: Callable[[object], None] = self._clean.discard

    def get(self, entry: object, default: object = None) -> Stored:
        """Return the value of an entry, or the default."""
        value = self._cached.get(entry, _MISSING)
        if value is not _MISSING:
            return value
        if not self._has_rows or entry in self._absent or entry in self._removed:
            return default
        data = self._store.get(self._encode(entry)[0])
        return default if data is None else self._keep(entry, data)

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read entries that are going to be asked for, in the order in which they are on disk, as far as there is room.

        Reading them one by one takes several times as long.
        """
        if not self._has_rows:
            return
        # Half of the room: more would push out what was read first before it is used.
        asked = islice(set(entries).difference(self._cached, self._removed), self._allowed // 2)
        missing = {self._encode(entry)[0]: entry for entry in asked}
        for key, data in self._read(sorted(missing)):
            self._keep(missing.pop(key), data)
        # What is known not to be there is not asked for again; new keys are frequent, and each would cost a look-up.
        self._absent = set(missing.values())

    def values_of(self, entries: Sequence[Entry], default: Stored) -> Iterator[tuple[Entry, Stored]]:
        """Yield entries with their values, or the default, in arbitrary order, without making room for any."""
        for begin in range(0, len(entries), _SORTED):
            missing: dict[bytes, Entry] = {}
            for entry in entries[begin : begin + _SORTED]:
                value = self._cached.get(entry, _MISSING)
                if value is not _MISSING:
                    yield entry, value
                elif self._has_rows and entry not in self._removed:
                    missing[self._encode(entry)[0]] = entry
                else:
                    yield entry, default
            for key, data in self._read(sorted(missing)):
                yield missing.pop(key), _bare(self._loaded(data))
            yield from zip(missing.values(), repeat(default), strict=False)

    def _read(self, keys: list[bytes]) -> Iterator[Pair]:
        for begin in range(0, len(keys), _PREFETCHED):
            yield from self._store.get_several(keys[begin : begin + _PREFETCHED])

    def _keep(self, entry: object, data: bytes) -> Stored:
        if len(self._cached) >= self._review_at:
            self._make_room()
        self._cached[entry] = value = _bare(self._loaded(data))
        self._note_loaded(entry)
        return value

    def _loaded(self, data: bytes) -> Stored | _Whole:
        loaded = pickle.loads(data)
        if self.chunks.are_used:
            self.chunks.keep(_bare(loaded))
        return loaded

    def review(self) -> None:
        """Look how much memory the entries take, and drop the first ones if it is too much."""
        cached = self._cached
        sampled = [*islice(cached.items(), _SAMPLED), *islice(reversed(cached.items()), _SAMPLED)]
        sizes = map(approximate_size, chain.from_iterable(sampled))
        marks = _MARK_BYTES * len(self._marks) // max(len(cached), 1)
        self._size = _ENTRY_BYTES + marks + sum(sizes) // max(len(sampled), 1)
        self._allowed = max(self.room(len(cached)) // self._size, _FEWEST_ENTRIES)
        self._until_review = max(len(cached) // _DROPPED_PART, _NEW_ENTRIES)
        self._limit()

    def _make_room(self) -> None:
        """Make room for a new entry; their sizes are looked at only now and then, as that takes longer."""
        if self._until_review > 0:
            self._limit()
        else:
            self.review()

    def _limit(self) -> None:
        """Drop the first entries if there are more than allowed."""
        cached, allowed = self._cached, self._allowed
        if len(cached) >= allowed:
            # Some more than needed, so that not each new entry makes a write of its own.
            self._drop(list(islice(cached, len(cached) - allowed + allowed // _DROPPED_PART + 1)))
        self.share.used = self._size * len(cached) + self.share.noted
        self._review_at = min(allowed, len(cached) + max(self._until_review, 1))
        self._until_review -= self._review_at - len(cached)

    def _drop(self, entries: list[object]) -> None:
        self._write_all(self._unwritten_of(entries))
        for entry in entries:
            del self._cached[entry]
            self._note_removed(entry)

    def _unwritten_of(self, entries: list[object]) -> set[object]:
        """Return those of some entries in memory that are not as on disk."""
        self._note_in_place()
        return set(entries).difference(self._clean)

    def _note_in_place(self) -> None:
        # Only those since the last time: each drop would look at all that the batch has changed.
        self._clean.difference_update(self.changed[self._settled :])
        self._settled = len(self.changed)

    def settle(self) -> None:
        """Note that the values of the entries in `changed` were changed in place, as it is going to be shortened."""
        self._note_in_place()
        self._settled = 0

    def grew(self, entry: object) -> None:
        """Note that a list was appended to; a long one is kept in chunks from then on."""
        stored = self._cached[entry]
        if stored.__class__ is list and len(stored) > CHUNK_ELEMENTS:
            self._cached[entry] = self.chunks.long_list(stored)
        self._note_changed(entry)

    def _write_all(self, entries: Set[object]) -> None:
        if entries:
            # In the order of the keys, so that neighbours share pages of the tree.
            keys = sorted(((*self._encode(entry), entry) for entry in entries), key=itemgetter(0))
            self._store.put_all((key, self._data(whole, entry)) for key, whole, entry in keys)
            self._absent -= entries
            self._removed -= entries
            self._has_rows = True

    def _data(self, is_whole: bool, entry: object) -> bytes:
        value = self._cached[entry]
        return pickled(_Whole(entry, value) if is_whole else value)

    def _forget_removed(self) -> None:
        # One that was set again is in memory, and written over what is on disk.
        self._store.remove_all(sorted(self._encode(entry)[0] for entry in self._removed.difference(self._cached)))
        self._removed.clear()

    def __getitem__(self, entry: object) -> object:
        value = self.get(entry, _MISSING)
        if value is _MISSING:
            raise KeyError(entry)
        return value

    def __setitem__(self, entry: object, value: object) -> None:
        if self.chunks.are_used:
            self._keep_chunks(self._cached.get(entry), value)
        if len(self._cached) >= self._review_at and entry not in self._cached:
            self._make_room()
        self._cached[entry] = value
        self._note_changed(entry)

    def _keep_chunks(self, before: object, value: object) -> None:
        if before is not value:
            self.chunks.remove(before)
        self.chunks.keep(value)

    def __delitem__(self, entry: object) -> None:
        """Remove an entry; a long list must have been read just before it is removed or replaced, to go as a whole."""
        self.chunks.remove(self._cached.pop(entry, None))
        self._note_removed(entry)
        if self._has_rows:
            self._removed.add(entry)
            if len(self._removed) >= _REMOVED:
                self._forget_removed()

    def __contains__(self, entry: object) -> bool:
        return self.get(entry, _MISSING) is not _MISSING

    def __iter__(self) -> Iterator[Entry]:
        for entry, _ in self.items():
            yield entry

    def items(self) -> Any:
        """Yield (entry, value) pairs in arbitrary order; entries may be changed during iteration."""
        in_memory = set(self._cached)
        for entry in in_memory:
            value = self.get(entry, _MISSING)
            if value is not _MISSING:  # removed meanwhile
                yield entry, value
        for entry, value in self._stored(self._prefix):
            if entry not in in_memory and entry not in self._removed:
                yield entry, value

    def unchanged_items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield (entry, value) pairs in arbitrary order, while nothing is read or changed."""
        cached = self._cached
        yield from cached.items()
        if self._has_rows:
            for entry, value in self._stored(self._prefix):
                if entry not in cached and entry not in self._removed:
                    yield entry, value

    def _stored(self, first: bytes) -> Iterator[tuple[Entry, Stored]]:
        """Yield the entries on disk whose bytes begin with some, and their values there."""
        end = first + AFTER_ALL
        # Some at a time and no open cursor, as the caller may change the table in between.
        while pairs := self._store.between(first, end, _BATCH):
            first = pairs[-1][0] + b"\0"
            for key, data in pairs:
                value = self._loaded(data)
                yield value if value.__class__ is _Whole else (self._decode(key), value)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self._cached) or any(True for _ in self)

    def _encode(self, entry: object) -> tuple[bytes, bool]:
        """Return the bytes of an entry, equal for equal entries, and whether it can't be made from them."""
        data, is_whole = encoded(entry)
        return self._prefix + data, is_whole

    def _decode(self, key: bytes) -> object:
        return decoded(key[TABLE.size :])


class _Whole(NamedTuple):
    """A value with its entry, which can't be made from the bytes of the key."""

    entry: Entry
    value: Stored


def _bare(value: Stored | _Whole) -> Stored:
    """Return a value without its entry."""
    return value.value if value.__class__ is _Whole else value
