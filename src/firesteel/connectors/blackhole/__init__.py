"""The table connector `blackhole`."""

TABLES = {"blackhole": "table"}
