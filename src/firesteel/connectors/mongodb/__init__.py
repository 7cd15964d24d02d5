"""The table connector `mongodb`."""

TABLES = {"mongodb": "table"}
