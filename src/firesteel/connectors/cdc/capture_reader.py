"""What readers of captured tables have in common."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.columns.batch import ColumnBatch
from firesteel.connectors.cdc.splits import Chunk, chunk_of, is_log
from firesteel.functions.source_reading import SourceReader
from firesteel.functions.splits import SplitRange


class CaptureReader(SourceReader):
    """Reads chunks of the snapshot, or the log. A connector says how it reads them."""

    def read(self, part: SplitRange) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of a chunk, or the changes in a range of the log."""
        return (batches for _, batches in self.captured(part))

    def captured(self, part: SplitRange) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield the rows of a chunk, or the changes in a range of the log, each with their table."""
        split_id = part.split.split_id
        if is_log(split_id):
            yield from self.changes(split_id, part.start, part.end)
        else:
            chunk = chunk_of(split_id)
            yield from ((chunk.table, batches) for batches in self.rows(chunk))

    def changes(self, split_id: str, start: int, end: int) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield the changes in a range of the log, each with their table."""
        raise NotImplementedError

    def rows(self, chunk: Chunk) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of a chunk."""
        raise NotImplementedError
