"""The reader of captured tables whose rows become records: of each table all columns."""

from __future__ import annotations

from contextlib import closing

from firesteel.connectors.cdc.record_reader import RecordTable
from firesteel.connectors.postgres_cdc.reader import CdcReader
from firesteel.connectors.postgres_cdc.records import record_columns
from firesteel.connectors.postgres_cdc.server import connect, table_shape
from firesteel.connectors.postgres_cdc.settings import CdcSettings


class PostgresRecordReader(CdcReader):
    """Reads all columns of each table.

    Args:
        settings: The settings of the source.
        decimals: Debezium's `decimal.handling.mode`.
    """

    def __init__(self, settings: CdcSettings, decimals: str) -> None:
        super().__init__(settings)
        self._decimals = decimals
        self._tables: dict[str, tuple[RecordTable, CdcSettings]] = {}

    def record_table(self, table: str) -> RecordTable:
        """Return how rows of a table become records."""
        return self._described(table)[0]

    def settings_of(self, table: str) -> CdcSettings:
        """Return the settings with the columns of a table."""
        return self._described(table)[1]

    def _described(self, table: str) -> tuple[RecordTable, CdcSettings]:
        if table not in self._tables:
            address = self._settings.of_table(table).address
            with closing(connect(address)) as connection:
                columns = record_columns(address, table_shape(connection, address), self._decimals)
            source = {"connector": "postgresql", "name": "postgres_cdc_source", "db": address.database}
            source |= {"schema": address.schema, "table": address.table}
            settings = self._settings.of_table(table, tuple(one.column for one in columns))
            self._tables[table] = RecordTable(columns, source), settings
        return self._tables[table]
