"""Elasticsearch: the sink."""
