"""Lists larger than memory: chunks of elements in the file of a `DiskStore`, and the last elements in memory.

A list is only appended to, so what was read of it stays as it was while more is added. Chunks of removed lists go away
with the next version, as a function may still read a list that it has cleared.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, overload
from weakref import WeakSet

from firesteel.common.trust.pickling import pickled
from firesteel.operators.state.embedded_store import EmbeddedStore
from firesteel.operators.state.entries import Stored
from firesteel.operators.state.list_part import ListPart, continued

CHUNK_ELEMENTS = 1000
"""Number of elements of a chunk; shorter lists are kept as values."""


_READ_CHUNKS = 8
"""Number of chunks that a reader keeps: a pattern of rows reads at several places of a list in turn."""

_Slice: TypeAlias = "slice[int | None, int | None, int | None]"


_PLACE = struct.Struct(">QQ")
"""The numbers of a list and of a chunk, in the order of the keys."""


class ListChunks:
    """The chunks of all long lists of a store.

    Attributes:
        are_used: Whether there has been a long list.
        views: The readers of lists.
    """

    def __init__(self, store: EmbeddedStore, prefix: bytes) -> None:
        self._store, self._prefix = store, prefix
        self._numbers = 0
        self._removed: set[int] = set()
        self.are_used = False
        self.views: WeakSet[DiskListView] = WeakSet()

    def long_list(self, elements: list[Stored]) -> DiskList:
        """Return a new list on disk with some elements."""
        self.are_used = True
        self._numbers += 1
        made = DiskList(self._numbers, 0, [])
        made.chunks = self
        made.extend(elements)
        return made

    def write(self, number: int, chunk: int, elements: list[Stored]) -> None:
        """Write a chunk."""
        self._store.put_all([(self._key(number, chunk), pickled(elements))])

    def read(self, number: int, chunk: int) -> list[Stored]:
        """Return the elements of a chunk."""
        found = self._store.get(self._key(number, chunk))
        assert found is not None, "views keep the chunks that they read"
        elements: list[Stored] = pickle.loads(found)
        return elements

    def _key(self, number: int, chunk: int) -> bytes:
        return self._prefix + _PLACE.pack(number, chunk)

    def remove(self, stored: object) -> None:
        """Note that a value has left its table, which removes the chunks of a list with the next version."""
        if isinstance(stored, DiskList):
            self._removed.add(stored.number)

    def keep(self, stored: object) -> None:
        """Note that a value is in a table, maybe after it has left another entry."""
        if isinstance(stored, DiskList):
            stored.chunks = self
            self._removed.discard(stored.number)

    def forget_removed(self) -> None:
        """Delete the chunks of the lists that are in no table, and that nobody reads."""
        # A generator of a user's function may still read a list that its state has dropped.
        # `views` holds its elements weakly, so one that user code has dropped no longer counts.
        for number in self._removed.difference(view.number for view in self.views):
            self._store.remove_between(self._key(number, 0), self._key(number + 1, 0))
            self._removed.discard(number)


class DiskList:
    """A list of which all but the last elements are on disk; it is appended to, and read by views.

    Attributes:
        number: Identifies its chunks.
        chunks: Where they are.
    """

    __slots__ = ("_last", "_written", "chunks", "number")
    chunks: ListChunks

    def __init__(self, number: int, written: int, last: list[Stored]) -> None:
        self.number = number
        self._written = written
        self._last = last

    def __reduce__(self) -> tuple[type, tuple[int, int, list[Stored]]]:
        return DiskList, (self.number, self._written, self._last)

    def append(self, element: Stored) -> None:
        """Append an element."""
        self._last.append(element)
        if len(self._last) == CHUNK_ELEMENTS:
            self._write_last()

    def extend(self, elements: Iterable[Stored]) -> None:
        """Append elements, and write each chunk that is full."""
        rest = iter(elements)
        while added := list(islice(rest, CHUNK_ELEMENTS - len(self._last))):
            self._last.extend(added)
            if len(self._last) == CHUNK_ELEMENTS:
                self._write_last()

    def _write_last(self) -> None:
        self.chunks.write(self.number, self._written, self._last)
        self._written += 1
        self._last = []

    def view(self, copied: Callable[[list[Stored]], list[Stored]] = list) -> DiskListView:
        """Return the list as it is now, for a reader; `copied` copies the elements that are in memory."""
        return DiskListView(self.chunks, self.number, self._written, copied(list(self._last)))

    def parts(self) -> Iterator[ListPart]:
        """Yield the elements as parts of bounded size."""
        return self.view().parts()

    def __iter__(self) -> Iterator[Stored]:
        return iter(self.view())

    def __getitem__(self, index: _Slice) -> list[object]:
        found = self.view()[index]
        assert isinstance(found, list)
        return found

    def __len__(self) -> int:
        return self._written * CHUNK_ELEMENTS + len(self._last)


class DiskListView(Sequence[Stored]):
    """A list on disk as it was when it was asked for; it is read chunk by chunk.

    It cannot be changed, and what pickles or copies it gets a list.

    Attributes:
        number: Identifies the list; its chunks are kept while there is a view.
    """

    WRITTEN_AS = list

    def __init__(self, chunks: ListChunks, number: int, written: int, last: list[Stored]) -> None:
        self.number = number
        self._chunks, self._written, self._last = chunks, written, last
        self._read: dict[int, list[Stored]] = {}
        chunks.views.add(self)

    def __reduce__(self) -> tuple[type, tuple[list[Stored]]]:
        return list, (list(self),)

    def parts(self, start: int = 0) -> Iterator[ListPart]:
        """Yield the elements from a position on as parts of bounded size."""
        for chunk in range(start // CHUNK_ELEMENTS, self._written + bool(self._last)):
            begin = max(start - chunk * CHUNK_ELEMENTS, 0)
            yield ListPart(chunk * CHUNK_ELEMENTS + begin, self._chunk(chunk)[begin:])

    def _chunk(self, number: int) -> list[Stored]:
        if number == self._written:
            return self._last
        found = self._read.pop(number, None) or self._chunks.read(self.number, number)
        if len(self._read) == _READ_CHUNKS:
            del self._read[next(iter(self._read))]
        self._read[number] = found  # the last one to be dropped
        return found

    def __iter__(self) -> Iterator[Stored]:
        return self._from(0)

    def __len__(self) -> int:
        return self._written * CHUNK_ELEMENTS + len(self._last)

    @overload
    def __getitem__(self, index: int) -> Stored: ...
    @overload
    def __getitem__(self, index: _Slice) -> list[object]: ...
    def __getitem__(self, index: int | _Slice) -> object:
        # A range knows negative indexes, steps and what is out of bounds, as a list does.
        positions = range(len(self))[index]
        if isinstance(positions, range):
            if positions.step != 1:
                return [self[position] for position in positions]
            return list(islice(self._from(positions.start), len(positions)))
        chunk, place = divmod(positions, CHUNK_ELEMENTS)
        return self._chunk(chunk)[place]

    def _from(self, start: int) -> Iterator[Stored]:
        for part in self.parts(start):
            yield from part.elements

    def __add__(self, other: Iterable[Stored]) -> list[Stored]:
        return [*self, *other]

    def __repr__(self) -> str:
        return f"<{len(self)} elements on disk>"


def loaded(earlier: Stored, part: ListPart) -> Stored:
    """Return the list of an entry, in memory or on disk, continued by a part of a version.

    Raises:
        MissingPartError: elements before the part are missing.
    """
    if not isinstance(earlier, DiskList):
        return continued(earlier, part)
    if len(earlier) != part.start:
        return continued(list(earlier), part)
    earlier.extend(part.elements)
    return earlier
