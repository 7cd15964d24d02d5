"""The connector `upsert-kafka`. Flink: `UpsertKafkaDynamicTableFactory`."""

from __future__ import annotations

from firesteel.connectors.kafka.table import OPTIONS, KafkaTable, KafkaTableSink
from firesteel.connectors.table_connector import ResolvedTable, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext

__all__ = ["OPTIONS", "sink", "source"]


def source(table: ResolvedTable, context: ConnectorContext) -> KafkaTable:
    """Return the source that reads a topic whose records replace the rows of their keys."""
    return KafkaTable(table, True)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> KafkaTableSink:
    """Return the sink that writes a topic whose records replace the rows of their keys."""
    return KafkaTableSink(table, True)
