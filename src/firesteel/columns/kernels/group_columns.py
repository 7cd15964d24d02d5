"""The states of groups as a version has them, written from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from firesteel.common.encoding.array_columns import write_integers
from firesteel.common.encoding.entry_columns import EntryColumns
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.cells import Array, Cell
    from firesteel.columns.kernels.vector_calls import Fields, VectorCall
    from firesteel.columns.rows import Row
    from firesteel.common.encoding.column_writer import ColumnWriter


class GroupColumns(EntryColumns):
    """Groups with their `GroupState`s.

    Args:
        calls: The aggregate calls.
        key_groups: The key group of each group.
        keys: The key columns.
        counts: The number of rows of each group.
        fields: The accumulators.
    """

    def __init__(
        self,
        calls: Sequence[VectorCall],
        key_groups: Array,
        keys: Sequence[Sequence[Cell]],
        counts: Array,
        fields: Sequence[Fields],
    ) -> None:
        self._calls = calls
        self._key_groups = key_groups
        self._keys = keys
        self._counts = counts
        self._fields = fields

    def __len__(self) -> int:
        return len(self._counts)

    def part(self, start: int, stop: int) -> GroupColumns:
        """Return the groups from one place up to another."""
        keys = [column[start:stop] for column in self._keys]
        fields = [[part[start:stop] for part in parts] for parts in self._fields]
        return GroupColumns(self._calls, self._key_groups[start:stop], keys, self._counts[start:stop], fields)

    def entries(self) -> list[Row]:
        """Return key group and key of each group."""
        return list(zip(self._key_groups.tolist(), *self._keys, strict=True))

    def objects(self) -> dict[Cell, Cell]:
        """Return the states by the entries of the table."""
        stored = [call.store(parts) for call, parts in zip(self._calls, self._fields, strict=True)]
        accumulators = map(list, zip(*stored, strict=True)) if stored else ([] for _ in range(len(self)))
        keys = zip(*self._keys, strict=True) if self._keys else repeat((), len(self))
        states = map(list, zip(self._counts.tolist(), accumulators, keys, strict=True))
        return dict(zip(self.entries(), states, strict=True))

    def write_entries(self, writer: ColumnWriter) -> None:
        """Write key group and key of each group."""
        writer.begin_places(Kind.TUPLE, 1 + len(self._keys))
        write_integers(writer, self._key_groups)
        for column in self._keys:
            writer.column(column)

    def write_values(self, writer: ColumnWriter) -> None:
        """Write the states: lists of the number of rows, the accumulators, and the key."""
        writer.begin_places(Kind.SHORT_LIST, 3)
        write_integers(writer, self._counts)
        writer.begin_places(Kind.SHORT_LIST, len(self._calls))
        for call, parts in zip(self._calls, self._fields, strict=True):
            call.write(writer, parts)
        writer.begin_places(Kind.TUPLE, len(self._keys))
        for column in self._keys:
            writer.column(column)
