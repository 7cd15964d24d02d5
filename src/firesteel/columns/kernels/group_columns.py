"""The states of groups as a version has them, written from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(eq=False)
class GroupColumns(EntryColumns):
    """Groups with their `GroupState`s.

    Attributes:
        calls: The aggregate calls.
        key_groups: The key group of each group.
        key_columns: The key columns.
        counts: The number of rows of each group.
        fields: The accumulators.
    """

    calls: Sequence[VectorCall]
    key_groups: Array
    key_columns: Sequence[Sequence[Cell]]
    counts: Array
    fields: Sequence[Fields]

    def __len__(self) -> int:
        return len(self.counts)

    def part(self, start: int, stop: int) -> GroupColumns:
        """Return the groups from one place up to another."""
        keys = [column[start:stop] for column in self.key_columns]
        fields = [[part[start:stop] for part in parts] for parts in self.fields]
        return GroupColumns(self.calls, self.key_groups[start:stop], keys, self.counts[start:stop], fields)

    def entries(self) -> list[Row]:
        """Return key group and key of each group."""
        return list(zip(self.key_groups.tolist(), *self.key_columns, strict=True))

    def objects(self) -> dict[Cell, Cell]:
        """Return the states by the entries of the table."""
        stored = [call.store(parts) for call, parts in zip(self.calls, self.fields, strict=True)]
        accumulators = map(list, zip(*stored, strict=True)) if stored else ([] for _ in range(len(self)))
        keys = zip(*self.key_columns, strict=True) if self.key_columns else repeat((), len(self))
        states = map(list, zip(self.counts.tolist(), accumulators, keys, strict=True))
        return dict(zip(self.entries(), states, strict=True))

    def write_entries(self, writer: ColumnWriter) -> None:
        """Write key group and key of each group."""
        writer.begin_places(Kind.TUPLE, 1 + len(self.key_columns))
        write_integers(writer, self.key_groups)
        for column in self.key_columns:
            writer.column(column)

    def write_values(self, writer: ColumnWriter) -> None:
        """Write the states: lists of the number of rows, the accumulators, and the key."""
        writer.begin_places(Kind.SHORT_LIST, 3)
        write_integers(writer, self.counts)
        writer.begin_places(Kind.SHORT_LIST, len(self.calls))
        for call, parts in zip(self.calls, self.fields, strict=True):
            call.write(writer, parts)
        writer.begin_places(Kind.TUPLE, len(self.key_columns))
        for column in self.key_columns:
            writer.column(column)
