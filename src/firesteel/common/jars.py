"""Jars of PyFlink programs, and what replaces them."""

from __future__ import annotations

import importlib.util
import re

_CONNECTORS = (
    (r"kafka", "datastream.connectors.kafka", "Kafka"),
    (r"jdbc|postgresql|mysql|sqlite|derby|ojdbc", "datastream.connectors.jdbc", "JDBC"),
    (r"elasticsearch|opensearch", "datastream.connectors.elasticsearch", "Elasticsearch"),
    (r"kinesis|aws", "datastream.connectors.kinesis", "Kinesis"),
    (r"pulsar", "datastream.connectors.pulsar", "Pulsar"),
    (r"rabbitmq|amqp", "datastream.connectors.rabbitmq", "RabbitMQ"),
    (r"cassandra", "datastream.connectors.cassandra", "Cassandra"),
    (r"connector-files|filesystem", "datastream.connectors.file_system", "files"),
    (r"avro", "datastream.formats.avro", "Avro"),
    (r"parquet", "datastream.formats.parquet", "Parquet"),
    (r"orc", "datastream.formats.orc", "ORC"),
    (r"flink-json", "datastream.formats.json", "JSON"),
    (r"flink-csv", "datastream.formats.csv", "CSV"),
)


def jar_advice(jar: str) -> str:
    """Return what replaces a jar: Java code is not run.

    Example:
        >>> jar_advice("flink-json-1.17.1.jar")
        'not needed: JSON is built in'
    """
    name = jar.rsplit("/", 1)[-1].lower()
    for pattern, module, what in _CONNECTORS:
        if re.search(pattern, name):
            if importlib.util.find_spec(f"firesteel.{module}") is not None:
                return f"not needed: {what} is built in"
            return f"it has no effect: {what} is not supported, and Java code is not run"
    return "it has no effect: Java code is not run; port its functions to Python"
