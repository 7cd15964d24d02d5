"""Clients of MongoDB whose server is in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

URI = "mongodb://user:secret@localhost:27017"


@contextmanager
def client_in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let all clients of this process have one server, which is mongomock, and yield one of them."""
    mongomock = pytest.importorskip("mongomock")
    store = mongomock.store.ServerStore()

    class Client(mongomock.MongoClient):
        def __init__(self, uri: str, **options: Any) -> None:
            super().__init__(uri, _store=store, **options)

    builder = mongomock.collection.BulkOperationBuilder
    update = builder.add_update
    # mongomock does not know the last argument of today's pymongo, which is None.
    monkeypatch.setattr(builder, "add_update", lambda self, *args, sort=None, **more: update(self, *args, **more))
    monkeypatch.setattr("pymongo.MongoClient", Client)
    with Client(URI) as client:
        yield client
