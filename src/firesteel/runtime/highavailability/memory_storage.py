"""Entries in memory, for the leaders of one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Set
from typing import Any

from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.storage import Names

__all__ = ["MemoryEntries", "MemoryStorage"]


class MemoryEntries:
    """The state shared by all views: entries, holders of jobs, and watchers."""

    def __init__(self) -> None:
        self.folders: defaultdict[str, dict[str, object]] = defaultdict(dict)
        self.holders: defaultdict[str, set[MemoryStorage]] = defaultdict(set)
        self.watchers: list[tuple[MemoryStorage, str, Callable[[Names], object]]] = []

    def changed(self, folder: str) -> None:
        """Notify the watchers of a folder, asynchronously."""
        for watcher in self.watchers:
            if watcher[1] == folder:
                self.tell(watcher)

    def tell(self, watcher: tuple[MemoryStorage, str, Callable[[Names], object]]) -> None:
        """Notify one watcher of the names at that time, asynchronously."""
        _, folder, listener = watcher

        def tell_now() -> None:
            if watcher in self.watchers:
                listener(tuple(self.folders[folder]))

        asyncio.get_running_loop().call_soon(tell_now)


class MemoryStorage:
    """A view of entries in memory; values are not copied.

    Args:
        entries: The underlying entries.
        session_id: The leader session; None for any.
        live_sessions: The current sessions.
    """

    def __init__(self, entries: MemoryEntries, session_id: str | None, live_sessions: Set[str]) -> None:
        self._entries = entries
        self._session_id = session_id
        self._live_sessions = live_sessions

    async def names(self, folder: str) -> Names:
        """Return the names in a folder, oldest entry first."""
        return tuple(self._entries.folders[folder])

    async def read(self, folder: str, name: str) -> Any | None:
        """Return the value of an entry, or None if there is no such entry."""
        return self._entries.folders[folder].get(name)

    async def write(self, folder: str, name: str, value: object) -> None:
        """Set the value of an entry."""
        self._check(f"writing {folder}/{name}")
        self._entries.folders[folder][name] = value
        self._entries.changed(folder)

    async def move(self, name: str, source: str, target: str) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""
        self._check(f"moving {source}/{name}")
        if name in self._entries.folders[source]:
            self._entries.folders[target][name] = self._entries.folders[source].pop(name)
            self._entries.changed(source)

    async def delete(self, folder: str, name: str) -> None:
        """Delete an entry; no effect if it does not exist."""
        self._check(f"deleting {folder}/{name}")
        if self._entries.folders[folder].pop(name, None) is not None:
            self._entries.changed(folder)

    async def hold(self, name: str) -> None:
        """Mark a job as used by this view."""
        self._entries.holders[name].add(self)

    async def let_go(self, name: str) -> None:
        """Remove the mark that this view uses a job."""
        self._entries.holders[name].discard(self)
        if not self._entries.holders[name]:
            del self._entries.holders[name]

    async def is_held(self, name: str) -> bool:
        """Return whether another view uses the job."""
        return any(holder is not self for holder in self._entries.holders.get(name, ()))

    def watch(self, folder: str, listener: Callable[[Names], object]) -> None:
        """Call `listener` with the names in a folder, asynchronously and then after each change."""
        watcher = (self, folder, listener)
        self._entries.watchers.append(watcher)
        self._entries.tell(watcher)

    async def close(self) -> None:
        """Release all jobs and stop all watches."""
        for name in [name for name, holders in self._entries.holders.items() if self in holders]:
            await self.let_go(name)
        self._entries.watchers[:] = [watcher for watcher in self._entries.watchers if watcher[0] is not self]

    def _check(self, what: str) -> None:
        if self._session_id is not None and self._session_id not in self._live_sessions:
            raise StaleLeaderError(what, self._session_id)
