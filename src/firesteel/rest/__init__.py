"""Flink's REST API: routes, messages and the server."""
