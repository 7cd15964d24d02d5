"""The source of a table: a split is a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from firesteel.columns.batch import ColumnBatch
from firesteel.connectors.clickhouse.client import ClickHouse
from firesteel.connectors.clickhouse.values import batch_of_lines
from firesteel.connectors.table_connector import Column
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext
from firesteel.functions.splits import Discovered, Known, Split, SplitRange

_ROWS = 4_096
# Some versions write BIGINT as text in JSON unless they are told not to.
_SETTINGS = {"output_format_json_quote_64bit_integers": "0"}


class ClickHouseSource(Source[ColumnBatch]):
    """Reads the rows of queries. The source is bounded.

    Args:
        server: The server.
        queries: A query per split, without FORMAT.
        columns: The columns of the queries.
    """

    reading_hints = ReadingHints(open_at_once=1)

    def __init__(self, server: ClickHouse, queries: tuple[str, ...], columns: tuple[Column, ...]) -> None:
        super().__init__()
        self._server = server
        self._queries = queries
        self._columns = columns

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of queries."""
        return _Queries(self._queries)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        return _Reader(self._server, self._columns)


class _Queries(SourceEnumerator):
    def __init__(self, queries: tuple[str, ...]) -> None:
        self._queries = queries

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return a split for each query."""
        if not known.is_first:
            return list(known.splits.values()), set(known.keys)
        return [Split(q, i % parallelism, 0, 1, is_whole=True) for i, q in enumerate(self._queries)], set()


class _Reader(SourceReader):
    def __init__(self, server: ClickHouse, columns: tuple[Column, ...]) -> None:
        self._server = server
        self._columns = columns

    def read(self, part: SplitRange) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of a query."""
        if part.start == part.end:
            return
        body = self._server.run(f"{part.split.split_id} FORMAT JSONEachRow", settings=_SETTINGS)
        lines = body.splitlines()
        for start in range(0, len(lines), _ROWS):
            yield [batch_of_lines(lines[start : start + _ROWS], self._columns)]
