"""Flink's REST API over a cluster: routes, what they answer, and the server."""
