"""Changes of the captured table, from the messages of the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from firesteel.columns.batch import Kind
from firesteel.connectors.cdc.errors import ANEW, schema_change
from firesteel.connectors.cdc.row_changes import OLD_ROWS, kinds_of_change
from firesteel.connectors.cdc.splits import LateChunks, Log
from firesteel.connectors.postgres_cdc.pgoutput import (
    UNCHANGED,
    PostgresCdcError,
    Relation,
    RowChange,
    Truncate,
    TupleData,
    Unchanged,
)
from firesteel.connectors.postgres_cdc.settings import CdcSettings
from firesteel.connectors.postgres_cdc.text_columns import KEY_READERS

Texts: TypeAlias = "list[str | None]"


class ChangeReader:
    """Converts messages of the log to rows with kinds.

    Args:
        settings: The settings of the source.
        log: The log, with what the table must be.

    Attributes:
        table: Name of the table.
    """

    def __init__(self, settings: CdcSettings, log: Log) -> None:
        self._settings = settings
        self.table = name = settings.address.table_name
        self._known = table = log.tables[name]
        self._columns = table.columns
        self._late = LateChunks(log.late.get(name, ()), KEY_READERS.get(table.chunk_type, str.encode))
        self._oid = -1
        self._places: list[int] = []
        self._key: list[int] = []
        self._chunk_place: int | None = None
        self._has_old_rows = False

    def see(self, relation: Relation) -> None:
        """Note the columns of a table.

        Raises:
            PostgresCdcError: they have changed since the source began.
        """
        address = self._settings.address
        if (relation.schema, relation.table) != (address.schema, address.table):
            return
        found = {column.name: f"{column.type_oid}/{column.modifier}" for column in relation.columns}
        for name in [*self._columns, *found]:
            if found.get(name) != self._columns.get(name):
                what = schema_change(f"{name!r} of {address}", self._columns.get(name), found.get(name))
                raise PostgresCdcError(f"postgres-cdc: {what}")
        names = [column.name for column in relation.columns]
        self._oid = relation.oid
        # A relation comes again after each change of the table, by which places may differ.
        self._places = [names.index(column.name) for column in self._settings.columns]
        key = self._settings.primary_key or self._known.primary_key
        self._key = [names.index(name) for name in key]
        self._chunk_place = names.index(self._known.chunk_column) if self._known.chunk_column else None
        self._has_old_rows = relation.replica_identity == "f"
        known = {column.name for column in relation.columns if column.is_key}
        if not self._has_old_rows and not known.issuperset(key):
            raise self._lacks("has no old keys")

    def rows(self, change: RowChange, commit_lsn: int) -> Iterator[tuple[Kind, Texts]]:
        """Yield the rows of a change: none if it is of another table or in the snapshot already.

        Raises:
            PostgresCdcError: the log does not have what is needed of the old row.
        """
        if change.relation != self._oid:
            return
        old, new = change.old, self._whole(change)
        # Without its old form the log says that a row has kept its key.
        before, after = (old or new) if change.kind != "I" else None, new
        has_before = before is not None and self._is_new(before, commit_lsn)
        has_after = after is not None and self._is_new(after, commit_lsn)
        moved = old is not None and new is not None and any(old[place] != new[place] for place in self._key)
        for kind in kinds_of_change(has_before, has_after, moved, self._settings.is_upsert):
            yield kind, self._old_row(change, kind) if kind in OLD_ROWS else self._texts(new)

    def _whole(self, change: RowChange) -> TupleData | None:
        """Return the new row with the large values that it shares with the old one."""
        old, new = change.old, change.new
        if old is None or new is None or change.is_key_only:
            return new
        return [was if value is UNCHANGED else value for value, was in zip(new, old, strict=True)]

    def _is_new(self, row: TupleData, commit_lsn: int) -> bool:
        """Return whether the snapshot does not contain a change of a row."""
        # The key is only read where a chunk may have the change already: late in a job none does.
        if commit_lsn >= self._late.before:
            return True
        key = "" if self._chunk_place is None else row[self._chunk_place]
        return not self._late.contain(str(key), commit_lsn)

    def _old_row(self, change: RowChange, kind: Kind) -> Texts:
        if change.old is None or (change.is_key_only and not self._settings.is_upsert):
            what = "an update" if kind is Kind.UPDATE_BEFORE else "a deletion"
            raise self._lacks(f"does not have the old row of {what}")
        return self._texts(change.old)

    def _texts(self, row: TupleData | None) -> Texts:
        assert row is not None
        texts: Texts = []
        for place, column in zip(self._places, self._settings.columns, strict=True):
            value = row[place]
            if isinstance(value, Unchanged):
                raise self._lacks(f"does not repeat the large value of column {column.name!r}, which an update kept")
            texts.append(value)
        return texts

    def _lacks(self, what: str) -> PostgresCdcError:
        address = self._settings.address
        return PostgresCdcError(
            f"postgres-cdc: the log of {address} {what}. Set ALTER TABLE {address.schema}.{address.table} REPLICA "
            "IDENTITY FULL; it holds for later changes"
            + ("" if self._settings.is_upsert else ". 'changelog-mode' = 'upsert' needs the key alone")
        )

    def check_truncate(self, message: Truncate) -> None:
        """Refuse that all rows are removed.

        Raises:
            PostgresCdcError: the table was truncated.
        """
        if self._oid in message.relations:
            raise PostgresCdcError(
                f"postgres-cdc: {self._settings.address} was truncated, and the log does not say which rows it had. "
                f"{ANEW.capitalize()}. A publication without truncations, WITH "
                "(publish = 'insert, update, delete'), leaves them out, as Flink CDC does"
            )
