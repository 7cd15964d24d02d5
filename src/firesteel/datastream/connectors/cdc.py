"""Sources that capture changes of tables, with the names of Flink CDC, which PyFlink has for tables alone."""

from firesteel.connectors.cdc.debezium import (
    ChangeRecord,
    DebeziumDeserializationSchema,
    JsonDebeziumDeserializationSchema,
)
from firesteel.connectors.cdc.startup_options import StartupOptions
from firesteel.connectors.mysql_cdc.stream_source import MySqlSource, MySqlSourceBuilder
from firesteel.connectors.postgres_cdc.stream_source import (
    PostgresIncrementalSource,
    PostgresIncrementalSourceBuilder,
    PostgresSourceBuilder,
)

__all__ = [
    "ChangeRecord",
    "DebeziumDeserializationSchema",
    "JsonDebeziumDeserializationSchema",
    "MySqlSource",
    "MySqlSourceBuilder",
    "PostgresIncrementalSource",
    "PostgresIncrementalSourceBuilder",
    "PostgresSourceBuilder",
    "StartupOptions",
]
