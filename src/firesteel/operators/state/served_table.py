"""The view of a state as of the last completed batch, which other threads read while the next batch runs.

A batch changes its tables in place. So a view has references of its own: to the values as of some version, and to the
changes of the version after it, which are those that the version has written anyway. Keys and values are not copied,
except values that functions change in place.

Why: `docs/decisions/0058-state-is-read-beside-the-batch.md`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

from firesteel.common.values.ownership import IMMUTABLE, own
from firesteel.operators.state.entries import Delta, Entry, Stored
from firesteel.operators.state.list_part import ListPart
from firesteel.operators.state.map_table import MapTable
from firesteel.operators.state.state_table import DELETED, StateTable

UNUSED_AFTER_S = 60.0
"""A view that nobody has read for this time in seconds goes away, and with it its costs."""

_CHUNK = 10_000
_MERGED = 2_000
"""Entries that are taken, or put in place of others, at once: other threads wait for the interpreter meanwhile."""

_CHANGED_IN_PLACE = frozenset({"reducing", "aggregating"})

_Part: TypeAlias = "dict[Entry, Stored]"


class _Prefix(NamedTuple):
    """A list as it was after a batch: lists in memory are only appended to, or replaced."""

    elements: list[Stored]
    length: int


class _Layers(NamedTuple):
    """A version: entries of an earlier one, and what has changed since, the newest last."""

    base: _Part
    changes: tuple[_Part, ...]
    batch_id: int


class ServedTable:
    """The view of a table in memory. One thread changes it, others read it without a lock.

    Args:
        table: The table, while no batch runs.
        kind: The kind of the state.
        batch_id: The last completed batch.
    """

    def __init__(self, table: StateTable | MapTable, kind: str, batch_id: int) -> None:
        self._table = table
        self._kind = kind
        self._is_map = isinstance(table, MapTable)
        self._pending: list[_Part] = []
        self._is_full = False
        self._asked_s = time.monotonic()
        base: _Part = {}
        for part in _chunks(table.all_items()):
            self._merge(base, self._converted(part))
        self._layers = _Layers(base, (), batch_id)

    # --- the thread of the batch -------------------------------------------------------------------------------------

    def noted(self, parts: Iterable[Delta], is_full: bool) -> Iterator[Delta]:
        """Yield the parts of a version, and keep what they say."""
        self._is_full = is_full
        self._pending = []
        for name, part in parts:
            self._pending.append(self._converted(part if part.__class__ is dict else dict(part)))
            yield name, part

    def publish(self, batch_id: int) -> None:
        """Show the version that was noted."""
        base, changes, _ = self._layers
        pending, self._pending = self._pending, []
        if self._is_full:
            base, changes = {}, tuple(pending)
            pending = []
        # Readers of the shown version find these entries in its changes first, so they do not see them come and go.
        for part in changes:
            self._merge(base, part)
        former, changes = list(changes), ()
        self._layers = _Layers(base, tuple(pending), batch_id)
        self._is_full = False
        while former:  # Freed one by one: other threads wait for the interpreter meanwhile.
            former.pop()

    def is_unused(self) -> bool:
        """Return whether nobody has read it for long."""
        return time.monotonic() - self._asked_s > UNUSED_AFTER_S

    def _converted(self, part: _Part) -> _Part:
        if self._is_map:
            maps: _Part = {}
            for (entry, key), value in part.items():
                maps.setdefault(entry, {})[key] = value
            return maps
        if self._kind == "list":
            return {entry: self._prefix(entry, value) for entry, value in part.items()}
        if self._kind in _CHANGED_IN_PLACE:
            return {entry: _kept(value) for entry, value in part.items()}
        return part

    def _prefix(self, entry: Entry, value: Stored) -> Stored:
        if value is DELETED:
            return value
        if value.__class__ is ListPart:
            assert isinstance(self._table, StateTable)
            return _Prefix(self._table.data[entry], value.start + len(value.elements))
        return _Prefix(value, len(value))

    def _merge(self, base: _Part, part: _Part) -> None:
        if self._is_map:
            for entry, changes in part.items():
                _merge_values(base.setdefault(entry, {}), changes)
                if not base[entry]:
                    del base[entry]
        else:
            _merge_values(base, part)

    # --- other threads -----------------------------------------------------------------------------------------------

    def read(self, entries: Iterable[Entry]) -> tuple[list[Stored], int]:
        """Return the stored values of entries, all of one version, and its batch; None for entries that are not there.

        A list is a new one, and so is the map of an entry.
        """
        self._asked_s = time.monotonic()
        read = self._map if self._is_map else self._value
        while True:
            layers = self._layers
            found = [read(layers, entry) for entry in entries]
            # The base changes when the next version is shown; what was read in between may be of both.
            if self._layers is layers:
                return found, layers.batch_id

    def _value(self, layers: _Layers, entry: Entry) -> Stored:
        for part in reversed(layers.changes):
            if entry in part:
                return _shown(part[entry])
        return _shown(layers.base.get(entry))

    def _map(self, layers: _Layers, entry: Entry) -> Stored:
        found = dict(layers.base.get(entry, {}))
        for part in layers.changes:
            _merge_values(found, part.get(entry, {}))
        return found or None


def _kept(value: Stored) -> Stored:
    return value if value.__class__ in IMMUTABLE or value is DELETED else own(value)


def _merge_values(base: _Part, part: _Part) -> None:
    rest = iter(part.items())
    for _ in range(0, len(part), _MERGED):
        base.update(islice(rest, _MERGED))
    for entry in [entry for entry, value in part.items() if value is DELETED]:
        del base[entry]


def _shown(stored: Stored) -> Stored:
    if stored.__class__ is _Prefix:
        return stored.elements[: stored.length]
    return None if stored is DELETED else stored


def _chunks(items: Iterable[tuple[Entry, Stored]]) -> Iterator[_Part]:
    rest = iter(items)
    while part := dict(islice(rest, _CHUNK)):
        yield part
