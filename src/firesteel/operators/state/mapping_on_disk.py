"""What the tables of states need of a mapping that keeps most of its entries on disk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, MutableMapping

from firesteel.operators.state.cache_memory import CacheShare
from firesteel.operators.state.entries import Entry, Stored


class MappingOnDisk(MutableMapping[Entry, Stored]):
    """A mapping in an `EmbeddedStore`, of which some entries are in memory.

    Attributes:
        changed: Entries that were changed in place, and others; who clears it calls `touched` with it before.
        share: Its share of the memory for entries.
    """

    def __init__(self, share: CacheShare) -> None:
        self.changed: list[object] = []
        self.share = share

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read entries that are going to be asked for, if reading them together is worth it."""

    def touched(self, entries: Iterable[object]) -> None:
        """Note that the values of entries were changed in place."""

    def grew(self, entry: object) -> None:
        """Note that the list of an entry was appended to."""

    @abstractmethod
    def review(self) -> None:
        """Look how much memory the entries take, and write to disk what is too much."""

    @abstractmethod
    def unchanged_items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield (entry, value) pairs in arbitrary order, while nothing is read or changed."""
