"""Change data capture from PostgreSQL: the table connector `postgres-cdc`."""

TABLES = {"postgres-cdc": "table"}
