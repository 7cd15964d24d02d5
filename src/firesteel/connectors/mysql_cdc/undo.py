"""Undoes changes: from rows that were read at one position of the log it makes those of an earlier one.

A batch may be read again, and a checkpoint has the position of a chunk before it is read. So a chunk shows its table at
a position that was chosen before, and not at the one where it happens to be read, as in Flink CDC: keys that have
changed in between get the row that they had before their first change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from firesteel.connectors.cdc.errors import ANEW
from firesteel.connectors.cdc.splits import KnownTable
from firesteel.connectors.mysql_cdc.binlog import Binlog, Image
from firesteel.connectors.mysql_cdc.columns_of_log import key_text
from firesteel.connectors.mysql_cdc.settings import MySqlCdcError

if TYPE_CHECKING:
    from pymysqlreplication.row_event import RowsEvent

Key = tuple[object, ...]


class FormerRow(NamedTuple):
    """A row as it was before a change; None for none."""

    event: RowsEvent
    image: Image | None


class Undo:
    """The rows that were changed since a position.

    Args:
        binlog: The log from this position.
        tables: The tables.
    """

    def __init__(self, binlog: Binlog, tables: Mapping[str, KnownTable]) -> None:
        self._binlog = binlog
        self._tables = tables
        self._former: dict[str, dict[Key, FormerRow]] = {name: {} for name in tables}
        self._keys: dict[int, tuple[object, Callable[[Image], Key]]] = {}

    def read_to(self, position: int) -> None:
        """Note all changes before a position.

        Raises:
            MySqlCdcError: a table was altered, and the log has no names of columns.
        """
        if self._binlog.position >= position:
            return
        for change in self._binlog.read(position):
            former, key_of = self._former[change.table], self._key_of(change.table, change.event)
            for before, after in change.rows:
                if before is not None:
                    # The first change of a key has its row as it was; later ones must not replace that.
                    former.setdefault(key_of(before), FormerRow(change.event, before))
                if after is not None:
                    former.setdefault(key_of(after), FormerRow(change.event, None))
        if altered := self._binlog.layouts.altered:
            raise MySqlCdcError(
                f"mysql-cdc: {min(altered)} was altered while its snapshot was read, and the log has no names of "
                f"columns (binlog_row_metadata is not FULL): {ANEW}"
            )

    def former(self, table: str) -> Mapping[Key, FormerRow]:
        """Return the former rows of a table by key, as the server writes its values."""
        return self._former[table]

    def _key_of(self, table: str, event: RowsEvent) -> Callable[[Image], Key]:
        columns, found = self._keys.get(id(event.columns), (None, None))
        if found is None or columns is not event.columns:
            found = key_reader(event, self._tables[table].primary_key)
            # With the columns, so that their id is not given to others.
            self._keys[id(event.columns)] = (event.columns, found)
        return found

    def rows(self, table: str) -> Iterator[tuple[Key, FormerRow]]:
        """Yield the keys that have changed and had a row."""
        return ((key, row) for key, row in self._former[table].items() if row.image is not None)

    def close(self) -> None:
        """Close the connections."""
        self._binlog.close()


def key_reader(event: RowsEvent, names: Sequence[str]) -> Callable[[Image], Key]:
    """Return what makes of a row of an event its key, as the server writes its values."""
    by_name = {column.name: column for column in event.columns}
    parts = [(name, key_text(by_name[name])) for name in names]
    return lambda image: tuple([text(image[name]) for name, text in parts])
