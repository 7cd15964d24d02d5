"""The source of captured tables."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.columns.batch import ColumnBatch
from firesteel.connectors.cdc.splits import UNITS_PER_ROW
from firesteel.connectors.mysql_cdc.settings import CdcSettings
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext


class MySqlCdcSource(Source[ColumnBatch]):
    """Reads tables and then their changes as column batches. Flink CDC: `MySqlSource`.

    Args:
        settings: The settings.
    """

    reading_hints = ReadingHints(units_per_element=UNITS_PER_ROW, open_at_once=1, unit="Bytes")

    def __init__(self, settings: CdcSettings) -> None:
        super().__init__()
        self.settings = settings

    def is_bounded(self) -> bool:
        """Return whether only the snapshot is read."""
        return self.settings.is_bounded

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of chunks and of the log."""
        from firesteel.connectors.mysql_cdc.enumerator import MySqlCdcEnumerator

        return MySqlCdcEnumerator(self.settings)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.mysql_cdc.reader import MySqlCdcReader

        return MySqlCdcReader(self.settings, context.subtask_index)
