"""Windows that fire only at their end, with contents larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from firesteel.operators.state.disk_list import CHUNK_ELEMENTS
from firesteel.operators.state.disk_pairs import WindowsDict
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.state_table import DELETED
from firesteel.operators.windows.window_table import OpenWindow, WindowTable, change

if TYPE_CHECKING:
    from firesteel.functions.windows import Window


class _ByKeyOnDisk:
    """The contents of one window by key."""

    def __init__(self, data: WindowsDict, window: object, grows: bool) -> None:
        self._data, self._window, self._grows = data, window, grows

    def get(self, key: object) -> Stored:
        return self._data.get((self._window, key))

    def __setitem__(self, key: object, value: Any) -> None:
        # A long list would be pickled as a whole with each element that is appended to it.
        if self._grows and value.__class__ is list and len(value) > CHUNK_ELEMENTS:
            value = self._data.chunks.long_list(value)
        self._data[self._window, key] = value

    def items(self) -> Iterator[tuple[Entry, Stored]]:
        return self._data.items_of(self._window)

    def pop(self, key: object, default: object, /) -> Stored:
        return self._data.pop((self._window, key), default)


class _OpenWindowOnDisk(OpenWindow):
    """A window whose contents are on disk; `saved` is 1 if any of them are in the last version."""

    __slots__ = ("_data",)

    def __init__(self, data: WindowsDict, window: object, grows: bool) -> None:
        super().__init__(_ByKeyOnDisk(data, window, grows))
        self._data = data

    def touch(self, keys: Iterable[Any], grows: bool) -> None:
        """Note the keys whose contents are going to change; they count as memory that the batch takes."""
        known = len(self.touched)
        super().touch(keys, grows)
        self._data.note_keys(len(self.touched) - known)


class WindowsOnDisk(WindowTable):
    """A table that has in memory what was used last, and the keys that were touched since the last version."""

    def __init__(self, store: DiskStore, grows: bool) -> None:
        super().__init__(grows)
        self._data = store.windows()
        self._ended: dict[Window, None] = {}

    def _made(self, window: Window) -> OpenWindow:
        opened = _OpenWindowOnDisk(self._data, window, self.grows)
        if window in self._ended:  # The clock was set back; what the window had must go from the next version, too.
            del self._ended[window]
            self._gone.extend((key, window) for key, _ in self._data.items_of(window))
            self._data.remove_window(window)
        return opened

    def _clear(self, window: Any, ended: OpenWindow) -> None:
        self._data.note_keys(-len(ended.touched))
        if ended.saved:
            # A list of millions of keys has no room; they stay on disk until the version says that they are gone.
            self._ended[window] = None
        else:
            self._data.remove_window(window)

    def changes(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield `(key, window)` entries changed since the last version, with their contents."""
        for entry in self._gone:
            yield entry, DELETED
        for window in self._ended:
            for key, _ in self._data.items_of(window):
                yield (key, window), DELETED
        for window, opened in self._windows.items():
            lengths = opened.touched
            for (_, key), stored in self._data.values_of([(window, key) for key in lengths], None):
                yield (key, window), change(stored, lengths[key])
        self._saved()

    def items(self) -> Iterator[tuple[Entry, Stored]]:
        """Yield all `(key, window)` entries with their contents."""
        for (window, key), value in self._data.unchanged_items():
            if window in self._windows and value is not None:
                yield (key, window), value

    def _saved(self) -> None:
        for window in self._ended:
            self._data.remove_window(window)
        self._ended.clear()
        self._data.note_keys(-sum(len(opened.touched) for opened in self._windows.values()))
        super()._saved()

    def _note_saved(self, opened: OpenWindow) -> None:
        opened.saved = 1

    def discard(self, entry: Any) -> None:
        """Remove an entry that a version no longer contains."""
        key, window = entry
        self._data.pop((window, key), None)
