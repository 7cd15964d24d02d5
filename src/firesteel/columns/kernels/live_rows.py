"""The rows of one side of a join of changelogs, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes, row_hashes
from firesteel.columns.kernels.found_rows import FoundRows
from firesteel.columns.kernels.hash_index import HashIndex
from firesteel.columns.kernels.key_numbers import groups_by
from firesteel.columns.kernels.row_groups import RowGroups
from firesteel.columns.kernels.row_store import RowStore
from firesteel.columns.kernels.saved_rows import SavedRows
from firesteel.columns.kernels.segments import first_of_segments, running_max
from firesteel.columns.row_keys import are_same
from firesteel.columns.rows import DELETE, signs_of


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a batch makes to the rows of its side.

    Attributes:
        is_effective: A mask over the batch, False for retractions of rows that do not exist.
        added: The places of the rows in the batch that the batch inserts and does not retract, ascending.
        removed: The numbers of the stored rows that the batch retracts.
    """

    is_effective: Array
    added: Array
    removed: Array


class LiveRows:
    """The rows of one side, numbered in the order of insertion.

    State: a log of rows, with 1 for an inserted and -1 for a deleted row.

    Args:
        keys: The key columns.
        log: The log; its state has been restored.
    """

    def __init__(self, keys: tuple[int, ...], log: SavedRows) -> None:
        self._keys = keys
        self._log = log
        self._store = RowStore(matches=np.int64)
        self._by_key = HashIndex()
        self._by_row: HashIndex | None = None
        self._unsaved: list[ColumnBatch] = []
        for rows in log.rows():
            self._replay(rows)
        self._unsaved.clear()

    def _replay(self, rows: ColumnBatch) -> None:
        signs = rows.columns[-1].to_numpy()
        kinds = np.where(signs < 0, DELETE, 0).astype(np.int8)
        restored = ColumnBatch(rows.columns[:-1], rows.length, kinds if kinds.any() else None)
        changes = self.changes(restored)
        self.apply(restored, row_hashes(restored, self._keys), changes, np.zeros(rows.length, np.int64))

    @property
    def matches(self) -> Array:
        """Return how many rows of the other side each row matches, as far as the join counts them."""
        return self._store.values["matches"]

    # --- reading -------------------------------------------------------------------------------------------------

    def find(self, hashes: Hashes) -> FoundRows:
        """Return the rows whose keys have some hashes, also those that are gone."""
        return self._by_key.find(hashes)

    def there(self, places: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the pairs of a place and a row number, without those of rows that are gone."""
        return self._store.there(places, numbers)

    def take(self, numbers: Array) -> ColumnBatch:
        """Return some rows."""
        return self._store.take(numbers)

    def all(self) -> tuple[ColumnBatch, Array] | None:
        """Return all rows and their numbers, or None if there are none."""
        numbers = self._store.numbers()
        return (self.take(numbers), numbers) if len(numbers) else None

    # --- changing ------------------------------------------------------------------------------------------------

    def changes(self, batch: ColumnBatch) -> Changes:
        """Return how the rows of a batch, applied one after the other, change the stored rows."""
        signs = signs_of(batch)
        if signs is None:
            return Changes(np.ones(batch.length, bool), np.arange(batch.length), np.zeros(0, np.int64))
        groups = groups_by(batch, range(len(batch.columns)))
        owners, known = self._same(batch.take(groups.first_rows()), groups, signs)
        before = np.bincount(owners, minlength=groups.count)
        order = np.argsort(groups.codes, kind="stable")
        codes = groups.codes[order]
        is_first = first_of_segments(codes)
        starts = np.flatnonzero(is_first)
        sums = np.cumsum(signs[order])
        sums -= np.repeat(sums[starts] - signs[order][starts], groups.sizes) - before[codes]
        # A retraction that would make the number of rows negative is ignored, and changes no later count.
        missing = running_max(np.maximum(-sums, 0), is_first)
        left = sums + missing
        ended = left[np.append(starts[1:], len(codes)) - 1]
        missing_before = np.where(is_first, 0, np.roll(missing, 1))
        is_effective = np.empty(batch.length, bool)
        is_effective[order] = missing == missing_before
        return Changes(is_effective, _last(order, codes, signs, ended - before), _first(owners, known, before - ended))

    def _same(self, firsts: ColumnBatch, groups: RowGroups, signs: Array) -> tuple[Array, Array]:
        """Return the stored rows that equal a retracted row of the batch: the group and the number of each."""
        sought = np.unique(groups.codes[signs < 0])
        if self._by_row is None:
            self._by_row = HashIndex()
            found = self.all()
            if found is not None:
                self._by_row.add(row_hashes(found[0], range(len(found[0].columns))), found[1])
        rows = firsts.take(sought)
        places, numbers = self._store.there(*self._by_row.find(row_hashes(rows, range(len(rows.columns)))).all())
        if len(places):
            is_same = are_equal(rows.take(places), self.take(numbers))
            places, numbers = places[is_same], numbers[is_same]
        return sought[places], numbers

    def apply(self, batch: ColumnBatch, hashes: Hashes, changes: Changes, matches: Array) -> None:
        """Change the rows, given the hashes of the keys of the batch and how many others each of its rows matches."""
        if len(changes.removed):
            self._unsaved.append(_signed(self.take(changes.removed), -1))
            self._store.remove(changes.removed)
        added = replace(batch.take(changes.added), kinds=None)
        if added.length:
            self._append(added, hashes[changes.added], matches[changes.added])
        if self._store.is_sparse:
            numbers = self._store.compact()
            for index in filter(None, (self._by_key, self._by_row)):
                index.renumber(numbers)

    def _append(self, rows: ColumnBatch, hashes: Hashes, matches: Array) -> None:
        numbers = self._store.append(rows, matches=matches)
        if self._by_row is not None:
            self._by_row.add(row_hashes(rows, range(len(rows.columns))), numbers)
        is_null = rows.has_null(self._keys)
        self._by_key.add(*((hashes, numbers) if not is_null.any() else (hashes[~is_null], numbers[~is_null])))
        self._unsaved.append(_signed(rows, 1))

    def flush(self) -> None:
        """Write what has changed since the last version."""
        self._log.save(self._unsaved, self._store.left, self._saved_form)
        self._unsaved.clear()

    def _saved_form(self) -> list[ColumnBatch]:
        found = self.all()
        return [] if found is None else [_signed(found[0], 1)]


def _signed(rows: ColumnBatch, sign: int) -> ColumnBatch:
    return ColumnBatch((*rows.columns, pa.array(np.full(rows.length, sign, np.int8))), rows.length)


def _last(order: Array, codes: Array, signs: Array, numbers: Array) -> Array:
    """Return the last rows that come of each group, given how many, in their order; rows are sorted by group."""
    comes = np.flatnonzero(signs[order] > 0)
    group = codes[comes]
    ends = np.searchsorted(group, group, "right")
    found: Array = np.sort(order[comes[ends - np.arange(len(group)) <= numbers[group]]])
    return found


def _first(owners: Array, known: Array, numbers: Array) -> Array:
    """Return the first rows of each group, given the ascending groups of rows and how many."""
    places = np.arange(len(owners)) - np.searchsorted(owners, owners)
    return known[places < numbers[owners]]


def are_equal(rows: ColumnBatch, others: ColumnBatch) -> Array:
    """Return which rows are the same as the others in their places; NULL is the same as NULL."""
    same = np.ones(rows.length, bool)
    for left, right in zip(rows.columns, others.columns, strict=True):
        same &= are_same(left, right)
    return same


def parts_of(counts: Array, limit: int) -> Sequence[tuple[int, int]]:
    """Return where to cut rows, given the number of pairs of each, so that parts have about a number of pairs."""
    if not len(counts):
        return []
    parts = np.cumsum(counts) // limit
    starts = np.flatnonzero(np.diff(parts, prepend=parts[:1] - 1)).tolist()
    return list(zip(starts, [*starts[1:], len(counts)], strict=True))
