"""The sink of a collection: rows become insertions, updates and deletions. Flink: `MongoRowDataSerializationSchema`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.cells import Cell
from firesteel.columns.pylist import pylist
from firesteel.connectors.mongodb.client import Collection
from firesteel.connectors.mongodb.source import MongoError
from firesteel.connectors.mongodb.values import writer_of
from firesteel.connectors.table_connector import Column
from firesteel.functions.connector_base import Sink, SinkWriter, WriterInitContext

if TYPE_CHECKING:
    from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne

    Request = InsertOne[dict[str, Cell]] | ReplaceOne[dict[str, Cell]] | UpdateOne | DeleteOne

_REMOVING = (Kind.DELETE, Kind.UPDATE_BEFORE)
_ID = "_id"


@dataclass(frozen=True)
class MongoSinkSettings:
    """Settings of a sink.

    Attributes:
        collection: The collection.
        columns: The columns of rows.
        key: Names of the primary key's columns.
        shard_keys: Names of the columns that tell the shard of a document.
        max_rows: Number of rows of a request.
        max_retries: How often a request is repeated.
        retry_s: Time in seconds before a retry.
        is_ordered: Whether rows are written in their order.
        skips_validation: Whether the server does not validate documents.
    """

    collection: Collection
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    shard_keys: tuple[str, ...]
    max_rows: int
    max_retries: int
    retry_s: float
    is_ordered: bool
    skips_validation: bool


class MongoSink(Sink[ColumnBatch]):
    """Writes rows as documents, at-least-once."""

    def __init__(self, settings: MongoSinkSettings) -> None:
        super().__init__()
        self._settings = settings

    def create_writer(self, context: WriterInitContext) -> MongoWriter:
        """Return the writer of a subtask."""
        return MongoWriter(self._settings)


class MongoWriter(SinkWriter[ColumnBatch]):
    """Buffers requests and sends them when there are enough and at the end of each batch."""

    def __init__(self, settings: MongoSinkSettings) -> None:
        self._settings = settings
        self._client = settings.collection.connect()
        self._requests: list[Request] = []
        self._inserted: list[dict[str, Cell]] = []
        """The documents of the requests, if rows have no key; an id of their own they don't have then."""
        self._request_of = request_maker(settings)

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Write the rows of a batch.

        Raises:
            MongoError: MongoDB rejected rows or did not respond.
        """
        writers = [writer_of(column.type) for column in self._settings.columns]
        names = [column.name for column in self._settings.columns]
        columns = [list(map(write, pylist(a))) for write, a in zip(writers, element.columns, strict=True)]
        for kind, row in zip(element.kinds_or_inserts().tolist(), zip(*columns, strict=True), strict=True):
            document = dict(zip(names, row, strict=True))
            if not self._settings.key:
                self._inserted.append(document)
            self._requests.append(self._request_of(kind in _REMOVING, document))
            if len(self._requests) == self._settings.max_rows:
                self._send()

    def flush(self, end_of_input: bool) -> None:
        """Send the buffered requests, as a checkpoint may follow."""
        if self._requests:
            self._send()

    def _send(self) -> None:
        from pymongo.errors import BulkWriteError, PyMongoError

        settings, requests, inserted = self._settings, self._requests, self._inserted
        self._requests, self._inserted = [], []
        collection = settings.collection.of(self._client)
        skips = settings.skips_validation or None
        for retry in range(settings.max_retries + 1):
            try:
                collection.bulk_write(requests, settings.is_ordered, skips)
                return
            except PyMongoError as error:
                # A server that has answered would reject the same requests again.
                if retry == settings.max_retries or isinstance(error, BulkWriteError):
                    raise MongoError(f"MongoDB: could not write {settings.collection}: {_about(error)}") from error
                time.sleep(settings.retry_s)
                requests = self._repeatable(requests, inserted)

    def _repeatable(self, requests: list[Request], inserted: list[dict[str, Cell]]) -> list[Request]:
        """Return requests that may be repeated though the server may have executed them: only the answer may be lost.

        The client gives documents ids before it sends them, so one that has such an id already is the same document.
        """
        from pymongo import ReplaceOne

        if not all(_ID in document for document in inserted):
            return requests  # nothing was sent
        names = (_ID, *self._settings.shard_keys)
        replaced = [ReplaceOne({name: one[name] for name in names}, one, upsert=True) for one in inserted]
        return [*replaced] or requests

    def close(self) -> None:
        """Close the connections; unsent rows are written again after a restart."""
        self._client.close()


def _about(error: Exception) -> str:
    details: dict[str, Cell] = getattr(error, "details", None) or {}
    first = next(iter(details.get("writeErrors", ())), None)
    return str(error) if first is None else f"{first.get('errmsg')} (code {first.get('code')})"


def request_maker(settings: MongoSinkSettings) -> Callable[[bool, dict[str, Cell]], Request]:
    """Return what makes the request of a row, given whether it is deleted, and its document."""
    from pymongo import DeleteOne, InsertOne, UpdateOne

    def made(is_removed: bool, document: dict[str, Cell]) -> Request:
        if not settings.key:
            return InsertOne(document)
        found = {_ID: _id_of(document, settings.key), **{name: document[name] for name in settings.shard_keys}}
        if is_removed:
            return DeleteOne(found)
        rest = {name: value for name, value in document.items() if name not in found}
        return UpdateOne(found, {"$set": rest} if rest else {"$setOnInsert": {}}, upsert=True)

    return made


def _id_of(document: dict[str, Cell], key: tuple[str, ...]) -> object:
    """Return the id of a document; a text that can be an ObjectId is one."""
    from bson.objectid import ObjectId

    if len(key) > 1:
        return {name: document[name] for name in key}
    value = document[key[0]]
    return ObjectId(value) if isinstance(value, str) and ObjectId.is_valid(value) else value
