"""Entries of keyed state as columns, sorted by the hashes of their keys."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.orders import stable_order
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.row_keys import are_same
from firesteel.common.trust.pickling import pickled

Values: TypeAlias = "Array | pa.LargeBinaryArray"
"""A column of numbers or objects; objects from a file are pickles there."""

_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
"""Types of keys that have room for those of all entries."""

_SAMPLED = 8
_OBJECT_BYTES = 100
"""What an object takes beside its pickle."""


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries with different keys.

    Attributes:
        hashes: The hashes of the keys, ascending.
        keys: The key columns.
        values: The other columns.
    """

    hashes: Hashes
    keys: tuple[pa.Array, ...]
    values: tuple[Values, ...] = ()

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def nbytes(self) -> int:
        """About how many bytes the entries take in memory."""
        keys: int = sum(key.nbytes for key in self.keys)
        return self.hashes.nbytes + keys + sum(map(_size, self.values))

    def take(self, places: Array) -> Entries:
        """Return the entries at some places, usually in ascending order."""
        taken = pa.array(places)
        keys = tuple(key.take(taken) for key in self.keys)
        return Entries(self.hashes[places], keys, tuple(_taken(column, places) for column in self.values))

    def with_values(self, *added: Values) -> Entries:
        """Return the entries with further columns."""
        return Entries(self.hashes, self.keys, (*self.values, *added))

    def where(self, mask: Array) -> Entries:
        """Return some of the entries."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> Entries:
        """Return the entries from one place up to another."""
        keys = tuple(key.slice(start, stop - start) for key in self.keys)
        return Entries(self.hashes[start:stop], keys, tuple(column[start:stop] for column in self.values))

    def between(self, first: int, last: int) -> Entries:
        """Return the entries whose hashes are in a range, with both ends."""
        start = np.searchsorted(self.hashes, np.uint64(first))
        return self.slice(int(start), int(np.searchsorted(self.hashes, np.uint64(last), "right")))

    def find(self, sought: Entries) -> Array:
        """Return the places of the entries with some keys, -1 for those that are not there."""
        places = np.searchsorted(self.hashes, sought.hashes)
        found = np.full(len(sought), -1)
        rows = np.arange(len(sought))
        while True:
            # Keys of the same hash follow each other; hardly ever there are two.
            is_near = places < len(self)
            rows, places = rows[is_near], places[is_near]
            is_near = self.hashes[places] == sought.hashes[rows]
            rows, places = rows[is_near], places[is_near]
            if not len(rows):
                return found
            is_it = _have_same_keys(self.keys, places, sought.keys, rows)
            found[rows[is_it]] = places[is_it]
            rows, places = rows[~is_it], places[~is_it] + 1

    def decoded(self) -> Entries:
        """Return the entries with objects instead of their pickles."""
        return Entries(self.hashes, self.keys, tuple(_loaded(column) for column in self.values))

    def encoded(self) -> Entries:
        """Return the entries with pickles instead of objects."""
        return Entries(self.hashes, self.keys, tuple(_dumped(column) for column in self.values))


def sorted_by_hash(hashes: Hashes, keys: Sequence[pa.Array]) -> tuple[Entries, Array]:
    """Return keys in the order of their hashes, and the places at which they were."""
    order = np.argsort(hashes)
    taken = pa.array(order)
    return Entries(hashes[order], tuple(_large(key.take(taken)) for key in keys)), order


def _large(key: pa.Array) -> pa.Array:
    kind = _LARGE.get(key.type)
    return key if kind is None else key.cast(kind)


def merged(parts: Sequence[Entries]) -> Entries:
    """Return entries as one; of those with the same key the one in the first part is kept."""
    if len(parts) == 1:
        return parts[0]
    hashes = np.concatenate([part.hashes for part in parts])
    order = stable_order(hashes)
    hashes = hashes[order]
    keys = [pa.concat_arrays(columns) for columns in zip(*(part.keys for part in parts), strict=True)]
    is_first = _are_first(hashes, keys, order)
    order = order[is_first]
    values = zip(*(part.values for part in parts), strict=True)
    # Column by column, so that only one is there twice.
    taken = tuple(_taken(_concatenated(columns), order) for columns in values)
    return Entries(hashes[is_first], tuple(key.take(pa.array(order)) for key in keys), taken)


def _are_first(hashes: Hashes, keys: Sequence[pa.Array], order: Array) -> Array:
    """Return which keys, in an order by hash, are those that none before is."""
    is_first = np.ones(len(order), bool)
    again = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
    if not len(again):
        return is_first
    is_same = _have_same_keys(keys, order[again], keys, order[again - 1])
    is_first[again[is_same]] = False
    if not is_same.all():
        # Two keys with the same hash: older entries of the first may come after the second.
        taken = pa.array(order)
        groups = RowGroups([pa.array(hashes), *(key.take(taken) for key in keys)], len(order))
        is_first[:] = False
        is_first[groups.first_rows()] = True
    return is_first


def _have_same_keys(left: Sequence[pa.Array], places: Array, right: Sequence[pa.Array], others: Array) -> Array:
    found = np.ones(len(places), bool)
    for one, other in zip(left, right, strict=True):
        if pa.types.is_integer(one.type) and not (one.null_count or other.null_count):
            found &= one.to_numpy()[places] == other.to_numpy()[others]  # `take` has a price for each call.
        else:
            found &= are_same(one.take(pa.array(places)), other.take(pa.array(others)))
    return found


def _taken(column: Values, places: Array) -> Values:
    return column.take(pa.array(places)) if isinstance(column, pa.Array) else column[places]


def _concatenated(columns: Sequence[Values]) -> Values:
    return pa.concat_arrays(columns) if isinstance(columns[0], pa.Array) else np.concatenate(columns)


def _loaded(column: Values) -> Array:
    if not isinstance(column, pa.Array):
        return column
    # This process has written the pickles, into a file that has no name.
    return np.fromiter(map(pickle.loads, pylist(column)), object, len(column))


def _dumped(column: Values) -> Values:
    is_object = not isinstance(column, pa.Array) and column.dtype == object
    return pa.array(list(map(pickled, column.tolist())), pa.large_binary()) if is_object else column


def _size(column: Values) -> int:
    size: int = column.nbytes
    if isinstance(column, pa.Array) or column.dtype != object or not size:
        return size
    sampled = column[:: max(len(column) // _SAMPLED, 1)].tolist()
    return size + len(column) * (_OBJECT_BYTES + sum(len(pickled(value)) for value in sampled) // len(sampled))
