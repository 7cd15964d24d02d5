"""The rows of one side of a join of changelogs, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.hashing import Hashes, groups_of, row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.rows.found_rows import FoundRows
from firesteel.columns.kernels.rows.hash_index import HashIndex
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.row_store import RowStore
from firesteel.columns.kernels.rows.saved_rows import SavedRows, latest
from firesteel.columns.kernels.rows.segments import clamped_counts, distinct, first_of_segments
from firesteel.columns.orders import stable_order
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.row_keys import are_same
from firesteel.columns.rows import DELETE, signs_of
from firesteel.columns.runs.room import room_of


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a batch makes to the rows of its side.

    Attributes:
        is_effective: A mask over the batch, False for retractions of rows that do not exist.
        added: The places of the rows in the batch that the batch inserts and does not retract, ascending.
        removed: The numbers of the stored rows that the batch retracts.
        equal: Which rows of batch and store are the same; None if the batch only inserts, or rows replace others.
        is_update: A mask of the rows that take the place of another one; None if none does.
    """

    is_effective: Array
    added: Array
    removed: Array
    equal: EqualRows | None = None
    is_update: Array | None = None


@dataclass(frozen=True, slots=True)
class EqualRows:
    """Rows that are the same.

    Attributes:
        groups: The rows of a batch by their values.
        owners: The group of each stored row that is the same as a retracted row of the batch, ascending.
        known: The numbers of these rows, ascending within a group.
    """

    groups: RowGroups
    owners: Array
    known: Array


class LiveRows:
    """The rows of one side, numbered in the order of insertion, each with a number of matches.

    Rows expire one by one, as in the map state of Flink's `JoinRecordStateViews`: a time after they came, or after
    their number of matches changed last. Rows that were written without a time to live start to age when a job is
    restored with one.

    State: a log of rows, with 1 for an inserted and -1 for a deleted row. If rows of a side of the join expire, these
    also have their matches, the time of the last write (ms), and an id, whose last entry in a key group counts. What a
    side does not need of these is NULL.

    Args:
        keys: The key columns.
        width: The number of columns.
        context: The environment of the kernel; the state has been restored.
        name: The name of the state table.
        ttls_ms: The time to live of the rows of this side, and of the other one; 0 means no expiry.
        counts: Whether the join counts the matches of the rows.
        unique: The columns by which a row that comes takes the place of another one; None if only retractions remove
            rows.

    Attributes:
        has_matches: Whether the restored rows have their matches, so that these need not be counted.
    """

    _shows_arrival: ClassVar[bool] = False
    """Whether it can be seen when rows came, also equal ones."""

    def __init__(
        self,
        keys: tuple[int, ...],
        width: int,
        context: KernelContext,
        name: str,
        ttls_ms: tuple[int, int],
        counts: bool,
        unique: tuple[int, ...] | None = None,
    ) -> None:
        self._keys, self._width = keys, width
        self._replaces, self._identity = unique is not None, tuple(range(width)) if unique is None else unique
        self._others = tuple(column for column in self._identity if column not in keys)
        # Rows with NULL in their key, which outer joins and NOT IN keep, are not in the index by key.
        self._is_found_by_key = self._replaces and not (counts or self._others)
        self._log = SavedRows(context.table(name), keys, context.max_parallelism)
        self._max_parallelism = context.max_parallelism
        self._ttl_ms, self._now_ms = ttls_ms[0], context.now_ms
        self._values = {"matches": counts, "written": ttls_ms[0] > 0, "ids": True} if any(ttls_ms) else {}
        # Of equal rows, those that come in the place of others live longer.
        self._first_goes_first = self._shows_arrival or ttls_ms[0] > 0
        self.room = room_of(context)
        self._store = RowStore(self.room, matches=np.int64, written=np.int64, ids=np.int64)
        self._by_key = self._new_index()
        self._by_row: HashIndex | None = None
        self._gone: list[ColumnBatch] = []  # since the last version, of the rows that it has
        self._saved = 0
        self._touched: list[Array] = []
        self._next_id = 0
        self._cleaning = CleaningTime(ttls_ms[0], context.now_ms)
        self.has_matches = bool(self._values)
        self._restore()

    def _new_index(self) -> HashIndex:
        return HashIndex(self.room)

    def _index(self, rows: ColumnBatch, hashes: Hashes, numbers: Array) -> None:
        """Add rows to the index by key. A NULL in a key equals nothing."""
        is_null = rows.has_null(self._keys)
        self._by_key.add(*((hashes, numbers) if not is_null.any() else (hashes[~is_null], numbers[~is_null])))

    def _restore(self) -> None:
        aged: list[ColumnBatch] = []
        is_plain = False
        for rows in self._log.rows():
            if len(rows.columns) > self._width + 1:
                aged.append(rows)
            else:
                is_plain = True
                self._replay(rows)
        if aged:
            self._load(concat(aged))
        self.has_matches &= not is_plain
        self._log.is_outdated |= is_plain and bool(self._values)
        self._gone, self._saved = [], self._store.length

    def _replay(self, rows: ColumnBatch) -> None:
        signs = rows.columns[-1].to_numpy()
        kinds = np.where(signs < 0, DELETE, 0).astype(np.int8)
        restored = ColumnBatch(rows.columns[:-1], rows.length, kinds if kinds.any() else None)
        hashes = row_hashes(restored, self._keys)
        self.apply(restored, hashes, self.changes(restored, hashes), np.zeros(rows.length, np.int64))

    def _load(self, rows: ColumnBatch) -> None:
        columns = rows.columns[self._width :]
        has_value = [not pa.types.is_null(column.type) for column in columns[:-1]]
        self.has_matches &= has_value[0]
        self._log.is_outdated |= has_value != list(self._values.values())
        defaults = (0, self._now_ms(), 0, 0)
        matches, written, ids, signs = map(_numbers, columns, defaults)
        rows = rows.with_columns(rows.columns[: self._width])
        hashes = row_hashes(rows, self._keys)
        last = latest(ids, groups_of(hashes, self._max_parallelism))
        left = last[signs[last] > 0]
        left = left[stable_order(ids[left])]
        self._append(rows.take(left), hashes[left], matches[left], written[left], ids[left])
        self._next_id = int(ids.max()) + 1

    def add(self, rows: ColumnBatch, matches: Array, written: Array) -> None:
        """Add rows that were kept in another form; without a time (0) they are as old as if they came now."""
        written = np.where(written == 0, self._now_ms(), written)
        self._append(rows, row_hashes(rows, self._keys), matches, written, self._ids(rows.length))

    def _ids(self, count: int) -> Array:
        self._next_id += count
        return np.arange(self._next_id - count, self._next_id)

    @property
    def matches(self) -> Array:
        """Return how many rows of the other side each row matches, as far as the join counts them."""
        return self._store.values["matches"]

    @property
    def expires(self) -> bool:
        """Return whether rows have a time to live."""
        return self._ttl_ms > 0

    def expiry_ms(self) -> int:
        """Return when rows expire that come now."""
        return self._now_ms() + self._ttl_ms

    def last_expiry_ms(self, numbers: Array) -> int:
        """Return when the last one of some rows expires, 0 for none."""
        return int(self._store.values["written"][numbers].max()) + self._ttl_ms if len(numbers) else 0

    @property
    def is_empty(self) -> bool:
        """Return whether there are no rows."""
        return not self._store.left

    # --- reading -------------------------------------------------------------------------------------------------

    def find(self, hashes: Hashes) -> FoundRows:
        """Return the rows whose keys have some hashes, also those that are gone."""
        return self._by_key.find(hashes)

    def there(self, places: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the pairs of a place and a row number, without those of rows that are gone."""
        places, numbers = self._store.there(places, numbers)
        if not self._ttl_ms:
            return places, numbers
        is_live = self._are_live(numbers)
        return places[is_live], numbers[is_live]

    def _are_live(self, numbers: Array) -> Array:
        """Return which rows have not expired."""
        is_live: Array = self._store.values["written"][numbers] + self._ttl_ms > self._now_ms()
        return is_live

    def take(self, numbers: Array) -> ColumnBatch:
        """Return some rows."""
        return self._store.take(numbers)

    def take_columns(self, numbers: Array, columns: tuple[int, ...]) -> ColumnBatch:
        """Return some columns of rows, and no values (Arrow's null type) in the place of others."""
        found = self._store.take(numbers, columns).columns
        cells = [pa.nulls(len(numbers))] * self._width
        for column, values in zip(columns, found, strict=True):
            cells[column] = values
        return ColumnBatch(tuple(cells), len(numbers))

    def complete(self, rows: ColumnBatch, numbers: Array, columns: tuple[int, ...]) -> ColumnBatch:
        """Return the rows of which `take_columns` has given some columns."""
        missing = tuple(set(range(self._width)).difference(columns))
        if not missing:
            return rows
        others = self.take_columns(numbers, missing).columns
        return rows.with_columns([others[i] if i in missing else rows.columns[i] for i in range(self._width)])

    def parts(self) -> Iterator[tuple[ColumnBatch, Array]]:
        """Yield all rows with their numbers, in parts."""
        for numbers in self._store.parts():
            live = numbers[self._are_live(numbers)] if self._ttl_ms else numbers
            if len(live):
                yield self.take(live), live

    # --- changing ------------------------------------------------------------------------------------------------

    def changes(self, batch: ColumnBatch, hashes: Hashes, by_key: RowGroups | None = None) -> Changes:
        """Return how the rows of a batch, applied one after the other, change the stored rows.

        Args:
            batch: The rows.
            hashes: The hashes of their keys.
            by_key: The rows by key, if that is known.
        """
        signs = signs_of(batch)
        if self._replaces:
            return self._replacements(batch, hashes, signs)
        if signs is None:
            return Changes(np.ones(batch.length, bool), np.arange(batch.length), np.zeros(0, np.int64))
        groups = self._equal_rows(batch, by_key)
        retracted = np.flatnonzero(np.bincount(groups.codes[signs < 0], minlength=groups.count))
        owners, known = self.there(*self._same(batch, hashes, groups.first_rows(), retracted))
        before = np.bincount(owners, minlength=groups.count)
        order = stable_order(groups.codes)
        codes = groups.codes[order]
        is_first = first_of_segments(codes)
        left, counts = clamped_counts(signs[order], is_first, before[codes])
        ended = left[np.append(is_first[1:], True)]
        is_effective = np.empty(batch.length, bool)
        is_effective[order] = counts
        kept = np.minimum(before, ended)
        if self._first_goes_first:
            gone = np.bincount(groups.codes[is_effective & (signs < 0)], minlength=groups.count)
            kept = np.maximum(before - gone, 0)
        added, removed = _last(order, codes, signs, ended - kept), _first(owners, known, before - kept)
        return Changes(is_effective, added, removed, EqualRows(groups, owners, known))

    def _equal_rows(self, batch: ColumnBatch, by_key: RowGroups | None) -> RowGroups:
        if by_key is None:
            return groups_by(batch, range(len(batch.columns)))
        # The number of the key is compared, and not the key itself.
        rest = [column for place, column in enumerate(batch.columns) if place not in self._keys]
        return groups_by(ColumnBatch((pa.array(by_key.codes), *rest), batch.length), range(1 + len(rest)))

    def _replacements(self, batch: ColumnBatch, hashes: Hashes, signs: Array | None) -> Changes:
        """Return how rows change the stored ones if each takes the place of that with the same unique columns."""
        groups = groups_by(batch, self._identity)
        same = self._same(batch, hashes, groups.first_rows(), np.arange(groups.count))
        owners, known = self._store.there(*same)
        is_there = np.zeros(groups.count, bool)
        is_there[owners[self._are_live(known)] if self._ttl_ms else owners] = True
        order = stable_order(groups.codes)
        codes, comes = groups.codes[order], np.ones(batch.length, bool) if signs is None else signs > 0
        is_first, is_after = first_of_segments(codes), np.empty(batch.length, bool)
        is_after[order] = np.where(is_first, is_there[codes], np.roll(comes[order], 1))
        last = order[np.append(is_first[1:], True)]
        return Changes(comes | is_after, np.sort(last[comes[last]]), known, None, comes & is_after)

    def _same(self, batch: ColumnBatch, hashes: Hashes, firsts: Array, sought: Array) -> tuple[Array, Array]:
        """Return the stored rows that are the same as some rows of a batch, also those that are gone: group and number.

        Args:
            batch: The rows.
            hashes: The hashes of their keys.
            firsts: The first row of each group of rows that are the same.
            sought: The groups that are sought.
        """
        places, index = firsts[sought], self._by_key
        found = hashes[places]
        if not self._is_found_by_key:
            others = batch.select(self._others).take(places)
            found, index = row_hashes(others, range(len(self._others)), found), self._index_of_rows()
        owners, numbers = index.find(found).all()
        if len(owners):
            rows = batch.select(self._identity).take(places[owners])
            is_same = are_equal(rows, self._store.take(numbers, self._identity))
            owners, numbers = owners[is_same], numbers[is_same]
        return sought[owners], numbers

    def _index_of_rows(self) -> HashIndex:
        # Only when it is needed: a side without retractions has no need of it.
        if self._by_row is None:
            self._by_row = HashIndex(self.room)
            for stored, numbers in self.parts():
                self._by_row.add(row_hashes(stored, self._others, row_hashes(stored, self._keys)), numbers)
        return self._by_row

    def apply(self, batch: ColumnBatch, hashes: Hashes, changes: Changes, matches: Array) -> None:
        """Change the rows, given the hashes of the keys of the batch and how many others each of its rows matches."""
        self._remove(changes.removed)
        added = replace(batch.take(changes.added), kinds=None)
        if added.length:
            count, ids = added.length, self._ids(added.length)
            self._append(added, hashes[changes.added], matches[changes.added], np.full(count, self._now_ms()), ids)
        if self._store.is_sparse:
            self._compact()

    def drop(self, numbers: Array) -> None:
        """Delete rows, given by number; numbers change."""
        self._remove(numbers)
        if self._store.is_sparse:
            self._compact()

    def _remove(self, numbers: Array) -> None:
        # A row that comes and goes between two versions is in neither.
        saved = numbers[numbers < self._saved]
        if len(saved):
            self._gone.append(self._signed(saved, -1))
        self._store.remove(numbers)

    def _append(self, rows: ColumnBatch, hashes: Hashes, matches: Array, written: Array, ids: Array) -> None:
        numbers = self._store.append(rows, matches=matches, written=written, ids=ids)
        if self._by_row is not None:
            self._by_row.add(row_hashes(rows, self._others, hashes), numbers)
        self._index(rows, hashes, numbers)

    def touch(self, numbers: Array) -> None:
        """Note that the numbers of matches of rows have changed, which counts as a write."""
        if self._values:
            self._store.values["written"][numbers] = self._now_ms()
            self._touched.append(numbers)

    def _compact(self) -> None:
        numbers = self._store.compact()
        self._saved = int(np.count_nonzero(numbers[: self._saved] >= 0))
        self._touched = [left[left >= 0] for left in (numbers[part] for part in self._touched)]
        for index in filter(None, (self._by_key, self._by_row)):
            index.renumber(numbers)

    # --- versions ------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what has changed since the last version, and forget expired rows from time to time."""
        if self._cleaning.is_due():
            self._clean()
        touched = distinct(np.concatenate([*self._touched, np.arange(self._saved, self._store.length)]))
        changed = touched[self._store.is_there[touched]]
        unsaved = [*self._gone, self._signed(changed, 1)] if len(changed) else self._gone
        self._log.save(unsaved, self._store.left, lambda: (self._signed(part, 1) for part in self._store.parts()))
        self._gone, self._touched, self._saved = [], [], self._store.length
        self.room.leave_memory()

    def _clean(self) -> None:
        numbers = self._store.numbers()
        expired = numbers[~self._are_live(numbers)]
        self._store.remove(expired)
        self._log.is_outdated |= len(expired) > 0
        self._cleaning.done()
        if self._store.is_sparse:
            self._compact()

    def _signed(self, numbers: Array, sign: int) -> ColumnBatch:
        """Return what the log has of rows that come (1) or go (-1)."""
        rows = self.take(numbers)
        values = [
            pa.array(self._store.values[name][numbers]) if is_kept else pa.nulls(rows.length)
            for name, is_kept in self._values.items()
        ]
        return rows.with_columns([*rows.columns, *values, pa.array(np.full(rows.length, sign, np.int8))])


def _numbers(column: pa.Array, default: int) -> Array:
    if pa.types.is_null(column.type):
        return np.full(len(column), default, np.int64)
    numbers: Array = column.to_numpy()
    return numbers


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
