"""Changes of the captured tables as rows with kinds, and as column batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.connectors.cdc.column_batches import captured_batch
from firesteel.connectors.cdc.row_changes import OLD_ROWS, kinds_of_change
from firesteel.connectors.cdc.splits import LateChunks, Log
from firesteel.connectors.mysql_cdc.binlog import Binlog, Image, LoggedRows
from firesteel.connectors.mysql_cdc.columns_of_log import key_text, log_column
from firesteel.connectors.mysql_cdc.keys import KeyOrders, key_as_text
from firesteel.connectors.mysql_cdc.settings import CdcSettings, names_of

if TYPE_CHECKING:
    from pymysqlreplication.row_event import RowsEvent

_ROWS = 4096


class Changes(NamedTuple):
    """Rows of one table with their kinds, in the order of the log.

    Attributes:
        event: One of the events that they are of, for the columns.
        times_ms: Times of the changes.
    """

    table: str
    event: RowsEvent
    kinds: list[Kind]
    images: list[Image]
    times_ms: list[int]


class ChangeReader:
    """Converts events of the log to rows with kinds.

    Args:
        settings: The settings of the source.
        log: The log, with what chunks contain already.
        orders: The orders of keys.
    """

    def __init__(self, settings: CdcSettings, log: Log, orders: KeyOrders) -> None:
        self._settings = settings
        self._log = log
        self._late = {
            name: LateChunks(ranges, orders.reader(log.tables[name].chunk_type)) for name, ranges in log.late.items()
        }

    def read(self, binlog: Binlog, end: int) -> Iterator[Changes]:
        """Yield the changes up to a position, rows of the same table together."""
        found: Changes | None = None
        for rows in binlog.read(end):
            if found is not None and (not _is_alike(found, rows) or len(found.kinds) >= _ROWS):
                yield found
                found = None
            if found is None:
                found = Changes(rows.table, rows.event, [], [], [])
            self._add(rows, found)
        if found is not None:
            yield found

    def _add(self, rows: LoggedRows, found: Changes) -> None:
        is_new = self._filter(rows)
        key = self._settings.primary_key or self._log.tables[rows.table].primary_key
        for before, after in rows.rows:
            has_old = before is not None and (is_new is None or is_new(before))
            has_new = after is not None and (is_new is None or is_new(after))
            moved = before is not None and after is not None and any(before[name] != after[name] for name in key)
            for kind in kinds_of_change(has_old, has_new, moved, self._settings.is_upsert):
                found.kinds.append(kind)
                row = before if kind in OLD_ROWS else after
                assert row is not None
                found.images.append(row)
                found.times_ms.append(rows.time_ms)

    def _filter(self, rows: LoggedRows) -> Callable[[Image], bool] | None:
        """Return what tells whether the snapshot lacks a row; None if it lacks all."""
        late, table = self._late.get(rows.table), self._log.tables[rows.table]
        if late is None or rows.transaction >= late.before:
            return None
        if not table.chunk_column:
            return lambda image: not late.contain("", rows.transaction)
        name = table.chunk_column
        text = key_text(next(column for column in rows.event.columns if column.name == name))
        return lambda image: not late.contain(key_as_text(text(image[name])), rows.transaction)


def _is_alike(found: Changes, rows: LoggedRows) -> bool:
    """Return whether rows have the columns of others: their types have not changed, but the members of a SET may."""
    if found.table != rows.table:
        return False
    if found.event.columns is rows.event.columns:
        return True
    pairs = zip(found.event.columns, rows.event.columns, strict=True)
    return all(one.set_values == other.set_values for one, other in pairs)


def logged_columns(settings: CdcSettings, event: RowsEvent, images: Sequence[Image]) -> list[pa.Array]:
    """Return the declared columns of rows of the log."""
    by_name = {column.name: column for column in event.columns}
    return [
        log_column(
            [image[column.name] for image in images],
            by_name[column.name],
            column.type,
            settings.time_zone,
        )
        for column in settings.columns
    ]


def batch_of(settings: CdcSettings, changes: Changes) -> ColumnBatch:
    """Return changes as a column batch."""
    columns, length = logged_columns(settings, changes.event, changes.images), len(changes.kinds)
    return captured_batch(settings, columns, length, names_of(changes.table), (changes.kinds, changes.times_ms))
