"""What the tables of states need of a mapping that keeps most of its entries on disk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, MutableMapping, Sequence

from firesteel.operators.state.cache_memory import CacheShare, approximate_size
from firesteel.operators.state.entries import Entry, Stored

_SAMPLED = 4
_POINTER_BYTES = 8
_LEAST_PART = 4
"""The part of the share that is left for entries and values whatever has been noted."""


class MappingOnDisk(MutableMapping[Entry, Stored]):
    """A mapping in an `EmbeddedStore`, of which some entries are in memory.

    Attributes:
        changed: Entries that were changed in place, and others; who shortens it calls `settle` before.
        noted: Entries that its table has noted for the next version; they count as part of its share.
        share: Its share of the memory for entries.
    """

    def __init__(self, share: CacheShare) -> None:
        self.changed: list[object] = []
        self.noted = self.changed
        self.share = share

    def room(self, in_memory: int) -> int:
        """Return how many bytes the entries in memory may take with their values; tell the share what noted ones take.

        The bytes of noted entries are subtracted, as a batch may change many more entries than fit into the share. A
        quarter of the share is left in any case: with less, each value would be read and written alone.

        Args:
            in_memory: The number of entries in memory; most of them are the same objects as noted ones.
        """
        self.share.note(self._noted_bytes(in_memory))
        allowed = self.share.allowed()
        return max(allowed - self.share.noted, allowed // _LEAST_PART)

    def _noted_bytes(self, in_memory: int) -> int:
        """Return how many bytes the noted entries take, most of which are the same objects as those in memory."""
        sampled = self.noted[:_SAMPLED] + self.noted[-_SAMPLED:]
        size = sum(map(approximate_size, sampled)) // max(len(sampled), 1)
        return _POINTER_BYTES * len(self.noted) + size * max(len(self.noted) - in_memory, 0)

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read entries that are going to be asked for, if reading them together is worth it."""

    def values_of(self, entries: Sequence[Entry], default: Stored) -> Iterator[tuple[Entry, Stored]]:
        """Yield entries with their values, or the default, in arbitrary order; nothing is changed meanwhile."""
        for entry in entries:
            yield entry, self.get(entry, default)

    def settle(self) -> None:
        """Note that the values of the entries in `changed` were changed in place, as it is going to be shortened."""

    def grew(self, entry: object) -> None:
        """Note that the list of an entry was appended to."""

    @abstractmethod
    def review(self) -> None:
        """Look how much memory the entries take, and write to disk what is too much."""

    @abstractmethod
    def unchanged_items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield (entry, value) pairs in arbitrary order, while nothing is read or changed."""
