"""The source of a captured table."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.columns.batch import ColumnBatch
from firesteel.connectors.cdc.splits import UNITS_PER_ROW
from firesteel.connectors.postgres_cdc.settings import CdcSettings
from firesteel.functions.connector_base import Committer, Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext


class PostgresCdcSource(Source[ColumnBatch]):
    """Reads a table and then its changes as column batches. Flink CDC: `PostgresIncrementalSource`.

    Args:
        settings: The settings.
    """

    reading_hints = ReadingHints(units_per_element=UNITS_PER_ROW, open_at_once=1, unit="Bytes")

    def __init__(self, settings: CdcSettings) -> None:
        super().__init__()
        self.settings = settings

    def is_bounded(self) -> bool:
        """Return False: changes may always come."""
        return False

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of chunks and of the log."""
        from firesteel.connectors.postgres_cdc.enumerator import CdcEnumerator

        return CdcEnumerator(self.settings)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.postgres_cdc.reader import CdcReader

        return CdcReader(self.settings)

    def create_position_committer(self, configuration: Mapping[str, str]) -> Committer:
        """Return the committer that advances the slot."""
        from firesteel.connectors.postgres_cdc.committer import SlotCommitter

        return SlotCommitter(self.settings)
