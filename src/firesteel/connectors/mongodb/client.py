"""The client of MongoDB."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from firesteel.columns.cells import Cell
from firesteel.common.optional_package import optional_package

if TYPE_CHECKING:
    from pymongo import MongoClient
    from pymongo.collection import Collection as StoredCollectionOf

    Document = dict[str, Cell]
    Client = MongoClient[Document]
    StoredCollection = StoredCollectionOf[Document]


@dataclass(frozen=True)
class Collection:
    """A collection.

    Attributes:
        uri: The address of the servers, with credentials.
        database: The database.
        name: The collection.
    """

    uri: str = field(repr=False)
    database: str
    name: str

    def connect(self) -> Client:
        """Return a client.

        Raises:
            ModuleNotFoundError: pymongo is not installed.
        """
        with optional_package("MongoDB", "pymongo", "mongodb"):
            import pymongo
        return pymongo.MongoClient(self.uri, tz_aware=True)

    def of(self, client: Client) -> StoredCollection:
        """Return the collection of a client."""
        return client[self.database][self.name]

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"
