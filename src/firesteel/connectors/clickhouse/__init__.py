"""The table connector `clickhouse`, over ClickHouse's HTTP interface."""

TABLES = {"clickhouse": "table"}
