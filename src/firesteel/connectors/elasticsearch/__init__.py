"""Elasticsearch and OpenSearch: the sink of streams, and the table connectors."""

TABLES = dict.fromkeys(("elasticsearch-6", "elasticsearch-7", "elasticsearch-8", "opensearch"), "table")
