"""The states of groups as arrays, in place of the state table.

Why: `docs/decisions/0063-groups-are-written-from-arrays.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.expiring_state import ExpiringTable
from firesteel.columns.hashing import Hashes, row_hashes
from firesteel.columns.kernel import StateTable
from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.calls.vector_values import VectorStates, objects
from firesteel.columns.kernels.groups.group_columns import GroupColumns, GroupTimes
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.rows import Row, keys_of
from firesteel.columns.runs.entries import Entries, sorted_by_hash
from firesteel.columns.runs.run_store import Hit, RunStore, Spill
from firesteel.common.encoding.entry_columns import EntryColumns

_ELSEWHERE = -1
"""The number of rows of a group that is in the table."""

_AT_ONCE = 50_000


class FoundGroups(NamedTuple):
    """Different groups with their states.

    Attributes:
        keys: The keys, sorted by hash.
        order: Where each of them is in the other arrays.
        hits: Which of them are in the store, and where.
        counts: The number of rows of each group.
        fields: The accumulators.
    """

    keys: Entries
    order: Array
    hits: list[Hit]
    counts: Array
    fields: list[Fields]

    @property
    def hashes(self) -> Hashes:
        """Return the hashes of the keys, in the order of the other arrays."""
        hashes = np.empty(len(self.order), np.uint64)
        hashes[self.order] = self.keys.hashes
        return hashes


class GroupStore:
    """The groups of one operator, without those that the row path has in the state table.

    Args:
        types: The types of the key columns, which are not nested.
        calls: The aggregate calls.
        table: The table with the `GroupState` of each entry (see `keys_of`).
        empty: The accumulators of a group without rows.
        max_parallelism: The number of key groups.
        spill: Where groups go that have no room in memory; None keeps all there.
    """

    def __init__(
        self,
        types: Sequence[pa.DataType],
        calls: Sequence[VectorCall],
        table: StateTable,
        empty: list[Cell],
        max_parallelism: int,
        spill: Spill | None,
    ) -> None:
        self._types = types
        self._calls = calls
        self._blank = [call.load([state]) for call, state in zip(calls, empty, strict=True)]
        self._max_parallelism = max_parallelism
        self._runs = RunStore(spill, lambda groups: self._are_live(groups.values.__getitem__))
        self._expiry = table if isinstance(table, ExpiringTable) else None
        self._values = table if self._expiry is None else self._expiry.values
        self._sources = [(self._values, _Source(self, self._states))]
        if self._expiry is not None:
            self._sources.append((self._expiry.times, _Source(self, partial(GroupTimes, max_parallelism))))
        for state_table, source in self._sources:
            state_table.source = source

    # --- batches -----------------------------------------------------------------------------------------------------

    def find(self, rows: ColumnBatch) -> FoundGroups | None:
        """Return the groups with some keys, each once.

        Returns:
            None if a call can't process an accumulator as arrays.
        """
        if self._values.data:
            self._take_groups(rows)
        keys, order = self._sought(rows)
        columns = self._columns_without_rows(rows.length)
        hits = self._runs.find(keys, order)
        for hit in hits:
            is_live = self._are_live(hit.values)
            for place in range(len(columns)):
                if hit.are_all and is_live.all():
                    columns[place] = hit.values(place)
                else:
                    columns[place][hit.to[is_live]] = hit.values(place)[is_live]
        counts, *states = columns
        fields = self._by_call(states)
        for call, parts in zip(self._calls, fields, strict=True):
            if isinstance(call, VectorStates):
                missing = np.flatnonzero(counts == 0)
                parts[0][missing] = objects([call.new() for _ in missing])
        are_covered = all(call.covers_states(parts) for call, parts in zip(self._calls, fields, strict=True))
        return FoundGroups(keys, order, hits, counts, fields) if are_covered else None

    def are_there(self, rows: ColumnBatch) -> Array:
        """Return which groups with some keys, each once, have rows and have not expired."""
        if self._values.data:
            self._take_groups(rows)
        found = np.zeros(rows.length, bool)
        for hit in self._runs.find(*self._sought(rows)):
            found[hit.to] = self._are_live(hit.values)
        return found

    def update(self, found: FoundGroups, counts: Array, fields: Sequence[Fields]) -> None:
        """Set the rows and accumulators of groups. A group without rows has none, and its accumulators are empty."""
        columns = self._with_time(counts, *(part for parts in fields for part in parts))
        self._runs.update(found.keys, found.order, found.hits, columns)

    def _with_time(self, *columns: Array) -> list[Array]:
        """Return columns of groups that are written now."""
        return [*columns, *(() if self._expiry is None else (np.full(len(columns[0]), self._expiry.now_ms()),))]

    def _sought(self, rows: ColumnBatch) -> tuple[Entries, Array]:
        columns = [_cast(column, kind) for column, kind in zip(rows.columns, self._types, strict=True)]
        return _sorted(columns, rows.length)

    def _columns_without_rows(self, length: int, count: int = 0) -> list[Array]:
        """Return the columns of groups without rows."""
        return [np.full(length, count), *(np.repeat(part, length) for parts in self._blank for part in parts)]

    def _by_call(self, columns: Sequence[Array]) -> list[Fields]:
        rest = iter(columns)
        return [list(islice(rest, len(parts))) for parts in self._blank]

    def _states(self, groups: Entries) -> GroupColumns:
        return GroupColumns(self._max_parallelism, groups.decoded(), self._calls, list(map(len, self._blank)))

    def _are_live(self, column: Callable[[int], Array]) -> Array:
        """Return which groups have rows, are not in the table, and have not expired, given their columns."""
        are_there: Array = column(0) > 0
        return are_there if self._expiry is None else are_there & (column(-1) > self._expiry.deadline_ms())

    def _live(self, groups: Entries) -> Entries:
        return groups.where(self._are_live(groups.values.__getitem__))

    # --- the state table ---------------------------------------------------------------------------------------------

    def take(self, are_changed: bool) -> None:
        """Take the restored groups out of the table; it may have noted that they have changed."""
        while found := dict(islice(self._values.data.items(), _AT_ONCE)):
            self._runs.insert(self._taken(found), are_changed)

    def _take_groups(self, rows: ColumnBatch) -> None:
        """Take the groups of rows that are in the table."""
        entries, data = keys_of(rows, range(len(self._types)), self._max_parallelism), self._values.data
        self._values.prefetch(entries)
        # Groups that the row path had for a batch come back as soon as they are asked for.
        taken = self._taken({entry: data[entry] for entry in entries if entry in data})
        keys, order = Entries(taken.hashes, taken.keys), np.arange(len(taken))
        self._runs.update(keys, order, self._runs.find(keys, order), taken.values)

    def _taken(self, states: dict[Row, list[Cell]]) -> Entries:
        """Remove groups from the table, and return them."""
        keys, order = _sorted(self._columns_of(states), len(states))
        counts = np.array([state[0] for state in states.values()], np.int64)
        loaded = (call.load([state[1][place] for state in states.values()]) for place, call in enumerate(self._calls))
        columns = [counts, *(part for parts in loaded for part in parts)]
        if self._expiry is not None:
            columns.append(self._expiry.take_times(states))
        for entry in states:
            del self._values.data[entry]
        return keys.with_values(*(column[order] for column in columns))

    def _columns_of(self, entries: Collection[Row]) -> list[pa.Array]:
        """Return the key columns of entries of the table."""
        _, *columns = zip(*entries, strict=True) if entries else ([] for _ in range(1 + len(self._types)))
        return [pa.array(column, kind) for column, kind in zip(columns, self._types, strict=True)]

    def give_back(self, rows: ColumnBatch | None = None) -> None:
        """Put the groups of some rows, or all, into the table, which notes the changed ones, and forget them here."""
        if rows is None:
            self._give_back_all()
            return
        groups = RowGroups(rows.columns, rows.length)
        keys, order = self._sought(rows.take(groups.first_rows()))
        hits = self._runs.find(keys, order)
        for hit in hits:
            self._give(hit.entries.take(hit.places), True)
        columns = self._with_time(*self._columns_without_rows(len(keys), _ELSEWHERE))
        self._runs.update(keys, order, hits, columns)

    def _give_back_all(self) -> None:
        changed = self._runs.seal()
        for part in self._runs.all():
            self._give(part, False)
        for part in changed:
            self._give(part, True)
        self._runs.clear()

    def _give(self, groups: Entries, are_changed: bool) -> None:
        """Put groups into the table, which notes those that have changed since the last version."""
        groups = groups.where(groups.values[0] != _ELSEWHERE) if are_changed else self._live(groups)
        for table, source in self._sources:
            states = source.columns(groups).objects()
            if not are_changed:
                table.data.update(states)
                continue
            table.put_all(list(states), list(states.values()))
            for entry, count in zip(states, groups.values[0].tolist(), strict=True):
                if not count:
                    table.remove(entry)

    # --- versions ----------------------------------------------------------------------------------------------------

    def seal(self) -> None:
        """Begin a new version; the sources of both tables have the changes of the last one."""
        for part in self._runs.seal():
            for _, source in self._sources:
                source.changed.append(part)

    def all(self) -> Iterator[Entries]:
        """Yield all groups, in parts."""
        return map(self._live, self._runs.all())


class _Source:
    """What the versions of a table have of the groups.

    Attributes:
        changed: What has changed in versions whose changes were not asked for yet.
        columns: Returns what they have of some groups.
    """

    def __init__(self, store: GroupStore, columns: Callable[[Entries], GroupColumns | GroupTimes]) -> None:
        self._store = store
        self.columns = columns
        self.changed: list[Entries] = []

    def changes(self) -> Iterator[tuple[EntryColumns, list[Cell]]]:
        """Yield the groups that have changed since the last version, and the entries of those without rows."""
        self._store.seal()
        parts, self.changed = self.changed, []
        for part in parts:
            counts = part.values[0]
            gone = [] if counts.all() else self.columns(part.where(counts == 0)).entries()
            yield self._written(part.where(counts > 0)), gone

    def entries(self) -> Iterator[EntryColumns]:
        """Yield all groups that have rows."""
        self._store.seal()
        self.changed = []
        return map(self._written, self._store.all())

    def _written(self, groups: Entries) -> GroupColumns | GroupTimes:
        """Return what is written of groups: by their first key, as numbers near each other take less room."""
        if not groups.keys or not pa.types.is_integer(groups.keys[0].type):
            return self.columns(groups)
        return self.columns(groups.take(np.argsort(np.asarray(groups.keys[0].fill_null(0)))))

    def give_back(self) -> None:
        """Put the groups into the table."""
        self._store.give_back()

    def __len__(self) -> int:
        self._store.seal()
        return sum(map(len, self._store.all()))


def _sorted(columns: list[pa.Array], length: int) -> tuple[Entries, Array]:
    """Return keys in the order of their hashes, and where they were."""
    hashes = row_hashes(ColumnBatch(tuple(columns), length), range(len(columns)))
    return sorted_by_hash(hashes, columns)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)
