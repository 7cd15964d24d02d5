"""Files: source and sinks of streams, and the table connector `filesystem`."""

TABLES = {"filesystem": "table"}
