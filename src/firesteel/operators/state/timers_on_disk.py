"""Timers larger than memory, in the order of their times (Flink: `RocksDBCachingPriorityQueueSet`).

New timers are in memory until there are too many of them; then all go to disk. The next ones are read from there some
at a time.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Container, Iterator
from itertools import islice

from firesteel.common.trust.pickling import pickled
from firesteel.operators.state.cache_memory import CacheShare, approximate_size
from firesteel.operators.state.disk_dict import AFTER_ALL
from firesteel.operators.state.embedded_store import EmbeddedStore
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.entry_bytes import encoded
from firesteel.operators.state.mapping_on_disk import MappingOnDisk
from firesteel.operators.state.timer_queue import TimerQueue

_ORDER = struct.Struct(">BQ")
"""The domain of a timer, and its time from the least one on, which are in the order of the bytes."""

_LEAST = -(1 << 63)
_ENTRY_BYTES = 300
"""What a timer takes in the dictionary and the queue, beside its key and namespace."""

_SAMPLED = 8
_FEWEST = 8
_BATCH = 4096
_REMOVED = 4096
"""Number of timers removed from disk after which they are removed there."""


class TimersOnDisk(MappingOnDisk):
    """The registered timers of an operator: entries `(key, domain, namespace, timestamp)`, whose value is True.

    Attributes:
        queues: The timers of each domain, earliest first; timers of one time in no order.
    """

    def __init__(self, store: EmbeddedStore, prefix: bytes, share: CacheShare) -> None:
        super().__init__(share)
        self._store, self._prefix = store, prefix
        self._new: dict[Entry, bool] = {}
        self._removed: set[bytes] = set()
        self._has_rows = False
        self._review_at = _FEWEST
        self._absent: object = None
        self.queues = QueueOnDisk(self, 0, self._new), QueueOnDisk(self, 1, self._new)

    def __contains__(self, entry: object) -> bool:
        found = entry in self._new or (self._has_rows and self._is_on_disk(self._key(entry)))
        self._absent = None if found else entry
        return found

    def _is_on_disk(self, key: bytes) -> bool:
        return key not in self._removed and self._store.get(key) is not None

    def get(self, entry: object, default: object = None) -> Stored:
        """Return True for a registered timer, or the default."""
        return True if entry in self else default

    def __getitem__(self, entry: object) -> Stored:
        if entry not in self:
            raise KeyError(entry)
        return True

    def __setitem__(self, entry: Entry, value: Stored) -> None:
        # Callers have mostly just asked, and asking may read from disk.
        if entry is not self._absent and entry in self:
            return
        if len(self._new) >= self._review_at:
            self.review()
        self._new[entry] = value
        self.queues[entry[1]].new.push(entry[3], entry)

    def __delitem__(self, entry: Entry) -> None:
        if self._new.pop(entry, False):
            self.queues[entry[1]].new.removed()
        else:
            self._removed.add(self._key(entry))
            if len(self._removed) >= _REMOVED:
                self._forget_removed()

    def review(self) -> None:
        """Write all timers to disk if those in memory take too much."""
        sizes = [approximate_size(entry) for entry in islice(self._new, _SAMPLED)]
        size = _ENTRY_BYTES + sum(sizes) // max(len(sizes), 1)
        allowed = max(self.room(len(self._new)) // size, _FEWEST)
        if len(self._new) >= allowed:
            self._spill()
        self.share.used = size * len(self._new) + self.share.noted
        self._review_at = min(allowed, 2 * len(self._new) + _FEWEST)

    def _spill(self) -> None:
        self._forget_removed()
        # After the removal, as a timer may have been removed and registered again since it was written.
        self._store.put_all(sorted((self._key(entry), pickled(entry)) for entry in self._new))
        self._new.clear()
        self._has_rows = True
        for queue in self.queues:
            queue.new = TimerQueue(self._new)

    def clear(self) -> None:
        """Remove all timers."""
        self._store.remove_between(self._prefix, self._prefix + AFTER_ALL)
        self._new.clear()
        self._removed.clear()
        for queue in self.queues:
            queue.new = TimerQueue(self._new)
            queue.read_again()

    def _forget_removed(self) -> None:
        self._store.remove_all(sorted(self._removed))
        self._removed.clear()
        for queue in self.queues:
            queue.read_again()

    def _key(self, entry: Entry) -> bytes:
        key, domain, namespace, timestamp = entry
        return self._prefix + _ORDER.pack(domain, timestamp - _LEAST) + encoded((key, namespace))[0]

    def first_on_disk(self, domain: int, after: bytes, most: int) -> list[tuple[bytes, Entry]]:
        """Return the next timers of a domain with their keys, the earliest last."""
        begin = self._prefix + domain.to_bytes()
        found = self._store.between(after or begin, self._prefix + (domain + 1).to_bytes(), most)
        return [(key, pickle.loads(data)) for key, data in reversed(found)] if self._has_rows else []

    def is_removed(self, key: bytes) -> bool:
        """Return whether a timer that is on disk was removed."""
        return key in self._removed

    def __iter__(self) -> Iterator[Entry]:
        yield from list(self._new)
        for domain in range(len(self.queues)):
            after = b""
            while found := self.first_on_disk(domain, after, _BATCH):
                after = found[0][0] + b"\0"
                yield from [entry for key, entry in reversed(found) if key not in self._removed]

    def unchanged_items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all timers with True."""
        for entry in self:
            yield entry, True

    def __len__(self) -> int:
        return sum(1 for _ in self)


class QueueOnDisk:
    """The timers of one domain, earliest first (see `TimerQueue`).

    Attributes:
        new: Those in memory.
    """

    def __init__(self, timers: TimersOnDisk, domain: int, new: Container[object]) -> None:
        self._timers, self._domain = timers, domain
        self.new = TimerQueue(new)
        self.read_again()

    def read_again(self) -> None:
        """Forget what was read from disk."""
        self._next: list[tuple[bytes, Entry]] = []
        self._read_to: bytes | None = b""

    def __len__(self) -> int:
        return len(self.new)

    def push(self, timestamp: int, entry: object) -> None:
        """Do nothing: a timer is queued by the mapping."""

    def removed(self) -> None:
        """Do nothing, as for `push`."""

    def first(self) -> tuple[int, Entry] | None:
        """Return the timestamp and entry of the earliest timer, or None."""
        on_disk, new = self._first_on_disk(), self.new.first()
        if on_disk is None or (new is not None and new[0] <= on_disk[3]):
            return new
        return on_disk[3], on_disk

    def _first_on_disk(self) -> Entry | None:
        while True:
            while self._next and self._timers.is_removed(self._next[-1][0]):
                self._next.pop()
            if self._next:
                return self._next[-1][1]
            if self._read_to is None:
                return None
            self._next = self._timers.first_on_disk(self._domain, self._read_to, _BATCH)
            self._read_to = self._next[0][0] + b"\0" if self._next else None

    def pop(self) -> None:
        """Do nothing: the mapping forgets a timer that is deleted."""
