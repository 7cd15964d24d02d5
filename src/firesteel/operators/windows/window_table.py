"""The contents of windows that fire only at their end: a table of keyed state organised by window."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.values.whole_numbers import check_timestamp
from firesteel.operators.state.disk_list import CHUNK_ELEMENTS, loaded
from firesteel.operators.state.disk_store import DiskDict, DiskStore
from firesteel.operators.state.list_part import ListPart
from firesteel.operators.state.state_table import DELETED

if TYPE_CHECKING:
    from firesteel.functions.windows import Window


class ByKey(Protocol):
    """The contents of one window by key, in the order in which the keys arrived."""

    def get(self, key: object) -> Any:
        """Return the contents for a key, or None."""

    def __setitem__(self, key: object, value: object) -> None: ...

    def __iter__(self) -> Iterator[object]: ...

    def __len__(self) -> int: ...

    def items(self) -> Any:
        """Return all keys with their contents."""

    def pop(self, key: object, default: object, /) -> Any:
        """Remove a key and return its contents."""

    def clear(self) -> None:
        """Remove all keys."""


class _ByKeyOnDisk:
    """A dict-like view whose values are on disk, by `(key, window)`."""

    def __init__(self, data: DiskDict, window: object, grows: bool) -> None:
        self._data = data
        self._window = window
        self._grows = grows
        self._keys: dict[Any, None] = {}

    def get(self, key: object) -> Any:
        return self._data.get((key, self._window))

    def __setitem__(self, key: object, value: Any) -> None:
        self._keys[key] = None
        # A long list would be pickled as a whole with each element that is appended to it.
        if self._grows and value.__class__ is list and len(value) > CHUNK_ELEMENTS:
            value = self._data.chunks.long_list(value)
        self._data[key, self._window] = value

    def __iter__(self) -> Iterator[object]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def items(self) -> Iterator[tuple[Any, Any]]:
        for key in self._keys:
            yield key, self.get(key)

    def pop(self, key: object, default: object) -> Any:
        self._keys.pop(key, default)
        return self._data.pop((key, self._window), default)

    def clear(self) -> None:
        for key in self._keys:
            self._data.pop((key, self._window), None)
        self._keys.clear()


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


class WindowTable:
    """The open windows of all keys, ordered by their end (see `state_table.Table`).

    Attributes:
        grows: Whether the contents are lists that elements are appended to.
    """

    def __init__(self, store: DiskStore | None, grows: bool) -> None:
        self.grows = grows
        self._data = None if store is None else store.table()
        self._windows: dict[Any, OpenWindow] = {}
        self._ends: list[tuple[int, int, Any]] = []
        self._sequence = 0
        self._gone: list[object] = []

    def get(self, window: object) -> OpenWindow | None:
        """Return the window, or None if it has no contents yet."""
        return self._windows.get(window)

    def open(self, window: Window) -> OpenWindow:
        """Add a window without contents, and return it.

        Raises:
            ValueOverflowError: its end is outside 64 bits.
        """
        check_timestamp(window.max_timestamp())
        by_key: ByKey = {} if self._data is None else _ByKeyOnDisk(self._data, window, self.grows)
        opened = self._windows[window] = OpenWindow(by_key)
        self._sequence += 1
        heapq.heappush(self._ends, (window.max_timestamp(), self._sequence, window))
        return opened

    def first_end(self) -> int | None:
        """Return the last millisecond of the window that ends next, or None."""
        while self._ends and self._ends[0][2] not in self._windows:
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def take(self, until: int) -> Iterator[tuple[Any, ByKey]]:
        """Remove and yield the windows that end up to a time; each is cleared when the next one is requested."""
        while (end := self.first_end()) is not None and end <= until:
            window = heapq.heappop(self._ends)[2]
            ended = self._windows.pop(window)
            self._gone.extend((key, window) for key in islice(ended.by_key, ended.saved))
            yield window, ended.by_key
            ended.by_key.clear()

    def key_of(self, entry: Any) -> Any:
        """Return the first part of `(key, window)`."""
        return entry[0]

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """Yield `(key, window)` entries changed since the last version, with their contents."""
        for entry in self._gone:
            yield entry, DELETED
        for window, opened in self._windows.items():
            get = opened.by_key.get
            for key, length in opened.touched.items():
                stored = get(key)
                yield (key, window), ListPart(length, stored[length:]) if length else stored
        self._saved()

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """Yield all `(key, window)` entries with their contents, and mark them as saved."""
        yield from self.items()
        self._saved()

    def _saved(self) -> None:
        self._gone.clear()
        for opened in self._windows.values():
            opened.touched.clear()
            opened.saved = len(opened.by_key)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield all `(key, window)` entries with their contents."""
        for window, opened in self._windows.items():
            for key, value in opened.by_key.items():
                yield (key, window), value

    def load(self, entry: Any, value: object) -> None:
        """Set or continue an entry from a version."""
        key, window = entry
        opened = self._windows.get(window) or self.open(window)
        opened.by_key[key] = loaded(opened.by_key.get(key), value) if value.__class__ is ListPart else value
        opened.saved = len(opened.by_key)

    def discard(self, entry: Any) -> None:
        """Remove an entry that a version no longer contains."""
        key, window = entry
        opened = self._windows.get(window)
        if opened is not None:
            opened.by_key.pop(key, None)
            opened.saved = len(opened.by_key)
            if not opened.saved:
                del self._windows[window]

    def forget_repetitions(self) -> None:
        """Do nothing, as touched keys are kept in a set."""

    def clear_key(self, key: object) -> None:
        """Clear the table; BATCH mode has a single key at a time."""
        self._windows.clear()
        self._ends.clear()
        self._gone.clear()

    def __len__(self) -> int:
        return sum(len(opened.by_key) for opened in self._windows.values())
