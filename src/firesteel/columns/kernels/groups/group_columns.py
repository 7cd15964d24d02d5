"""The states of groups as a version has them, written from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, repeat
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from firesteel.columns.hashing import groups_of
from firesteel.columns.pylist import pylist
from firesteel.common.encoding.array_columns import write_integers
from firesteel.common.encoding.entry_columns import EntryColumns
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.cells import Array, Cell
    from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall
    from firesteel.columns.rows import Row
    from firesteel.columns.runs.entries import Entries
    from firesteel.common.encoding.column_writer import ColumnWriter


@dataclass(eq=False)
class _OfGroups(EntryColumns):
    """What a version has of groups.

    Attributes:
        max_parallelism: The number of key groups.
        groups: The groups.
    """

    max_parallelism: int
    groups: Entries

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def nbytes(self) -> int:
        """About how many bytes the groups take."""
        return self.groups.nbytes

    def part(self, start: int, stop: int) -> Self:
        """Return the groups from one place up to another."""
        return replace(self, groups=self.groups.slice(start, stop))

    @cached_property
    def _keys(self) -> list[list[Cell]]:
        return list(map(pylist, self.groups.keys))

    def _key_groups(self) -> Array:
        return groups_of(self.groups.hashes, self.max_parallelism).astype(np.int64)

    def entries(self) -> list[Row]:
        """Return key group and key of each group."""
        return list(zip(self._key_groups().tolist(), *self._keys, strict=True))

    def write_entries(self, writer: ColumnWriter) -> None:
        """Write key group and key of each group."""
        writer.begin_places(Kind.TUPLE, 1 + len(self.groups.keys))
        write_integers(writer, self._key_groups())
        self._write_keys(writer)

    def _write_keys(self, writer: ColumnWriter) -> None:
        for place, column in enumerate(self.groups.keys):
            if pa.types.is_integer(column.type) and not column.null_count:
                write_integers(writer, column.cast(pa.int64()).to_numpy())
            else:
                writer.column(self._keys[place])


@dataclass(eq=False)
class GroupColumns(_OfGroups):
    """The `GroupState`s of groups, with objects where accumulators are no numbers.

    Attributes:
        calls: The aggregate calls.
        widths: The number of columns of the accumulators of each.
    """

    calls: Sequence[VectorCall]
    widths: Sequence[int]

    @property
    def _fields(self) -> list[Fields]:
        rest = iter(self.groups.values[1:])
        return [list(islice(rest, width)) for width in self.widths]

    def objects(self) -> dict[Cell, Cell]:
        """Return the states by the entries of the table."""
        stored = [call.store(parts) for call, parts in zip(self.calls, self._fields, strict=True)]
        accumulators = map(list, zip(*stored, strict=True)) if stored else ([] for _ in range(len(self)))
        keys = zip(*self._keys, strict=True) if self._keys else repeat((), len(self))
        states = map(list, zip(self.groups.values[0].tolist(), accumulators, keys, strict=True))
        return dict(zip(self.entries(), states, strict=True))

    def write_values(self, writer: ColumnWriter) -> None:
        """Write the states: lists of the number of rows, the accumulators, and the key."""
        writer.begin_places(Kind.SHORT_LIST, 3)
        write_integers(writer, self.groups.values[0])
        writer.begin_places(Kind.SHORT_LIST, len(self.calls))
        for call, parts in zip(self.calls, self._fields, strict=True):
            call.write(writer, parts)
        writer.begin_places(Kind.TUPLE, len(self.groups.keys))
        self._write_keys(writer)


class GroupTimes(_OfGroups):
    """When groups were written, in ms."""

    def objects(self) -> dict[Cell, Cell]:
        """Return the times by the entries of the table."""
        return dict(zip(self.entries(), self.groups.values[-1].tolist(), strict=True))

    def write_values(self, writer: ColumnWriter) -> None:
        """Write the times."""
        write_integers(writer, self.groups.values[-1])
