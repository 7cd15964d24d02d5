"""Jars of PyFlink programs, and what replaces them."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class _Replaced:
    """What a jar holds.

    Attributes:
        pattern: A regular expression for the jar's name.
        module: The module for DataStreams, given without `firesteel.`.
        name: Its name in words.
        tables: Identifiers of the connectors or formats for tables; empty if firesteel has none.
    """

    pattern: str
    module: str
    name: str
    tables: tuple[str, ...] = ()


REPLACED = (
    _Replaced(r"kafka", "datastream.connectors.kafka", "Kafka", ("kafka", "upsert-kafka")),
    _Replaced(r"jdbc|postgresql|mysql|sqlite|derby|ojdbc", "datastream.connectors.jdbc", "JDBC", ("jdbc",)),
    _Replaced(r"opensearch", "connectors.elasticsearch", "OpenSearch", ("opensearch",)),
    _Replaced(
        r"elasticsearch",
        "datastream.connectors.elasticsearch",
        "Elasticsearch",
        ("elasticsearch-6", "elasticsearch-7", "elasticsearch-8"),
    ),
    _Replaced(r"firehose", "datastream.connectors.kinesis", "Firehose", ("firehose",)),
    _Replaced(r"kinesis|aws", "datastream.connectors.kinesis", "Kinesis", ("kinesis", "kinesis-legacy")),
    _Replaced(r"pulsar", "datastream.connectors.pulsar", "Pulsar"),
    _Replaced(r"rabbitmq|amqp", "datastream.connectors.rabbitmq", "RabbitMQ"),
    _Replaced(r"cassandra", "datastream.connectors.cassandra", "Cassandra"),
    _Replaced(r"connector-files|filesystem", "datastream.connectors.file_system", "files", ("filesystem",)),
    _Replaced(r"iceberg", "connectors.iceberg", "Iceberg", ("iceberg",)),
    _Replaced(r"avro", "datastream.formats.avro", "Avro", ("avro",)),
    _Replaced(r"parquet", "datastream.formats.parquet", "Parquet", ("parquet",)),
    _Replaced(r"orc", "datastream.formats.orc", "ORC"),
    _Replaced(r"protobuf", "connectors.formats.protobuf", "Protobuf", ("protobuf",)),
    _Replaced(r"mongodb", "connectors.mongodb", "MongoDB", ("mongodb",)),
    _Replaced(r"redis", "connectors.redis", "Redis", ("redis",)),
    _Replaced(r"clickhouse", "connectors.clickhouse", "ClickHouse", ("clickhouse",)),
    _Replaced(r"connector-http", "connectors.http", "HTTP", ("http", "rest-lookup")),
    _Replaced(r"faker", "connectors.faker", "faker", ("faker",)),
    _Replaced(r"flink-json", "datastream.formats.json", "JSON", ("json",)),
    _Replaced(r"flink-csv", "datastream.formats.csv", "CSV", ("csv",)),
)
"""What common jars hold; the first pattern that a name has decides."""


def jar_advice(jar: str) -> str:
    """Return what replaces a jar: Java code is not run.

    Example:
        >>> jar_advice("flink-json-1.17.1.jar")
        'not needed: JSON is built in'
    """
    name = jar.rsplit("/", 1)[-1].lower()
    held = next((one for one in REPLACED if re.search(one.pattern, name)), None)
    if held is None:
        return "it has no effect: Java code is not run; port its functions to Python"
    if importlib.util.find_spec(f"firesteel.{held.module}") is None:
        return f"it has no effect: {held.name} is not supported, and Java code is not run"
    if held.tables:
        return f"not needed: {held.name} is built in"
    if name.startswith("flink-sql-"):
        return f"it has no effect: {held.name} is not supported in tables and SQL; use it in a DataStream program"
    return f"not needed in a DataStream program: {held.name} is built in; it is not supported in tables and SQL"


_told: set[str] = set()
"""Jars whose advice this process has logged."""


def note_of_jar(jar: str) -> str | None:
    """Return the advice about a jar at the first call, None afterwards, as both a program and its job name it."""
    if jar in _told:
        return None
    _told.add(jar)
    return f"{jar}: {jar_advice(jar)}"
