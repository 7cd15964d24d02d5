"""The rows of a Top-N that come and go, as columns: only the first ones of each partition are looked at.

Why: `docs/decisions/0047-order-and-distinct-values-on-columns.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes, row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.ranks.order_index import OrderIndex
from firesteel.columns.kernels.ranks.rank_changes import RankEvents, Taken, places_of_ids
from firesteel.columns.kernels.rows.hash_index import HashIndex
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.live_rows import Changes, LiveRows, are_equal
from firesteel.columns.kernels.rows.partitions import Partitions
from firesteel.columns.kernels.rows.row_order import Order, sort_keys
from firesteel.columns.kernels.rows.segments import distinct, places_in_turn, starts_of_segments
from firesteel.columns.orders import lexical_order, stable_order
from firesteel.columns.rows import signs_of

_NONE = np.zeros(0, np.int64)
_UNLIMITED = np.int64(1 << 40)


class RankedRows(LiveRows):
    """The rows of all partitions, of which each batch reads those that can be among the best while it is processed.

    A batch that retracts r rows of a partition moves at most r others up, so it reads the best `end` + r.

    Args:
        keys: The partition columns.
        order: The order in which rows are ranked; of peers the earlier row is better.
        width: The number of columns.
        context: The environment of the kernel; the state has been restored.
        name: The name of the state table.
        ttl_ms: The time to live of a row; 0 means no expiry.
    """

    _shows_arrival = True

    def __init__(
        self, keys: tuple[int, ...], order: Order, width: int, context: KernelContext, name: str, ttl_ms: int
    ) -> None:
        self._ranking = order
        super().__init__(keys, width, context, name, (ttl_ms, 0), False)

    def _new_index(self) -> HashIndex:
        return OrderIndex(self.room, self._sort_keys)

    def _index(self, rows: ColumnBatch, hashes: Hashes, numbers: Array) -> None:
        self._by_key.add(hashes, numbers)

    def _sort_keys(self, numbers: Array) -> Sequence[Array]:
        return _sort_keys(self._store.take(numbers, self._sort_columns), self._ranking)

    @property
    def _sort_columns(self) -> tuple[int, ...]:
        return tuple(index for index, _, _ in self._ranking)

    def _are_there(self, numbers: Array) -> Array:
        is_there: Array = self._store.is_there[numbers]
        return is_there & self._are_live(numbers) if self._ttl_ms else is_there

    def partitions(self, batch: ColumnBatch) -> Partitions:
        """Return the rows of a batch by partition."""
        groups = groups_by(batch, self._keys)
        keys = batch.select(self._keys).take(groups.first_rows())
        return Partitions(groups, keys, self._hashes(keys))

    def _hashes(self, keys: ColumnBatch) -> Hashes:
        return row_hashes(keys, range(len(self._keys)))

    def rank(self, batch: ColumnBatch, partitions: Partitions, end: int) -> Ranked:
        """Return the rows of a batch among those of their partitions that can be among the best; nothing is changed."""
        groups, signs = partitions.groups, signs_of(batch)
        changes = self.changes(batch, partitions.hashes[groups.codes], groups)
        come = np.flatnonzero(changes.is_effective if signs is None else changes.is_effective & (signs > 0))
        go = _NONE if signs is None else np.flatnonzero(changes.is_effective & (signs < 0))
        limits = end + np.bincount(groups.codes[go], minlength=groups.count)
        owners, known = self._best(partitions.keys, partitions.hashes, limits)
        of = np.concatenate([owners, groups.codes[come]])
        by_rank = lexical_order([of, *self._keys_of_sort(known, batch, come)])
        # A row behind so many known ones stays behind the end.
        by_rank = by_rank[_known_before(by_rank, of[by_rank], len(known)) < limits[of[by_rank]]]
        return Ranked(self, batch, partitions, changes, known, come, go, by_rank, of)

    def of(self, keys: ColumnBatch) -> Array:
        """Return the numbers of all rows of partitions, given their key columns."""
        return self._best(keys, self._hashes(keys), np.full(keys.length, _UNLIMITED))[1]

    def _best(self, keys: ColumnBatch, hashes: Hashes, limits: Array) -> tuple[Array, Array]:
        """Return the places of partitions and the numbers of their best rows, maybe some more, by number.

        Args:
            keys: The key columns of the partitions.
            hashes: Their hashes.
            limits: The number of rows that are asked for of each.
        """
        index = self._by_key
        assert isinstance(index, OrderIndex)
        places, numbers = index.first(hashes, limits, self._are_there)
        is_own = self._have_keys(numbers, keys, places)
        # So few that the second search is no matter: hashes have 64 bits.
        if not is_own.all():  # Other partitions have the same hash, and may have better rows.
            unlimited = np.where(np.isin(np.arange(len(limits)), places[~is_own]), _UNLIMITED, limits)
            places, numbers = index.first(hashes, unlimited, self._are_there)
            is_own = self._have_keys(numbers, keys, places)
        return places[is_own], numbers[is_own]

    def _have_keys(self, numbers: Array, keys: ColumnBatch, places: Array) -> Array:
        if not (self._keys and len(numbers)):
            return np.ones(len(numbers), bool)
        return are_equal(self._store.take(numbers, self._keys), keys.take(places))

    def _keys_of_sort(self, known: Array, batch: ColumnBatch, come: Array) -> list[Array]:
        parts = [batch.select(self._sort_columns).take(come)]
        if len(known):
            parts.insert(0, self._store.take(known, self._sort_columns))
        return _sort_keys(concat(parts), self._ranking)


@dataclass(frozen=True)
class Ranked:
    """The rows of a batch among the best of their partitions. Stored rows and those of the batch that come have ids.

    Attributes:
        stored: The rows that are stored.
        batch: The batch.
        partitions: Its rows by partition.
        changes: What it changes.
        known: The numbers of the stored rows, which have the ids from 0, ascending.
        come: The places of the rows that come, which have the ids that follow.
        go: The places of the rows that go.
        by_rank: The ids of the rows that can be among the best, by partition and rank.
        of: The partition of each id.
    """

    stored: RankedRows
    batch: ColumnBatch
    partitions: Partitions
    changes: Changes
    known: Array
    come: Array
    go: Array
    by_rank: Array
    of: Array

    def events(self) -> tuple[RankEvents, Array]:
        """Return the events, and that of each row of the batch; -1 if it has none."""
        firsts = starts_of_segments(self.of[self.by_rank])
        places, starts = np.full(len(self.of) + 1, -1), np.zeros(len(self.of) + 1, np.int64)
        places[self.by_rank], starts[self.by_rank] = np.arange(len(firsts)) - firsts, firsts
        ids = np.concatenate([np.arange(len(self.of)), self.targets])
        times = np.concatenate([np.full(len(self.known), -1), self.come, self.go])
        signs = np.repeat([1, -1], [len(self.of), len(self.go)])
        chosen = np.flatnonzero(places[ids] >= 0)
        chosen = chosen[lexical_order([self.of[ids[chosen]], times[chosen]])]
        ids, times = ids[chosen], times[chosen]
        own, is_own = np.full(self.batch.length, -1), np.flatnonzero(times >= 0)
        own[times[is_own]] = is_own
        events = RankEvents(
            places[ids], starts_of_segments(self.of[ids]), signs[chosen], self.by_rank, starts[ids], self._take
        )
        return events, own

    @cached_property
    def targets(self) -> Array:
        """Return the ids of the rows that go: of equal ones the first that came; -1 for one that is not ranked."""
        equal = self.changes.equal
        if equal is None:
            return _NONE
        codes, count = equal.groups.codes, len(self.known)
        owners = np.concatenate([equal.owners, codes[self.come]])
        ids = np.concatenate([_places(self.known, equal.known), count + np.arange(len(self.come))])
        queue, go = stable_order(owners), stable_order(codes[self.go])
        targets = np.empty(len(go), np.int64)
        targets[go] = ids[queue[places_in_turn(owners[queue], codes[self.go[go]])]]
        return targets

    def _take(self, *ids: Array) -> Taken:
        needed, places = places_of_ids(len(self.of), ids)
        known = needed[needed < len(self.known)]
        rows = [replace(self.batch, kinds=None).take(self.come[needed[len(known) :] - len(self.known)])]
        if len(known):
            rows.insert(0, self.stored.take(self.known[known]))
        return concat(rows), places

    def apply(self) -> None:
        """Change the stored rows."""
        self._apply(self.changes)

    def apply_best(self, end: int) -> None:
        """Change the stored rows, and forget those that are not among the best."""
        is_left = np.ones(len(self.of) + 1, bool)
        is_left[self.targets] = False
        left = self.by_rank[is_left[self.by_rank]]
        is_kept = np.zeros(len(self.of), bool)
        is_kept[left[np.arange(len(left)) - starts_of_segments(self.of[left]) < end]] = True
        count = len(self.known)
        removed = distinct(np.concatenate([self.changes.removed, self.known[~is_kept[:count]]]))
        self._apply(replace(self.changes, added=self.come[is_kept[count:]], removed=removed))

    def _apply(self, changes: Changes) -> None:
        hashes = self.partitions.hashes[self.partitions.groups.codes]
        self.stored.apply(self.batch, hashes, changes, np.zeros(self.batch.length, np.int64))


def _sort_keys(columns: ColumnBatch, order: Order) -> list[Array]:
    return sort_keys(columns.columns, tuple((place, *by[1:]) for place, by in enumerate(order)))


def _known_before(ids: Array, partitions: Array, known: int) -> Array:
    """Return how many stored rows of its partition are better than each row."""
    before = np.concatenate([[0], np.cumsum(ids < known)])[:-1]
    found: Array = before - before[starts_of_segments(partitions)]
    return found


def _places(numbers: Array, sought: Array) -> Array:
    """Return the places of numbers among ascending ones; -1 for one that is not there."""
    if not len(numbers):
        return np.full(len(sought), -1)
    places = np.minimum(np.searchsorted(numbers, sought), len(numbers) - 1)
    return np.where(numbers[places] == sought, places, -1)
