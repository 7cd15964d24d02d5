"""The table connector `print`."""

TABLES = {"print": "table"}
