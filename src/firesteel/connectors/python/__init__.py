"""The table connector `python`: sources and sinks that a program defines."""

TABLES = {"python": "table"}
