"""The source of a collection, which is one split, and what finds documents by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from firesteel.columns.cells import Cell
from firesteel.connectors.mongodb.client import Collection
from firesteel.connectors.mongodb.values import reader_of, writer_of
from firesteel.connectors.table_connector import Column
from firesteel.errors import FiresteelError
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext
from firesteel.functions.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange

if TYPE_CHECKING:
    from firesteel.connectors.mongodb.client import Client

Row = tuple[Cell, ...]


class MongoError(FiresteelError):
    """MongoDB rejected a request or did not respond, or a document does not fit the table."""


class Documents:
    """Documents as rows.

    Args:
        columns: The columns of the rows.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.projection = {column.name: 1 for column in columns}
        if "_id" not in self.projection:
            # An empty projection stands for all fields; MongoDB adds `_id` unless it is told not to.
            self.projection["_id"] = 0 if columns else 1
        self._readers = [(column.name, reader_of(column.type)) for column in columns]

    def row(self, document: Mapping[str, Cell]) -> Row:
        """Return the row of a document.

        Raises:
            MongoError: a value does not fit its column.
        """
        values: list[object] = []
        for name, read in self._readers:
            try:
                values.append(read(document.get(name)))
            except (ValueError, ArithmeticError) as error:
                about = f"field {name!r} of the document with _id {document.get('_id')!r}"
                raise MongoError(f"MongoDB: {about}: {error}") from error
        return tuple(values)


class MongoSource(Source[Row]):
    """Reads the documents of a collection. The source is bounded.

    Args:
        collection: The collection.
        columns: The columns to read.
        fetch_size: Number of documents per request.
        keeps_cursor: Whether the server keeps the cursor however long it is not used.
    """

    reading_hints = ReadingHints(open_at_once=1)

    def __init__(
        self, collection: Collection, columns: tuple[Column, ...], fetch_size: int, keeps_cursor: bool
    ) -> None:
        super().__init__()
        self.collection = collection
        self.columns = columns
        self.fetch_size = fetch_size
        self.keeps_cursor = keeps_cursor

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of the only split."""
        return _Whole(str(self.collection))

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        return _Reader(self)


class _Whole(SourceEnumerator):
    def __init__(self, name: str) -> None:
        self._name = name

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return one split with the whole collection."""
        if not known.is_first:
            return list(known.splits.values()), set(known.keys)
        return [Split(self._name, 0, 0, 1, is_whole=True)], set()


class _Reader(SourceReader):
    def __init__(self, source: MongoSource) -> None:
        self._source = source

    def read(self, part: SplitRange) -> Iterator[list[Row]]:
        """Yield the documents of a collection.

        Raises:
            MongoError: MongoDB does not respond, or a document does not fit the table.
        """
        if part.start == part.end:
            return
        source, documents = self._source, Documents(self._source.columns)
        with closing(source.collection.connect()) as client:
            try:
                found = source.collection.of(client).find(
                    {}, documents.projection, batch_size=source.fetch_size, no_cursor_timeout=source.keeps_cursor
                )
                with closing(found) as cursor:
                    rows = map(documents.row, cursor)
                    while chunk := list(islice(rows, CHUNK_ELEMENTS)):
                        yield chunk
            except MongoError:
                raise
            except Exception as error:
                raise MongoError(f"MongoDB: could not read {source.collection}: {error}") from error


class MongoFinder:
    """Finds the documents of keys, by a query per key.

    Args:
        collection: The collection.
        columns: The columns of the rows.
        keys: The columns of keys.
    """

    def __init__(self, collection: Collection, columns: tuple[Column, ...], keys: tuple[Column, ...]) -> None:
        self._collection = collection
        self._columns = columns
        self._keys = keys
        self._client: Client | None = None

    def __getstate__(self) -> dict[str, Cell]:
        """Return the state without the client."""
        return {**self.__dict__, "_client": None}

    def find(self, keys: Sequence[Row]) -> list[list[Row]]:
        """Return the rows of each key."""
        if self._client is None:
            self._client = self._collection.connect()
        documents, writers = Documents(self._columns), [writer_of(column.type) for column in self._keys]
        names = [column.name for column in self._keys]
        collection = self._collection.of(self._client)
        found = []
        for key in keys:
            query = {name: write(value) for name, write, value in zip(names, writers, key, strict=True)}
            found.append([documents.row(document) for document in collection.find(query, documents.projection)])
        return found

    def is_transient(self, error: Exception) -> bool:
        """Return whether MongoDB raised the error."""
        from pymongo.errors import PyMongoError

        return isinstance(error, PyMongoError)

    def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
