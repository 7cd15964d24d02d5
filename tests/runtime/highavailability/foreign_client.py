"""A ZooKeeper client that does not belong to the cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from kazoo.client import KazooClient


@contextlib.contextmanager
def foreign_client(quorum: str) -> Iterator[Any]:
    """A client without credentials."""
    client = KazooClient(quorum)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()
