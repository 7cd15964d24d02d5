"""The reader of captured tables whose rows become records: of each table all columns."""

from __future__ import annotations

from dataclasses import replace

from firesteel.connectors.cdc.record_reader import RecordTable
from firesteel.connectors.mysql_cdc.reader import MySqlCdcReader
from firesteel.connectors.mysql_cdc.records import record_columns
from firesteel.connectors.mysql_cdc.settings import CdcSettings, names_of


class MySqlRecordReader(MySqlCdcReader):
    """Reads all columns of each table.

    Args:
        settings: The settings of the source.
        subtask: Index of the subtask.
        decimals: Debezium's `decimal.handling.mode`.
    """

    def __init__(self, settings: CdcSettings, subtask: int, decimals: str) -> None:
        super().__init__(settings, subtask)
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
            columns, names = record_columns(self.shape_of(table), self._decimals), names_of(table)
            source = {"connector": "mysql", "name": "mysql_binlog_source"}
            source |= {"db": names["database_name"], "table": names["table_name"]}
            settings = replace(self._settings, columns=tuple(one.column for one in columns))
            self._tables[table] = RecordTable(columns, source), settings
        return self._tables[table]
