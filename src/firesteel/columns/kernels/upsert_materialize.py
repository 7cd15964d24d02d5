"""The rows of each primary key before a sink, where several rows of a query may have it.

Flink: `SinkUpsertMaterializer`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import taken_values
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.kernels.ranks.prefix_ranks import PrefixRanks
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.listed_rows import Listed, ListedRows
from firesteel.columns.kernels.rows.segments import (
    clamped_counts,
    first_of_segments,
    places_in_turn,
    starts_of_segments,
)
from firesteel.columns.orders import lexical_order, stable_order
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, are_retractions, batch_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class UpsertMaterializeFactory:
    """Plan of the rows by primary key.

    Attributes:
        keys: The columns of the primary key.
        upsert_key: The columns by which a row of the query replaces an earlier one; None compares whole rows.
        types: Types of the columns.
    """

    keys: tuple[int, ...]
    upsert_key: tuple[int, ...] | None
    types: tuple[DataType, ...]

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return rows_layout("upserted", self.types, self.keys)

    def make(self) -> Kernel:
        """Return the kernel."""
        return UpsertMaterialize(self)


class UpsertMaterialize(PlannedKernel[UpsertMaterializeFactory]):
    """Shows the row of each key that came last and was not retracted; retractions may come late.

    A row that has the upsert key of another takes its place, and shows even if that is not the last one.

    Args:
        plan: Keys and types.
    """

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._rows = ListedRows(self._plan.keys, context, "listed rows")
        types = [arrow_type(kind) for kind in self._plan.types]
        for lists, written in taken_values(context, "rows"):
            rows = batch_of([row for rows in lists for row in rows], types)
            self._rows.add_former(rows, np.repeat(written, list(map(len, lists))))

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit what the changes of a batch make of the visible rows."""
        if not batch.length:
            return
        keys = groups_by(batch, self._plan.keys)
        listed = self._rows.find(batch.take(keys.first_rows()))
        changes = _Changes(listed, batch, keys.codes, self._plan)
        places, ids, kinds = changes.visible()
        if len(places):
            order = np.argsort(places)
            self.context.emit(replace(changes.rows.take(ids[order]), kinds=kinds[order]))
        self._change(changes, listed)

    def _change(self, changes: _Changes, listed: Listed) -> None:
        known = len(listed.numbers)
        left = np.flatnonzero(changes.is_left)
        last = changes.version(changes.owners[left], np.full(len(left), changes.end))
        is_new = last >= known
        since = np.empty(len(left), np.int64)
        is_known = left < known
        since[is_known] = listed.since[left[is_known]]
        since[~is_known] = self._rows.new(int((~is_known).sum()))
        gone = np.concatenate([listed.numbers[~changes.is_left[:known]], listed.expired])
        replaced = listed.numbers[left[is_known & is_new]]
        stays = left[is_known & ~is_new]
        stays = stays[np.isin(listed.keys[stays], changes.changed_keys)]
        renewed = listed.numbers[stays], listed.numbers[stays[first_of_segments(listed.keys[stays])]]
        self._rows.change(renewed, gone, replaced, changes.rows.take(last[is_new]), since[is_new])

    def flush(self) -> None:
        """Write the rows that have changed."""
        self._rows.flush()


class _Changes:
    """What the rows of a batch do to the lists of their keys, one after the other.

    Rows have ids: known ones first, then those of the batch. Rows that are known, or come and take nobody's place, have
    a place in the list of their key. Times are places in the batch; known rows came before, at -1.

    Args:
        listed: The known rows of the keys.
        batch: The rows.
        keys: The key of each row of the batch.
        plan: The plan.

    Attributes:
        rows: All rows.
        owners: Which rows are the same, or have the same upsert key, by id.
        is_left: Whether each row still has its place in the end, by id.
        end: A time after all changes.
    """

    def __init__(self, listed: Listed, batch: ColumnBatch, keys: Array, plan: UpsertMaterializeFactory) -> None:
        known, self.end = len(listed.numbers), batch.length
        plain = replace(batch, kinds=None)
        self.rows = plain if listed.rows is None else concat([listed.rows, plain])
        self._keys = np.concatenate([listed.keys, keys])
        self._times = np.concatenate([np.full(known, -1), np.arange(batch.length)])
        columns = range(len(batch.columns)) if plan.upsert_key is None else (*plan.keys, *plan.upsert_key)
        self.owners = groups_by(self.rows, columns).codes
        goes = np.zeros(len(self._times), bool)
        goes[known:] = are_retractions(batch.kinds_or_inserts())
        self._comes = ~goes
        order = stable_order(self.owners)
        is_first = first_of_segments(self.owners[order])
        if plan.upsert_key is None:
            has_place, is_effective = ~goes[order], goes[order]
            is_effective &= clamped_counts(np.where(goes[order], -1, 1), is_first)[1]
        else:
            was_there = ~is_first & ~np.roll(goes[order], 1)
            has_place, is_effective = ~goes[order] & ~was_there, goes[order] & was_there
        self._targets = np.full(len(order), -1)
        placed, gone = order[has_place], order[is_effective]
        self._targets[gone] = placed[places_in_turn(self.owners[placed], self.owners[gone])]
        self._has_place = np.zeros(len(order), bool)
        self._has_place[placed] = True
        self.is_left = self._has_place.copy()
        self.is_left[self._targets[self._targets >= 0]] = False
        came = order[self._comes[order]]
        self._came, self._came_at = came, self.owners[came] * (self.end + 2) + self._times[came]

    @property
    def changed_keys(self) -> Array:
        """Return the keys whose lists change."""
        is_change = (self._times >= 0) & (self._comes | (self._targets >= 0))
        return self._keys[is_change]

    def version(self, owners: Array, times: Array) -> Array:
        """Return the ids of the last rows that came before some times, given what they are the same as."""
        return self._came[np.searchsorted(self._came_at, owners * (self.end + 2) + times) - 1]

    def visible(self) -> tuple[Array, Array, Array]:
        """Return the times at which the visible row of a key changes, the ids of the rows then, and the kinds."""
        lists = _Lists(self._keys, self._times, self._has_place, self._targets)
        come, gone = np.flatnonzero(self._comes & (self._times >= 0)), np.flatnonzero(self._targets >= 0)
        # Only the last row of a key was visible; those before it go without a trace.
        gone = gone[lists.from_end(gone, 1) == self._targets[gone]]
        shown, is_left = self._targets[gone], lists.counts(gone) > 1
        shown[is_left] = lists.from_end(gone[is_left], 2)
        ids = np.concatenate([come, self.version(self.owners[shown], self._times[gone])])
        came = np.where(lists.counts(come) == 0, INSERT, UPDATE_AFTER)
        kinds = np.concatenate([came, np.where(is_left, UPDATE_AFTER, DELETE)])
        return self._times[np.concatenate([come, gone])], ids, kinds.astype(np.int8)


class _Lists:
    """The lists of keys, as they are before each row.

    Args:
        keys: The key of each row.
        times: Its time, from -1.
        has_place: Whether it comes to the end of the list of its key.
        targets: Which row goes with it; -1 for none.
    """

    def __init__(self, keys: Array, times: Array, has_place: Array, targets: Array) -> None:
        self._keys, self._times, self._span = keys, times, int(times.max()) + 3
        listed, gone = np.flatnonzero(has_place), np.flatnonzero(targets >= 0)
        self._listed = listed[lexical_order([keys[listed], times[listed]])]  # stable for known rows
        element = np.full(len(keys), -1)
        element[self._listed] = np.arange(len(listed)) - starts_of_segments(keys[self._listed])
        ids, at = np.concatenate([listed, targets[gone]]), np.concatenate([listed, gone])
        order = lexical_order([keys[at], times[at]])
        signs = np.where(order < len(listed), 1, -1)
        self._ranks = PrefixRanks(element[ids[order]], starts_of_segments(keys[at[order]]), signs)
        self._moments = keys[at[order]] * self._span + times[at[order]]

    def _before(self, rows: Array) -> tuple[Array, Array]:
        """Return where the changes of the keys of rows begin, and how many precede each row."""
        starts = np.searchsorted(self._moments, self._keys[rows] * self._span - 1)
        ends = np.searchsorted(self._moments, self._keys[rows] * self._span + self._times[rows])
        return starts, ends - starts

    def counts(self, rows: Array) -> Array:
        """Return the lengths of the lists."""
        return self._ranks.counts(*self._before(rows))

    def from_end(self, rows: Array, number: int) -> Array:
        """Return the ids of the last rows (1) of the lists, or of those before them (2)."""
        found = self._ranks.at(*self._before(rows), self.counts(rows) - number)
        begin = np.searchsorted(self._keys[self._listed], self._keys[rows])
        ids: Array = self._listed[begin + found]
        return ids
