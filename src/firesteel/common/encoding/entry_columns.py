"""Entries of a state that an operator has as columns: they are written as such, without an object per entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from firesteel.common.encoding.kinds import Value

if TYPE_CHECKING:
    from firesteel.common.encoding.column_writer import ColumnWriter


class EntryColumns(Mapping[Value, Value]):
    """Entries and their values, which become objects only where somebody looks at them; pickled as a dict."""

    _made: dict[Value, Value] | None = None

    @abstractmethod
    def write_entries(self, writer: ColumnWriter) -> None:
        """Write the column of entries."""

    @abstractmethod
    def write_values(self, writer: ColumnWriter) -> None:
        """Write the column of their values."""

    @abstractmethod
    def objects(self) -> dict[Value, Value]:
        """Return the entries and their values as new objects."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """About how many bytes the entries and their values take in memory."""

    @abstractmethod
    def part(self, start: int, stop: int) -> EntryColumns:
        """Return the entries from one place up to another."""

    def _all(self) -> dict[Value, Value]:
        if self._made is None:
            self._made = self.objects()
        return self._made

    def __getitem__(self, entry: Value) -> Value:
        return self._all()[entry]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._all())

    def __reduce__(self) -> tuple[type, tuple[dict[Value, Value]]]:
        return dict, (self._all(),)


class ColumnSource(Protocol):
    """What keeps entries of a state table in place of the table: an entry is in one of the two."""

    def changes(self) -> Iterator[tuple[EntryColumns, list[Value]]]:
        """Yield the entries that have changed since the last version, and those that are gone, in parts."""

    def entries(self) -> Iterator[EntryColumns]:
        """Yield all entries, which a version is going to have, in parts."""

    def give_back(self) -> None:
        """Put the entries into the table, and note there which have changed."""

    def __len__(self) -> int: ...
