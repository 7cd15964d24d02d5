"""The contents of windows that fire only at their end: a table of keyed state organised by window."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.values.whole_numbers import check_timestamp
from firesteel.operators.state.disk_list import loaded
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.list_part import ListPart
from firesteel.operators.state.state_table import DELETED

if TYPE_CHECKING:
    from firesteel.functions.windows import Window


class ByKey(Protocol):
    """The contents of one window by key; None are those of a key whose function gave back None."""

    def get(self, key: object) -> Stored:
        """Return the contents for a key, or None."""

    def __setitem__(self, key: object, value: object) -> None: ...

    def items(self) -> Iterable[tuple[Entry, Stored]]:
        """Return all keys with their contents, in memory in the order in which they arrived."""

    def pop(self, key: object, default: object, /) -> Stored:
        """Remove a key and return its contents."""


class OpenWindow:
    """A window that waits for its end.

    Attributes:
        by_key: Its contents by key.
        touched: The keys whose contents were touched since the last version, with the lengths of their lists in it.
        saved: The number of its keys, counted from the first, that are in the last version.
    """

    __slots__ = ("by_key", "saved", "touched")

    def __init__(self, by_key: ByKey) -> None:
        self.by_key = by_key
        self.touched: dict[Any, int] = {}
        self.saved = 0

    def touch(self, keys: Iterable[Any], grows: bool) -> None:
        """Note the keys whose contents are going to change; `grows` tells whether elements are appended to lists."""
        get, touched = self.by_key.get, self.touched
        for key in set(keys).difference(touched):
            touched[key] = len(get(key) or ()) if grows else 0


class WindowTable(ABC):
    """The open windows of all keys, ordered by their end (see `state_table.Table`, whose entries are `(key, window)`).

    Attributes:
        grows: Whether the contents are lists that elements are appended to.
    """

    def __init__(self, grows: bool) -> None:
        self.grows = grows
        self._windows: dict[Any, OpenWindow] = {}
        self._ends: list[tuple[int, int, Any]] = []
        self._sequence = 0
        self._gone: list[Entry] = []

    def get(self, window: object) -> OpenWindow | None:
        """Return the window, or None if it has no contents yet."""
        return self._windows.get(window)

    def open(self, window: Window) -> OpenWindow:
        """Add a window without contents, and return it.

        Raises:
            ValueOverflowError: its end is outside 64 bits.
        """
        check_timestamp(window.max_timestamp())
        opened = self._windows[window] = self._made(window)
        self._sequence += 1
        heapq.heappush(self._ends, (window.max_timestamp(), self._sequence, window))
        return opened

    @abstractmethod
    def _made(self, window: Window) -> OpenWindow:
        """Return a window without contents."""

    def first_end(self) -> int | None:
        """Return the last millisecond of the window that ends next, or None."""
        # `discard` leaves the end of its window here.
        while self._ends and self._ends[0][2] not in self._windows:
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def take(self, until: int) -> Iterator[tuple[Any, ByKey]]:
        """Remove and yield the windows that end up to a time; each is removed when the next one is requested."""
        while (end := self.first_end()) is not None and end <= until:
            window = heapq.heappop(self._ends)[2]
            ended = self._windows.pop(window)
            yield window, ended.by_key
            self._clear(window, ended)

    @abstractmethod
    def _clear(self, window: object, ended: OpenWindow) -> None:
        """Remove the contents of a window that has fired, and note that the next version no longer has them."""

    def key_of(self, entry: Any) -> Any:
        """Return the first part of `(key, window)`."""
        return entry[0]

    @abstractmethod
    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield `(key, window)` entries changed since the last version, with their contents."""

    @abstractmethod
    def items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all `(key, window)` entries with their contents."""

    def entries(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all `(key, window)` entries with their contents, and mark them as saved."""
        yield from self.items()
        self._saved()

    def _saved(self) -> None:
        self._gone.clear()
        for opened in self._windows.values():
            opened.touched.clear()
            self._note_saved(opened)

    def load(self, entry: Any, value: object) -> None:
        """Set or continue an entry from a version."""
        key, window = entry
        opened = self._windows.get(window) or self.open(window)
        opened.by_key[key] = loaded(opened.by_key.get(key), value) if value.__class__ is ListPart else value
        self._note_saved(opened)

    @abstractmethod
    def _note_saved(self, opened: OpenWindow) -> None:
        """Note that all keys of a window are in the last version."""

    @abstractmethod
    def discard(self, entry: Any) -> None:
        """Remove an entry that a version no longer contains."""

    def forget_repetitions(self) -> None:  # noqa: B027
        """Do nothing, as touched keys are kept in a set."""

    def clear_key(self, key: object) -> None:
        """Clear the table; BATCH mode has a single key at a time, in memory."""
        self._windows.clear()
        self._ends.clear()
        self._gone.clear()

    def __len__(self) -> int:
        return sum(1 for _ in self.items())


def change(stored: Stored, length: int) -> Stored:
    """Return what a version says of the contents of a key; `length` is that of their list in the version before."""
    if stored is None:
        return DELETED
    return ListPart(length, stored[length:]) if length else stored


class WindowsInMemory(WindowTable):
    """A table with one dict per window."""

    def _made(self, window: Window) -> OpenWindow:
        return OpenWindow({})

    def _clear(self, window: object, ended: OpenWindow) -> None:
        self._gone.extend((key, window) for key, _ in islice(ended.by_key.items(), ended.saved))

    def _note_saved(self, opened: OpenWindow) -> None:
        assert isinstance(opened.by_key, dict)
        opened.saved = len(opened.by_key)

    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield `(key, window)` entries changed since the last version, with their contents."""
        for entry in self._gone:
            yield entry, DELETED
        for window, opened in self._windows.items():
            get = opened.by_key.get
            for key, length in opened.touched.items():
                yield (key, window), change(get(key), length)
        self._saved()

    def items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all `(key, window)` entries with their contents."""
        for window, opened in self._windows.items():
            for key, value in opened.by_key.items():
                if value is not None:
                    yield (key, window), value

    def discard(self, entry: Any) -> None:
        """Remove an entry that a version no longer contains."""
        key, window = entry
        opened = self._windows.get(window)
        if opened is not None:
            opened.by_key.pop(key, None)
            self._note_saved(opened)
            if not opened.saved:
                del self._windows[window]
